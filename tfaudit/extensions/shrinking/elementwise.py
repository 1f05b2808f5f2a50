"""Elementwise operations, and their values on constants."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import layers

from tfaudit.compress.layer_kinds import layer_kinds

FUNCTIONS = {
    getattr(keras.activations, name)
    for name in (
        "celu",
        "elu",
        "exponential",
        "gelu",
        "hard_shrink",
        "hard_sigmoid",
        "hard_silu",
        "hard_tanh",
        "leaky_relu",
        "linear",
        "log_sigmoid",
        "mish",
        "relu",
        "relu6",
        "selu",
        "sigmoid",
        "silu",
        "soft_shrink",
        "softplus",
        "softsign",
        "sparse_plus",
        "sparse_sigmoid",
        "squareplus",
        "tanh",
        "tanh_shrink",
        "threshold",
    )
}

LAYERS = layer_kinds(
    "ReLU",
    "LeakyReLU",
    "ELU",
    "Add",
    "Subtract",
    "Multiply",
    "Average",
    "Maximum",
    "Minimum",
)

# Classes of operations on tensors, such as `x + y` or `keras.ops.relu(x)`; Keras does not publish them.
OPERATIONS = {
    "Abs",
    "Absolute",
    "Add",
    "Celu",
    "Clip",
    "Divide",
    "Elu",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSilu",
    "HardTanh",
    "LeakyRelu",
    "Maximum",
    "Minimum",
    "Multiply",
    "Negative",
    "ReLU",
    "Relu",
    "Relu6",
    "Selu",
    "Sigmoid",
    "Silu",
    "Softplus",
    "Softsign",
    "Square",
    "Subtract",
    "Tanh",
    "TrueDivide",
}


Values: TypeAlias = Callable[[list[np.ndarray]], np.ndarray]
"""Function from the constants of some tensors to those of another; NaN marks channels that vary."""


def is_elementwise(operation: Any) -> bool:
    """Return whether the same function gives every output element from one element of each input."""
    kind = type(operation)
    if kind is layers.Activation:
        return is_elementwise(operation.activation)
    if kind is layers.Rescaling:
        return np.ndim(operation.scale) == 0 and np.ndim(operation.offset) == 0
    if isinstance(operation, layers.Layer):
        return kind in LAYERS
    if kind.__module__.startswith("keras.src."):
        return kind.__name__ in OPERATIONS
    return any(operation is function for function in FUNCTIONS)


def values_of_function(
    function: Callable, kinds: Sequence[tuple[str, int]] = (("float32", 2),)
) -> Values:
    """Return a function that calls an elementwise function of tensors on constants.

    `kinds` lists the dtype and the number of dimensions of each tensor.
    """

    def values(constants: list[np.ndarray]) -> np.ndarray:
        unknown = [np.isnan(constant) for constant in constants]
        known = ~np.any(np.broadcast_arrays(*unknown), axis=0)
        if not known.any():
            return np.full(known.shape, np.nan)
        tensors = [
            keras.ops.cast(np.nan_to_num(constant).reshape((1,) * (rank - 1) + (-1,)), dtype)
            for constant, (dtype, rank) in zip(constants, kinds, strict=True)
        ]
        result = keras.ops.convert_to_numpy(function(*tensors)).astype(np.float64).ravel()
        return np.where(known & np.isfinite(result), result, np.nan)

    return values


def values_of_call(node: Any) -> Values:
    """Return a function that repeats the call of an elementwise operation (a Keras node) on constants."""
    places = {tensor: place for place, tensor in enumerate(node.input_tensors)}

    def called(*tensors: Any) -> Any:
        args, kwargs = keras.tree.map_structure(
            lambda one: tensors[places[one]] if isinstance(one, keras.KerasTensor) else one,
            (node.arguments.args, node.arguments.kwargs),
        )
        return node.operation(*args, **kwargs)

    values = values_of_function(called, [(t.dtype, len(t.shape)) for t in node.input_tensors])
    if type(node.operation).__name__ != "Multiply":
        return values

    def product(constants: list[np.ndarray]) -> np.ndarray:
        zeros = [constant == 0 for constant in constants]
        zero = np.any(np.broadcast_arrays(*zeros), axis=0)
        return np.where(zero, 0.0, values(constants))

    return product
