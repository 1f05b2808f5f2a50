"""The memory that a training step holds, from the graph that TensorFlow traces of it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import KerasForward, output_names

TRACED = (1024, 2048)
"""Examples of two batches whose difference gives the memory of one example; many, so that gradients weigh little."""

WAITING = 2
"""Batches of inputs that wait for the step (`tfaudit.datasets.pipeline`)."""

HELD = 1.1
"""Bytes that the allocator holds per byte of tensors, since it cannot use all gaps between them."""

OPERATION_BYTES = 60_000
"""Bytes that TensorFlow takes to trace, optimize and run one operation of a step."""


@dataclasses.dataclass(frozen=True)
class StepMemory:
    """The memory that training steps add to that of a process with a compiled model.

    Attributes:
        per_example: bytes for each example of a batch, or of a micro-batch.
        fixed: bytes for the gradients of loss and penalty, and for the traced step.
    """

    per_example: float
    fixed: float

    def of(self, examples: int) -> float:
        """Return the peak in bytes for batches of some examples."""
        return self.fixed + self.per_example * examples


def step_memory(model: keras.Model) -> StepMemory:
    """Estimate the memory of training steps from the graph that TensorFlow traces of one; nothing is computed.

    Its operations are gone through in order: forward pass, loss, gradients. A tensor is held from the operation that
    makes it to the last one that takes it, so what back-propagation needs is held and the rest is not. Reshaping takes
    no memory, and an elementwise operation writes over an input that nothing else needs. The memory that a library
    takes within an operation is not counted. An open side of an input counts as 64 pixels or tokens. Measured peaks:
    docs/cluster.md.

    Example:
        >>> memory = step_memory(keras.Sequential([keras.Input((2,)), keras.layers.Dense(8)]))
        >>> round(memory.per_example), memory.of(1000) > memory.of(1)
        (132, True)
    """
    graphs = [_traced_step(model, examples) for examples in TRACED]
    low, high = map(_peak_bytes, graphs)
    gradients = sum(map(_bytes_of, graphs[0].outputs))
    waiting = WAITING * sum(map(_bytes_of, graphs[0].inputs)) / TRACED[0]
    per_example = HELD * ((high - low) / (TRACED[1] - TRACED[0]) + waiting)
    traced = OPERATION_BYTES * len(graphs[0].get_operations())
    return StepMemory(
        per_example, 2 * gradients + traced
    )  # of the loss, and of a penalty on weights


def _traced_step(model: keras.Model, examples: int) -> Any:
    """Return the graph of a forward and a backward pass over some examples, with the gradients as its outputs."""
    names = output_names(model)
    forward = KerasForward(model, names[0] if names else None)
    shapes = zip(forward.inputs, forward.example_shapes, strict=True)
    specs = [
        tf.TensorSpec((examples, *shape), tf.as_dtype(source.dtype or np.float32))
        for source, shape in shapes
    ]
    weights = [variable.value for variable in model.trainable_variables]

    def step(*tensors: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            outputs = keras.tree.flatten(forward.call(*tensors, training=True))
            loss = tf.add_n(
                [tf.reduce_mean(tf.cast(output, tf.float32) ** 2) for output in outputs]
            )
        return [gradient for gradient in tape.gradient(loss, weights) if gradient is not None]

    return tf.function(step, autograph=False).get_concrete_function(*specs).graph


def _peak_bytes(graph: Any) -> int:
    """Return the most bytes of tensors that are held at once, if operations run in the order of their making."""
    operations = graph.get_operations()
    buffers: dict[Any, int] = {}  # number of the buffer of each tensor
    sizes: list[int] = []
    last_use: list[int] = []
    for position, operation in enumerate(operations):
        for tensor in operation.inputs:
            last_use[buffers[tensor.ref()]] = position
        for tensor in operation.outputs:
            if operation.type in _SAME_BUFFER and operation.inputs:
                buffers[tensor.ref()] = buffers[operation.inputs[0].ref()]
                continue
            buffers[tensor.ref()] = len(sizes)
            sizes.append(_bytes_of(tensor))
            last_use.append(position)
    for tensor in (*graph.inputs, *graph.outputs):
        last_use[buffers[tensor.ref()]] = len(operations)
    return _most_held(operations, buffers, sizes, last_use)


def _most_held(
    operations: Sequence[Any],
    buffers: Mapping[Any, int],
    sizes: Sequence[int],
    last_use: Sequence[int],
) -> int:
    held = most = 0
    begun: set[int] = set()
    for position, operation in enumerate(operations):
        made = {buffers[tensor.ref()] for tensor in operation.outputs} - begun
        begun |= made
        ended = {
            buffer
            for buffer in {buffers[t.ref()] for t in (*operation.inputs, *operation.outputs)}
            if last_use[buffer] == position
        }
        held += sum(sizes[buffer] for buffer in made)
        reused = 0
        if operation.type in _IN_PLACE:
            taken = max((sizes[buffer] for buffer in ended - made), default=0)
            reused = taken if [sizes[buffer] for buffer in made] == [taken] else 0
        most = max(most, held - reused)
        held -= sum(sizes[buffer] for buffer in ended)
    return most


def _bytes_of(tensor: Any) -> int:
    """Return the bytes of a tensor; 0 for a weight, for one that no operation computes and for one of unknown shape."""
    if tensor.op.type in ("ReadVariableOp", "Const") or not tensor.shape.is_fully_defined():
        return 0
    if tensor.dtype in (tf.resource, tf.variant, tf.string):
        return 0
    return math.prod(tensor.shape.as_list()) * int(tensor.dtype.size)


_SAME_BUFFER = {"Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient"}
"""Operations whose output is their input."""

_IN_PLACE = {
    *("Relu", "Relu6", "ReluGrad", "Relu6Grad", "Elu", "Selu", "Tanh", "TanhGrad", "Sigmoid"),
    *("SigmoidGrad", "Softmax", "BiasAdd", "Add", "AddV2", "AddN", "Sub", "Mul", "RealDiv", "Neg"),
    *("Square", "Sqrt", "Rsqrt", "Exp", "Maximum", "Minimum", "Select", "SelectV2"),
}
"""Operations that write their output over an input of the same size that nothing else needs."""
