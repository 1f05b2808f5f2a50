"""The memory that a training step holds, from the graph that TensorFlow traces of it."""

import dataclasses
import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import KerasForward, require_tensorflow

TRACED = (1024, 2048)
"""Examples of two batches whose difference gives the memory of one example; many, so that gradients weigh little."""

WAITING = 5
"""Batches of inputs that a process holds: one in the step, the others prefetched or in the making."""

HELD = 1.1
"""Bytes that the allocator holds per byte of tensors, since it cannot use all gaps between them."""

OPERATION_BYTES = 60_000
"""Bytes that TensorFlow takes to trace, optimize and run one operation of a step."""


@dataclasses.dataclass(frozen=True)
class StepMemory:
    """The memory that training steps add to that of a process with a compiled model.

    Attributes:
        per_example: bytes of activations for each example of a batch, or of a micro-batch.
        fixed: bytes for the gradients of loss and penalty, and for the traced step.
        inputs: bytes of the inputs of one example.
    """

    per_example: float
    fixed: float
    inputs: float

    def of(self, examples: int, batch: int | None = None, *, waiting: int = WAITING) -> float:
        """Return the peak in bytes.

        Args:
            examples: examples of a micro-batch, or of a batch that is not divided.
            batch: examples of the whole batch; `examples` by default.
            waiting: batches of inputs on the device.
        """
        inputs = HELD * waiting * self.inputs * (batch or examples)
        return self.fixed + self.per_example * examples + inputs


def step_memory(model: keras.Model) -> StepMemory:
    """Estimate the memory of training steps from the graph that TensorFlow traces of one; nothing is computed.

    Its operations are gone through in order: forward pass, loss, gradients. A tensor is held from the operation that
    makes it to the last one that takes it, so what back-propagation needs is held and the rest is not. Reshaping takes
    no memory, and an elementwise operation writes over an input that nothing else needs. The memory that a library
    takes within an operation is not counted. An open side of an input counts as 64 pixels or tokens. Measured peaks:
    docs/cluster.md.

    Example:
        >>> memory = step_memory(keras.Sequential([keras.Input((2,)), keras.layers.Dense(8)]))
        >>> round(memory.per_example), memory.inputs, memory.of(1000) > memory.of(10, 1000) > memory.of(10)
        (114, 8.0, True)
    """
    require_tensorflow()
    graphs = [_traced_step(model, examples) for examples in TRACED]
    low, high = map(_peak_bytes, graphs)
    gradients = sum(map(_bytes_of, graphs[0].outputs))
    inputs = sum(map(_bytes_of, graphs[0].inputs)) / TRACED[0]
    per_example = HELD * (high - low) / (TRACED[1] - TRACED[0])
    traced = OPERATION_BYTES * len(graphs[0].get_operations())
    # Gradients of the loss, and of a penalty on weights.
    return StepMemory(per_example, 2 * gradients + traced, inputs)


def _traced_step(model: keras.Model, examples: int) -> Any:
    """Return the graph of a forward and a backward pass over some examples, with the gradients as its outputs."""
    forward = KerasForward.of_first_output(model)
    weights = [variable.value for variable in model.trainable_variables]

    def step(*tensors: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            outputs = keras.tree.flatten(forward.call(*tensors, training=True))
            loss = tf.add_n(
                [tf.reduce_mean(tf.cast(output, tf.float32) ** 2) for output in outputs]
            )
        return [gradient for gradient in tape.gradient(loss, weights) if gradient is not None]

    return tf.function(step, autograph=False).get_concrete_function(*forward.specs(examples)).graph


def _peak_bytes(graph: Any) -> int:
    """Return the most bytes of tensors that are held at once, if operations run in the order of their making."""
    operations = graph.get_operations()
    last_use = {}
    for position, operation in enumerate(operations):
        for tensor in (*operation.inputs, *operation.outputs):
            last_use[_buffer(tensor)] = position
    lists = [tensor for one in operations if one.type in _LISTS for tensor in one.outputs]
    for tensor in (*graph.inputs, *graph.outputs, *lists):
        last_use[_buffer(tensor)] = len(operations)
    held = most = 0
    for position, operation in enumerate(operations):
        made = {_buffer(tensor) for tensor in operation.outputs if tensor is _source(tensor)}
        used = {_buffer(tensor) for tensor in operation.inputs}
        ended = {buffer for buffer in made | used if last_use[buffer] == position}
        new = sum(_bytes_of(buffer.deref()) for buffer in made)
        freed = max((_bytes_of(buffer.deref()) for buffer in ended - made), default=0)
        in_place = operation.type in _IN_PLACE and new == freed
        held += new
        most = max(most, held - freed if in_place else held)
        held -= sum(_bytes_of(buffer.deref()) for buffer in ended)
    return most


def _source(tensor: Any) -> Any:
    """Return the tensor whose memory a tensor uses."""
    while tensor.op.type in _SAME_BUFFER:
        tensor = tensor.op.inputs[0]
    return tensor


def _buffer(tensor: Any) -> Any:
    """Return a key for the memory of a tensor."""
    return _source(tensor).ref()


def _bytes_of(tensor: Any) -> int:
    """Return the bytes of a tensor; 0 for a weight, for one that no operation computes and for one of unknown shape."""
    if tensor.op.type in _LISTS:  # what a loop keeps of its turns for back-propagation
        shape, turns = tensor.op.inputs
        if turns.op.type == "Max":  # Keras takes the maximum of one number
            turns = turns.op.inputs[0]
        length = tf.get_static_value(turns)
        sides = np.ravel(tf.get_static_value(shape)).tolist()  # -1 or None if unknown
        if length is None or any(side is None or side < 0 for side in sides):
            return 0
        return math.prod(sides) * int(length) * int(tensor.op.get_attr("element_dtype").size)
    if tensor.op.type in ("ReadVariableOp", "Const") or not tensor.shape.is_fully_defined():
        return 0
    if tensor.dtype in (tf.resource, tf.variant, tf.string):
        return 0
    return math.prod(tensor.shape.as_list()) * int(tensor.dtype.size)


_LISTS = {"EmptyTensorList", "TensorListReserve"}
"""Operations that make a list of tensors of one shape."""

_SAME_BUFFER = {"Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient"}
"""Operations whose output is their input."""

_IN_PLACE = {
    *("Relu", "Relu6", "ReluGrad", "Relu6Grad", "Elu", "Selu", "Tanh", "TanhGrad", "Sigmoid"),
    *("SigmoidGrad", "Softmax", "BiasAdd", "Add", "AddV2", "AddN", "Sub", "Mul", "RealDiv", "Neg"),
    *("Square", "Sqrt", "Rsqrt", "Exp", "Maximum", "Minimum", "Select", "SelectV2"),
}
"""Operations that write their output over an input of the same size that nothing else needs."""
