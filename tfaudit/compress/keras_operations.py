"""Counts of convolutions and matrix products in the traced graph of a Keras model."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import KerasForward, require_tensorflow
from tfaudit.compress.operations import Operation, Operations
from tfaudit.runtime.tensorflow_internals import inner_graph


def keras_operations(model: Any) -> Operations:
    """Count the convolutions and matrix products of an inference pass for one image, in the graph that Keras traces.

    Every weight of a kernel is used equally often, so zeros save their share: a kernel with M multiply-accumulates and
    n weights, m of them nonzero, needs M m / n. Products of activations, as in attention, count too. Elementwise
    operations (biases, normalisation, activations, pooling) do not, as is common; in a convnet they are about 1 %. An
    open side of an input counts as 64 pixels or tokens. Raise an `InputError` unless the model is a built Keras model.

    >>> import keras
    >>> inputs = keras.Input((8, 8, 1))
    >>> model = keras.Model(inputs, keras.layers.Conv2D(2, 3, name="conv")(inputs), name="net")
    >>> keras_operations(model)
    Operations(counted=(Operation(name='conv/kernel', macs=648, effective_macs=648),), uncounted=())
    """
    require_tensorflow()
    forward = KerasForward.of_first_output(model)
    batch = forward.batch or 1
    function = tf.function(forward.call, autograph=False)
    traced = function.get_concrete_function(*forward.specs(batch))
    weights = {id(weight.value.handle): weight for weight in forward.model.variables}
    sources = {id(inside): weights.get(id(outside)) for outside, inside in traced.graph.captures}
    counted = []
    uncounted = []
    for name, macs, variable in _walk(traced.graph, sources):
        if macs is None:
            uncounted.append(name)
        elif variable is None:
            counted.append(Operation(name, macs // batch, macs // batch))
        else:
            nonzero = float(np.count_nonzero(variable.numpy()) / max(math.prod(variable.shape), 1))
            counted.append(Operation(variable.path, macs // batch, round(macs // batch * nonzero)))
    return Operations(tuple(counted), tuple(uncounted))


def _walk(graph: Any, sources: dict[int, Any]) -> Iterator[tuple[str, int | None, Any]]:
    """Yield name, multiply-accumulates (None if unknown) and kernel of each operation in a TensorFlow graph.

    `sources` maps the id of a placeholder to the model's variable that it stands for.
    """
    for operation in graph.get_operations():
        if operation.type in _MACS:
            tensors = [t for t in (*operation.inputs, *operation.outputs) if t.shape.rank]
            known = all(tensor.shape.is_fully_defined() for tensor in tensors)
            macs = _MACS[operation.type](operation) if known else None
            variables = [_variable(tensor, sources) for tensor in operation.inputs]
            kernels = [variable for variable in variables if variable is not None]
            yield operation.name, macs, next(iter(kernels), None)
        # Grouped convolutions are compiled.
        elif operation.type in ("PartitionedCall", "StatefulPartitionedCall"):
            inner = inner_graph(graph, operation.get_attr("f").name)
            pairs = zip(inner.inputs, operation.inputs, strict=True)
            inside = {id(placeholder): _variable(tensor, sources) for placeholder, tensor in pairs}
            yield from ((f"{operation.name}/{name}", *rest) for name, *rest in _walk(inner, inside))
        elif any(attribute.type == "func" for attribute in operation.op_def.attr):
            yield operation.name, None, None


def _variable(tensor: Any, sources: dict[int, Any]) -> Any:
    """Return the model's variable that a tensor holds, in any shape and type, or None."""
    while tensor.op.type in _SAME_VALUES:
        tensor = tensor.op.inputs[0]
    return sources.get(id(tensor))


_SAME_VALUES = {
    "ReadVariableOp",
    "Identity",
    "Cast",
    "Reshape",
    "ExpandDims",
    "Squeeze",
    "Transpose",
}


def _convolution(end: int, *, transposed: bool = False) -> Callable[[Any], int]:
    """Return a function that counts a convolution: every output uses a weight per place of `kernel.shape[:end]`.

    In a transposed convolution, every input does.
    """

    def macs(operation: Any) -> int:
        values = operation.inputs[2] if transposed else operation.outputs[0]
        sides = operation.inputs[1].shape.as_list()[:end]
        return math.prod(values.shape.as_list()) * math.prod(sides)

    return macs


def _matrices(transposed: str) -> Callable[[Any], int]:
    """Return a function that counts a matrix product whose first factor may be `transposed`."""

    def macs(operation: Any) -> int:
        inner = operation.inputs[0].shape.as_list()[-2 if operation.get_attr(transposed) else -1]
        return math.prod(operation.outputs[0].shape.as_list()) * inner

    return macs


def _einsum(operation: Any) -> int:
    equation = operation.get_attr("equation").decode().replace(" ", "")
    sides: dict[str, int] = {}
    for labels, tensor in zip(
        equation.partition("->")[0].split(","), operation.inputs, strict=True
    ):
        shape = tensor.shape.as_list()
        hidden = len(shape) - len(labels.replace("...", ""))
        labels = labels.replace("...", "".join(map(str, range(hidden))))
        for label, side in zip(labels, shape, strict=True):
            sides[label] = max(sides.get(label, 1), side)
    return math.prod(sides.values())


_MACS: dict[str, Callable[[Any], int]] = {
    # kernel: (sides, channels of a group, filters)
    **dict.fromkeys(("Conv2D", "Conv3D"), _convolution(-1)),
    # kernel: (height, width, channels, multiplier)
    "DepthwiseConv2dNative": _convolution(2),
    # kernel: (sides, filters, channels)
    **dict.fromkeys(
        ("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _convolution(-1, transposed=True)
    ),
    "MatMul": _matrices("transpose_a"),
    **dict.fromkeys(("BatchMatMulV2", "BatchMatMulV3"), _matrices("adj_x")),
    "Einsum": _einsum,
}
"""Functions that count the multiply-accumulates of an operation, by its type."""
