"""Gradients of a model's loss with respect to its kernels, for the methods that score with them."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.score_data import GradientData, batches, mean_over
from tfaudit.compress.remedies.class_scores import class_ids
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
    means = mean_over(
        batches(data), lambda x, y: batch_gradients(model, kernels, values, x, y, of=of)
    )
    for name, mean in zip(kernels, means, strict=True):
        if not np.isfinite(mean).all():
            raise InputError(
                "gradient_data", f"a gradient of {name!r} with NaN or infinity", "finite gradients"
            )
    return dict(zip(kernels, means, strict=True))


def batch_gradients(
    model: keras.Model,
    kernels: Kernels,
    values: Sequence[tf.Tensor],
    inputs: Any,
    targets: Any,
    *,
    of: str,
) -> list[tf.Tensor]:
    """Compute the gradient of the mean loss of one batch: per kernel a float32 tensor of its shape.

    `values`, in their dtypes, replace the kernels' own. `of` is as in `loss_gradients`. No variable changes, so the
    function may run inside a compiled training step.
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        with keras.StatelessScope(_replaced(model, kernels, values), collect_losses=True):
            outputs = model(inputs, training=False)
            loss = model.compute_loss(x=inputs, y=targets, y_pred=outputs, training=False)
            penalties = model.losses if of == "data" else []
        # Inside a replica Keras divides each of its losses by the number of replicas, but not `model.losses`.
        loss = loss * tf.distribute.get_strategy().num_replicas_in_sync - sum(
            map(tf.reduce_sum, penalties)
        )
    gradients = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.cast(tf.convert_to_tensor(gradient), tf.float32) for gradient in gradients]


def batch_class_gradients(
    model: keras.Model, kernels: Kernels, values: Sequence[tf.Tensor], inputs: Any, targets: Any
) -> list[tf.Tensor]:
    """Compute the gradients of the losses of the classes' examples: per kernel a float32 tensor `(classes, *shape)`.

    The loss of a class is the sum over its examples divided by the size of the batch, without penalties. Otherwise as
    `batch_gradients`.
    """
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(values)
        with keras.StatelessScope(_replaced(model, kernels, values), collect_losses=True):
            outputs = model(inputs, training=False)
            width = int(outputs.shape[1])
            classes = class_ids(targets, width)
            penalties = sum(map(tf.reduce_sum, model.losses))
            losses = []
            for c in range(max(width, 2)):
                own = tf.cast(classes == c, tf.float32)
                loss = model.compute_loss(
                    x=inputs, y=targets, y_pred=outputs, sample_weight=own, training=False
                )
                losses.append(loss * tf.distribute.get_strategy().num_replicas_in_sync - penalties)
    zero = tf.UnconnectedGradients.ZERO
    by_class = [tape.gradient(loss, values, unconnected_gradients=zero) for loss in losses]
    return [
        tf.stack([tf.cast(gradients[i], tf.float32) for gradients in by_class])
        for i in range(len(values))
    ]


def _replaced(
    model: keras.Model, kernels: Kernels, values: Sequence[tf.Tensor]
) -> list[tuple[keras.Variable, Any]]:
    """Return the variables of a stateless scope in which kernels have other values."""
    chosen = {id(kernel) for kernel in kernels.values()}
    mapping = list(zip(kernels.values(), values, strict=True))
    # Keras looks up every variable that has a regularizer in the scope, also those that are not pruned.
    return mapping + [
        (other, other.value) for other in model.trainable_variables if id(other) not in chosen
    ]


def check_loss(model: keras.Model) -> None:
    """Raise an `InputError` if the model has no loss."""
    if not getattr(model, "compiled", False) or model.loss is None:
        raise InputError(
            "model", "a model without a loss", "a compiled model with a loss to take gradients of"
        )
