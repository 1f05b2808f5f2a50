"""Gradients of a model's loss by its kernels, for the methods that score with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from tfaudit.errors import InputError

__all__ = ["LOSSES", "GradientData", "loss_gradients"]

LOSSES = ("loss", "data")
"""`loss`: all that training minimises, penalties such as L2 regularisation included. `data`: without the penalties."""

GradientData: TypeAlias = tuple[Any, Any] | Iterable[tuple[Any, Any]]


def loss_gradients(
    model: keras.Model, kernels: Mapping[str, keras.Variable], data: GradientData, *, of: str = "loss"
) -> dict[str, np.ndarray]:
    """The gradient of the compiled loss, its mean over all examples, in inference mode.

    Inference mode leaves BatchNorm's statistics alone and makes dropout no part of the score.

    Args:
        model: compiled with its loss.
        kernels: by whose values to differentiate, by name.
        data: inputs and targets as two arrays, or batches of them.
        of: one of `LOSSES`.

    Returns:
        Per kernel a float32 array of its shape; zeros where the loss does not depend on it.

    Raises:
        InputError: a model without a loss, no data, or a gradient that is not finite.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    >>> model.compile(loss="mse")
    >>> _ = model.layers[0].kernel.assign([[3.0]])
    >>> loss_gradients(model, {"k": model.layers[0].kernel}, (np.ones((4, 1)), np.ones((4, 1))))["k"]
    array([[4.]], dtype=float32)
    """
    if not getattr(model, "compiled", False) or model.loss is None:
        raise InputError("gradient_data: gradients are of the model's loss; compile the model with one first")
    if of not in LOSSES:
        raise InputError(f"gradient: expected {' or '.join(map(repr, LOSSES))}, came {of!r}")
    variables = [kernel.value for kernel in kernels.values()]
    total = {name: np.zeros(kernel.shape, np.float64) for name, kernel in kernels.items()}
    count = 0
    for inputs, targets in _batches(data):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            value = model.compute_loss(x=inputs, y=targets, y_pred=model(inputs, training=False), training=False)
            if of == "data":
                value -= tf.add_n([tf.constant(0.0), *model.losses])
        found = tape.gradient(value, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        for name, gradient in zip(kernels, found, strict=True):
            total[name] += len(inputs) * tf.convert_to_tensor(gradient).numpy().astype(np.float64)
        count += len(inputs)
    if not count:
        raise InputError("gradient_data: holds no examples")
    means = {name: (sums / count).astype(np.float32) for name, sums in total.items()}
    for name, mean in means.items():
        if not np.isfinite(mean).all():
            raise InputError(f"gradient_data: the gradient by {name!r} is not finite")
    return means


def _batches(data: GradientData, size: int = 128) -> Iterator[tuple[Any, Any]]:
    """Batches of inputs and targets; two arrays are cut into batches of `size`."""
    if isinstance(data, tuple):
        if len(data) != 2 or len(data[0]) != len(data[1]):
            raise InputError(f"gradient_data: expected inputs and targets of one length, came {len(data)} parts")
        for start in range(0, len(data[0]), size):
            yield data[0][start : start + size], data[1][start : start + size]
        return
    for batch in data:
        if not isinstance(batch, tuple) or len(batch) < 2:
            raise InputError(f"gradient_data: expected batches of (inputs, targets), came {type(batch).__name__}")
        yield batch[0], batch[1]
