"""Elementwise operations, and their values on constants."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import layers

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

LAYERS = {
    layers.ReLU,
    layers.LeakyReLU,
    layers.ELU,
    layers.Add,
    layers.Subtract,
    layers.Multiply,
    layers.Average,
    layers.Maximum,
    layers.Minimum,
}

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


def is_elementwise(operation: Any) -> bool:
    """Return whether every output element depends on one element of each input, by the same function everywhere."""
    kind = type(operation)
    if kind is layers.Activation:
        return is_elementwise(operation.activation)
    if kind is layers.Rescaling:
        return np.ndim(operation.scale) == 0 and np.ndim(operation.offset) == 0
    is_keras_operation = kind.__module__.startswith("keras.src.") and not isinstance(
        operation, layers.Layer
    )
    is_function = (
        callable(operation)
        and getattr(operation, "__hash__", None) is not None
        and operation in FUNCTIONS
    )
    return kind in LAYERS or (is_keras_operation and kind.__name__ in OPERATIONS) or is_function


def function_of_constants(function: Callable) -> Callable[[list[np.ndarray]], np.ndarray]:
    """Return an elementwise function of one tensor as a function of its constants."""
    return lambda constants: _evaluate(
        function, lambda fill: ([fill[0]], {}), constants, ["float32"], [2]
    )


def operation_of_constants(
    node: Any, tensors: Sequence[keras.KerasTensor]
) -> Callable[[list[np.ndarray]], np.ndarray]:
    """Return a call of an elementwise operation as a function of the constants of its tensors."""
    places = {id(tensor): place for place, tensor in enumerate(tensors)}
    dtypes = [tensor.dtype for tensor in tensors]
    ranks = [len(tensor.shape) for tensor in tensors]

    def arguments(fill: Sequence[Any]) -> Any:
        call = (node.arguments.args, node.arguments.kwargs)
        return keras.tree.map_structure(
            lambda one: fill[places[id(one)]] if id(one) in places else one, call
        )

    def evaluate(constants: list[np.ndarray]) -> np.ndarray:
        values = _evaluate(node.operation, arguments, constants, dtypes, ranks)
        if type(node.operation).__name__ == "Multiply":
            zero = np.any(np.broadcast_arrays(*(constant == 0 for constant in constants)), axis=0)
            return np.where(zero, 0.0, values)
        return values

    return evaluate


def _evaluate(
    function: Callable,
    arguments: Callable,
    constants: list[np.ndarray],
    dtypes: list[str],
    ranks: list[int],
) -> np.ndarray:
    """Evaluate the operation itself on constants, NaN where one of them is unknown."""
    known = ~np.any(np.broadcast_arrays(*(np.isnan(constant) for constant in constants)), axis=0)
    if not known.any():
        return np.full(known.shape, np.nan)
    fill = [
        keras.ops.reshape(keras.ops.cast(np.nan_to_num(constant), dtype), (1,) * (rank - 1) + (-1,))
        for constant, dtype, rank in zip(constants, dtypes, ranks, strict=True)
    ]
    args, kwargs = arguments(fill)
    result = keras.ops.convert_to_numpy(function(*args, **kwargs)).astype(np.float64).ravel()
    return np.where(known & np.isfinite(result), result, np.nan)
