"""The multiplications of a Keras model: convolutions and matrix products, counted in its traced graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import KerasForward

__all__ = ["Product", "Products", "keras_products"]


@dataclass(frozen=True)
class Product:
    """One convolution or matrix product.

    Attributes:
        name: Of its kernel, as in `tfaudit.sparsity` or in the flatbuffer; without a kernel, of the operation.
        multiply_adds: For one image; padding counts as pixels do.
        effective: The same without those whose kernel weight is zero.
    """

    name: str
    multiply_adds: int
    effective: int


@dataclass(frozen=True)
class Products:
    """All convolutions and matrix products of a model.

    Attributes:
        counted: One entry per operation, in the order they run.
        left_out: Operations that multiply too but whose work cannot be read off, such as a recurrent layer's loop.
    """

    counted: tuple[Product, ...]
    left_out: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """Floating-point operations for one image: a multiply-add is two."""
        return 2 * sum(product.multiply_adds for product in self.counted)

    @property
    def effective_flops(self) -> int:
        """The same without the multiply-adds whose kernel weight is zero."""
        return 2 * sum(product.effective for product in self.counted)


def keras_products(model: Any) -> Products:
    """The convolutions and matrix products of one inference pass, from the graph that Keras traces.

    Every weight of a kernel is used equally often, so zeros save their share: a kernel of n weights, m of them not
    zero, and M multiply-adds needs M m / n. Products of activations, as in attention, count too. What works on each
    element (biases, normalisation, activations, pooling) is left out, as is common; for a convnet that is about 1 %.

    Args:
        model: A built Keras 3 model with one input and one output. Where the input leaves a side open, it is 64.

    Returns:
        The products, for one image.

    Raises:
        InputError: Not such a model.

    Example:
        >>> import keras
        >>> inputs = keras.Input((8, 8, 1))
        >>> model = keras.Model(inputs, keras.layers.Conv2D(2, 3, name="conv")(inputs), name="net")
        >>> keras_products(model)
        Products(counted=(Product(name='conv/kernel', multiply_adds=648, effective=648),), left_out=())
    """
    forward = KerasForward(model)
    batch = forward.batch or 1
    function = tf.function(lambda images: forward.model(images, training=False), autograph=False)
    traced = function.get_concrete_function(tf.TensorSpec((batch, *forward.example_shape), forward.dtype))
    weights = {id(weight.value.handle): weight for weight in forward.model.variables}
    sources = {id(inside): weights.get(id(outside)) for outside, inside in traced.graph.captures}
    counted, left_out = [], []
    for name, multiply_adds, variable in _walk(traced.graph, sources):
        if multiply_adds is None:
            left_out.append(name)
            continue
        share = 1.0 if variable is None else _share_not_zero(variable.numpy())
        name = name if variable is None else variable.path
        counted.append(Product(name, multiply_adds // batch, round(multiply_adds // batch * share)))
    return Products(tuple(counted), tuple(left_out))


def _share_not_zero(kernel: np.ndarray) -> float:
    return float(np.count_nonzero(kernel) / max(kernel.size, 1))


def _walk(graph: Any, sources: dict[int, Any]) -> Iterator[tuple[str, int | None, Any]]:
    """Name, multiply-adds (None: unknown) and kernel of each product; `sources` are variables by id of placeholder."""
    for operation in graph.get_operations():
        if operation.type in _MULTIPLY_ADDS:
            shapes = [tensor.shape.as_list() for tensor in (*operation.inputs, *operation.outputs) if tensor.shape.rank]
            known = all(side is not None for shape in shapes for side in shape)
            kernels = [kernel for tensor in operation.inputs if (kernel := _variable(tensor, sources)) is not None]
            multiply_adds = _MULTIPLY_ADDS[operation.type](operation) if known else None
            yield operation.name, multiply_adds, next(iter(kernels), None)
        elif operation.type in ("PartitionedCall", "StatefulPartitionedCall"):  # grouped convolutions are compiled
            inner = graph._get_function(operation.get_attr("f").name).graph
            inside = {
                id(placeholder): _variable(tensor, sources)
                for placeholder, tensor in zip(inner.inputs, operation.inputs, strict=True)
            }
            yield from ((f"{operation.name}/{name}", *rest) for name, *rest in _walk(inner, inside))
        elif any(attribute.type == "func" for attribute in operation.op_def.attr):
            yield operation.name, None, None


def _variable(tensor: Any, sources: dict[int, Any]) -> Any:
    """The model's variable that a tensor holds, whatever its shape and type there, or None."""
    while tensor.op.type in _SAME_VALUES:
        tensor = tensor.op.inputs[0]
    return sources.get(id(tensor))


_SAME_VALUES = {"ReadVariableOp", "Identity", "Cast", "Reshape", "ExpandDims", "Squeeze", "Transpose"}


def _size(tensor: Any) -> int:
    return math.prod(tensor.shape.as_list())


def _convolution(operation: Any) -> int:
    kernel = operation.inputs[1].shape.as_list()  # (sides, channels of a group, filters)
    return _size(operation.outputs[0]) * math.prod(kernel[:-1])


def _depthwise(operation: Any) -> int:
    kernel = operation.inputs[1].shape.as_list()  # (height, width, channels, multiplier)
    return _size(operation.outputs[0]) * kernel[0] * kernel[1]


def _transposed(operation: Any) -> int:
    kernel = operation.inputs[1].shape.as_list()  # (sides, filters, channels); every input meets all of them
    return _size(operation.inputs[2]) * math.prod(kernel[:-1])


def _matrices(transposed: str) -> Callable[[Any], int]:
    def multiply_adds(operation: Any) -> int:
        inner = operation.inputs[0].shape.as_list()[-2 if operation.get_attr(transposed) else -1]
        return _size(operation.outputs[0]) * inner

    return multiply_adds


def _einsum(operation: Any) -> int:
    equation = operation.get_attr("equation").decode().replace(" ", "")
    sides: dict[str, int] = {}
    for labels, tensor in zip(equation.partition("->")[0].split(","), operation.inputs, strict=True):
        shape = tensor.shape.as_list()
        hidden = len(shape) - len(labels.replace("...", ""))
        labels = labels.replace("...", "".join(f"{position}" for position in range(hidden)))
        for label, side in zip(labels, shape, strict=True):
            sides[label] = max(sides.get(label, 1), side)
    return math.prod(sides.values())


_MULTIPLY_ADDS: dict[str, Callable[[Any], int]] = {
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _transposed,
    "Conv3DBackpropInputV2": _transposed,
    "MatMul": _matrices("transpose_a"),
    "BatchMatMulV2": _matrices("adj_x"),
    "BatchMatMulV3": _matrices("adj_x"),
    "Einsum": _einsum,
}
