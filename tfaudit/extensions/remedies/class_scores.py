"""Scores of classifiers in their usual forms, as tensors."""

from typing import Any

import keras

from tfaudit.compress.keras_model import ends_in_probabilities
from tfaudit.errors import InputError


def log_scores(outputs: Any, probabilities: bool) -> Any:
    """Return float32 logits `(B, C)`, up to a constant per row, from logits or probabilities `(B, C)` or `(B, 1)`.

    A single unit stands for a model with two classes.

    >>> scores = log_scores(keras.ops.array([[0.25]]), probabilities=True)
    >>> keras.ops.convert_to_numpy(keras.ops.softmax(scores)).round(3)
    array([[0.75, 0.25]], dtype=float32)
    """
    outputs = keras.ops.cast(outputs, "float32")
    if len(outputs.shape) != 2:
        raise InputError(
            "model",
            f"outputs of shape {tuple(outputs.shape)}",
            "one score per class (N, C), or one (N, 1)",
        )
    if outputs.shape[1] == 1:
        first = 1 - outputs if probabilities else keras.ops.zeros_like(outputs)
        outputs = keras.ops.concatenate([first, outputs], axis=1)
    if not probabilities:
        return outputs
    return keras.ops.log(keras.ops.maximum(outputs, keras.config.epsilon()))


def known_probabilities(model: keras.Model, from_logits: bool | None) -> bool:
    """Return whether a model's outputs are probabilities; raise an `InputError` if it is unknown."""
    if from_logits is not None:
        return not from_logits
    known = ends_in_probabilities(model)
    if known is None and getattr(model, "compiled", False):
        logits = getattr(model.loss, "from_logits", None)
        known = None if logits is None else not logits
    if known is None:
        got = f"{model.name!r}, whose last layer does not show what its scores are"
        raise InputError("from_logits", got, "from_logits=True, or False for probabilities")
    return known
