"""Gradients of a model's loss with respect to its kernels, for the methods that score with them."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.score_data import GradientData, batches, mean_over
from tfaudit.errors import InputError, require

LOSSES = ("loss", "data")
"""`loss`: the whole training loss, with penalties such as L2 regularisation. `data`: without the penalties."""


def loss_gradients(
    model: keras.Model, kernels: Kernels, data: GradientData, *, of: str = "loss"
) -> dict[str, np.ndarray]:
    """Compute the gradient of the compiled loss, averaged over all examples, in inference mode.

    Inference mode does not change BatchNorm's statistics, and keeps dropout out of the score. `of` is one of `LOSSES`.

    Returns:
        Per kernel a float32 array of its shape; zeros if the loss does not depend on it.

    Raises:
        InputError: a model without a loss, no data, or a gradient that is not finite.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    >>> model.compile(loss="mse")
    >>> _ = model.layers[0].kernel.assign([[3.0]])
    >>> loss_gradients(model, {"k": model.layers[0].kernel}, (np.ones((4, 1)), np.ones((4, 1))))["k"]
    array([[4.]], dtype=float32)
    """
    check_loss(model)
    require(of in LOSSES, "gradient", of, " or ".join(map(repr, LOSSES)))
    values = [tf.convert_to_tensor(kernel) for kernel in kernels.values()]
    means = mean_over(batches(data), lambda x, y: batch_gradients(model, kernels, values, x, y, of=of))
    for name, mean in zip(kernels, means, strict=True):
        if not np.isfinite(mean).all():
            raise InputError("gradient_data", f"a gradient of {name!r} with NaN or infinity", "finite gradients")
    return dict(zip(kernels, means, strict=True))


def batch_gradients(
    model: keras.Model, kernels: Kernels, values: Sequence[tf.Tensor], inputs: Any, targets: Any, *, of: str
) -> list[tf.Tensor]:
    """Compute the gradient of the mean loss of one batch: per kernel a float32 tensor of its shape.

    `values`, in their dtypes, replace the kernels' own. `of` is as in `loss_gradients`. No variable changes, so the
    function may run inside a compiled training step.
    """
    chosen = {id(kernel) for kernel in kernels.values()}
    mapping = list(zip(kernels.values(), values, strict=True))
    # Keras looks up every variable that has a regularizer in the scope, also those that are not pruned.
    mapping += [(variable, variable.value) for variable in model.trainable_variables if id(variable) not in chosen]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        with keras.StatelessScope(mapping, collect_losses=True):
            outputs = model(inputs, training=False)
            loss = model.compute_loss(x=inputs, y=targets, y_pred=outputs, training=False)
            penalties = model.losses if of == "data" else []
        # Inside a replica Keras divides each of its losses by the number of replicas, but not `model.losses`.
        loss = loss * tf.distribute.get_strategy().num_replicas_in_sync - sum(map(tf.reduce_sum, penalties))
    gradients = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.cast(tf.convert_to_tensor(gradient), tf.float32) for gradient in gradients]


def check_loss(model: keras.Model) -> None:
    """Raise an `InputError` if the model has no loss."""
    if not getattr(model, "compiled", False) or model.loss is None:
        raise InputError("model", "a model without a loss", "a compiled model with a loss to take gradients of")
