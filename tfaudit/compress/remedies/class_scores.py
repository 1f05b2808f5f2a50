"""Conversion of classifiers' scores and targets in their usual forms, as tensors."""

import keras
import tensorflow as tf

from tfaudit.compress.keras_model import ends_in_probabilities
from tfaudit.errors import InputError


def log_scores(outputs: tf.Tensor, probabilities: bool) -> tf.Tensor:
    """Return float32 logits `(B, C)`, up to a constant per row, from logits or probabilities `(B, C)` or `(B, 1)`.

    A single unit stands for a model with two classes.

    >>> tf.nn.softmax(log_scores(tf.constant([[0.25]]), probabilities=True)).numpy().round(3)
    array([[0.75, 0.25]], dtype=float32)
    """
    outputs = tf.cast(outputs, tf.float32)
    if outputs.shape.rank != 2:
        raise InputError(
            "model",
            f"outputs of shape {tuple(outputs.shape)}",
            "one score per class (N, C), or one (N, 1)",
        )
    if outputs.shape[1] == 1:
        outputs = tf.concat(
            [1 - outputs if probabilities else tf.zeros_like(outputs), outputs], axis=1
        )
    return tf.math.log(tf.maximum(outputs, keras.config.epsilon())) if probabilities else outputs


def class_ids(targets: tf.Tensor, classes: int) -> tf.Tensor:
    """Return the classes `(B,)`, int64, from targets: integers `(B,)` or `(B, 1)`, or one-hot or smoothed `(B, C)`.

    >>> class_ids(tf.constant([[0.0, 1.0], [1.0, 0.0]]), 2).numpy()
    array([1, 0])
    """
    targets = tf.convert_to_tensor(targets)
    if targets.shape.rank == 2 and targets.shape[1] == classes > 1:
        return tf.argmax(targets, axis=1)
    if targets.shape.rank == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.shape.rank != 1:
        got = f"targets of shape {tuple(targets.shape)} for {classes} classes"
        raise InputError("y", got, "classes (N,) or one-hot (N, C)")
    return tf.cast(targets, tf.int64)


def known_probabilities(model: keras.Model, from_logits: bool | None, argument: str) -> bool:
    """Return whether a model's outputs are probabilities; raise an `InputError` if it is unknown."""
    if from_logits is not None:
        return not from_logits
    known = ends_in_probabilities(model)
    if known is None and getattr(model, "compiled", False):
        logits = getattr(model.loss, "from_logits", None)
        known = None if logits is None else not logits
    if known is None:
        got = f"{model.name!r}, whose last layer does not show what its scores are"
        raise InputError(argument, got, "from_logits=True, or False for probabilities")
    return known
