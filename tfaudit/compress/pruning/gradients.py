"""Gradients of a model's loss by its kernels, for the methods that score with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.score_data import GradientData, batches, mean_over
from tfaudit.errors import InputError

__all__ = ["LOSSES", "GradientData", "batch_gradients", "check_loss", "loss_gradients"]

LOSSES = ("loss", "data")
"""`loss`: all that training minimises, penalties such as L2 regularisation included. `data`: without the penalties."""


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
    check_loss(model)
    if of not in LOSSES:
        raise InputError(f"gradient: expected {' or '.join(map(repr, LOSSES))}, came {of!r}")
    values = [tf.convert_to_tensor(kernel) for kernel in kernels.values()]
    means = mean_over(batches(data), lambda x, y: batch_gradients(model, kernels, values, x, y, of=of))
    for name, mean in zip(kernels, means, strict=True):
        if not np.isfinite(mean).all():
            raise InputError(f"gradient_data: the gradient by {name!r} is not finite")
    return dict(zip(kernels, means, strict=True))


def batch_gradients(
    model: keras.Model,
    kernels: Mapping[str, keras.Variable],
    values: Sequence[tf.Tensor],
    inputs: Any,
    targets: Any,
    *,
    of: str,
) -> list[tf.Tensor]:
    """The gradient of the mean loss of one batch, where the kernels have these values in place of their own.

    Changes no variable, so that it may also run inside a compiled training step.

    Args:
        model: compiled with its loss.
        kernels: by whose values to differentiate, by name.
        values: of each kernel, in its dtype.
        inputs: a batch of the model's inputs.
        targets: its targets.
        of: one of `LOSSES`.

    Returns:
        Per kernel a float32 tensor of its shape.
    """
    chosen = {id(kernel) for kernel in kernels.values()}
    mapping = list(zip(kernels.values(), values, strict=True))
    # Keras asks the scope for every variable that has a regularizer, also for those that are spared.
    mapping += [(each, each.value) for each in model.trainable_variables if id(each) not in chosen]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        with keras.StatelessScope(mapping, collect_losses=True):
            outputs = model(inputs, training=False)
            value = model.compute_loss(x=inputs, y=targets, y_pred=outputs, training=False)
            penalties = model.losses if of == "data" else []
        # Inside a replica Keras divides each of its losses by the number of replicas, but not `model.losses`.
        value = value * tf.distribute.get_strategy().num_replicas_in_sync - sum(map(tf.reduce_sum, penalties))
    found = tape.gradient(value, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.cast(tf.convert_to_tensor(each), tf.float32) for each in found]


def check_loss(model: keras.Model) -> None:
    """Refuse a model whose loss is not known.

    Raises:
        InputError: it is not.
    """
    if not getattr(model, "compiled", False) or model.loss is None:
        raise InputError("gradient_data: gradients are of the model's loss; compile the model with one first")
