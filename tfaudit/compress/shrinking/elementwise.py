"""Operations that treat every element alike, and what they make of constants."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import layers

__all__ = ["applied", "is_elementwise", "merged"]

FUNCTIONS = {
    getattr(keras.activations, name)
    for name in (
        *("celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu"),
        *("linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink", "softplus"),
        *("softsign", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh", "tanh_shrink", "threshold"),
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

# Operations on tensors, as `x + y` or `keras.ops.relu(x)`, have classes that Keras does not publish.
OPERATIONS = {
    *("Abs", "Absolute", "Add", "Celu", "Clip", "Divide", "Elu", "Exp", "Gelu", "HardSigmoid", "HardSilu", "HardTanh"),
    *("LeakyRelu", "Maximum", "Minimum", "Multiply", "Negative", "ReLU", "Relu", "Relu6", "Selu", "Sigmoid", "Silu"),
    *("Softplus", "Softsign", "Square", "Subtract", "Tanh", "TrueDivide"),
}


def is_elementwise(operation: Any) -> bool:
    """Whether every output element depends on one element of each input, by the same function everywhere."""
    kind = type(operation)
    if kind is layers.Activation:
        return is_elementwise(operation.activation)
    if kind is layers.Rescaling:
        return np.ndim(operation.scale) == 0 and np.ndim(operation.offset) == 0
    ours = kind.__module__.startswith("keras.src.") and not isinstance(operation, layers.Layer)
    return kind in LAYERS or (ours and kind.__name__ in OPERATIONS) or _is_function(operation)


def _is_function(activation: Any) -> bool:
    return callable(activation) and getattr(activation, "__hash__", None) is not None and activation in FUNCTIONS


def applied(function: Callable) -> Callable[[list[np.ndarray]], np.ndarray]:
    """An elementwise function of one tensor, as a function of its constants."""
    return lambda constants: _evaluate(function, lambda fill: ([fill[0]], {}), constants, ["float32"], [2])


def merged(node: Any, tensors: Sequence[keras.KerasTensor]) -> Callable[[list[np.ndarray]], np.ndarray]:
    """A call of an elementwise operation, as a function of the constants of its tensors."""
    places = {id(tensor): place for place, tensor in enumerate(tensors)}
    dtypes, ranks = [tensor.dtype for tensor in tensors], [len(tensor.shape) for tensor in tensors]

    def arguments(fill: Sequence[Any]) -> Any:
        return keras.tree.map_structure(
            lambda one: fill[places[id(one)]] if id(one) in places else one,
            (node.arguments.args, node.arguments.kwargs),
        )

    def values(constants: list[np.ndarray]) -> np.ndarray:
        found = _evaluate(node.operation, arguments, constants, dtypes, ranks)
        if type(node.operation).__name__ == "Multiply":
            zero = np.any(np.broadcast_arrays(*(constant == 0 for constant in constants)), axis=0)
            found = np.where(zero, 0.0, found)
        return found

    return values


def _evaluate(
    function: Callable, arguments: Callable, constants: list[np.ndarray], dtypes: list[str], ranks: list[int]
) -> np.ndarray:
    """What the operation itself answers on constants, NaN where one of them is not known."""
    known = ~np.any(np.broadcast_arrays(*(np.isnan(constant) for constant in constants)), axis=0)
    if not known.any():
        return np.full(known.shape, np.nan)
    fill = [
        keras.ops.reshape(keras.ops.cast(np.nan_to_num(constant), dtype), (1,) * (rank - 1) + (-1,))
        for constant, dtype, rank in zip(constants, dtypes, ranks, strict=True)
    ]
    args, kwargs = arguments(fill)
    answer = keras.ops.convert_to_numpy(function(*args, **kwargs)).astype(np.float64).ravel()
    return np.where(known & np.isfinite(answer), answer, np.nan)
