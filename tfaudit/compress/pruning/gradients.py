"""Gradients of a model's loss with respect to its kernels, for scoring methods that need them."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfaudit.compress.class_ids import class_ids
from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.errors import InputError

LOSSES = ("loss", "data")
"""`loss`: the whole training loss, including penalties such as L2 regularisation; `data`: without penalties."""


def batch_gradients(
    model: keras.Model,
    kernels: Kernels,
    values: Sequence[tf.Tensor],
    inputs: Any,
    targets: Any,
    *,
    of: str = "loss",
    by_class: bool = False,
) -> list[tf.Tensor]:
    """Compute the gradient of a batch's mean loss in inference mode: one float32 tensor in each kernel's shape.

    Inference mode does not change BatchNorm's statistics, and keeps dropout out of the score. No variable changes, so
    the function may run inside a compiled training step.

    Args:
        model: model compiled with a loss.
        kernels: kernels by name; gradients are zeros if the loss does not depend on them.
        values: tensors that replace the kernels' own values, in their dtypes.
        inputs: inputs of the batch.
        targets: targets of the batch.
        of: loss to differentiate, one of `LOSSES`; the whole training loss by default.
        by_class: whether to compute `(classes, *shape)` instead: the gradient of each class's losses, summed over its
            examples and divided by the batch size.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    >>> model.compile(loss="mse")
    >>> kernel = model.layers[0].kernel
    >>> batch_gradients(model, {"k": kernel}, [tf.constant([[3.0]])], tf.ones((4, 1)), tf.ones((4, 1)))[0].numpy()
    array([[4.]], dtype=float32)
    """
    with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(values)
        with keras.StatelessScope(_replaced(model, kernels, values), collect_losses=True):
            outputs = model(inputs, training=False)
            penalty = sum(map(tf.reduce_sum, model.losses)) if of == "data" else 0.0
            weights = [None]
            if by_class:  # 1 for examples of the class, 0 for others
                width = int(outputs.shape[1])
                classes = class_ids(targets, width)
                weights = [tf.cast(classes == c, tf.float32) for c in range(max(width, 2))]
            # Inside a replica, Keras divides its own losses by the number of replicas, but not `model.losses`.
            losses = [
                model.compute_loss(
                    x=inputs, y=targets, y_pred=outputs, sample_weight=own, training=False
                )
                * tf.distribute.get_strategy().num_replicas_in_sync
                - penalty
                for own in weights
            ]
    zero = tf.UnconnectedGradients.ZERO
    gradients = [tape.gradient(loss, values, unconnected_gradients=zero) for loss in losses]
    by_kernel = [
        [tf.cast(tf.convert_to_tensor(gradient), tf.float32) for gradient in of_kernel]
        for of_kernel in zip(*gradients, strict=True)
    ]
    return [tf.stack(of_kernel) if by_class else of_kernel[0] for of_kernel in by_kernel]


def _replaced(
    model: keras.Model, kernels: Kernels, values: Sequence[tf.Tensor]
) -> list[tuple[keras.Variable, Any]]:
    """Return variables and values for a stateless scope in which kernels have other values."""
    chosen = {id(kernel) for kernel in kernels.values()}
    # Keras looks up every variable with a regularizer in the scope, including variables that are not pruned.
    others = [(v, v.value) for v in model.trainable_variables if id(v) not in chosen]
    return [*zip(kernels.values(), values, strict=True), *others]


def check_loss(model: keras.Model) -> None:
    """Raise an `InputError` if the model has no loss."""
    if not getattr(model, "compiled", False) or model.loss is None:
        raise InputError(
            "model", "a model without a loss", "a compiled model with a loss to take gradients of"
        )
