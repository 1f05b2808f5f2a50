"""Targets of classifiers in their usual forms, as tensors."""

from typing import Any

import keras

from tfaudit.errors import InputError


def class_ids(targets: Any, classes: int) -> Any:
    """Return the classes `(B,)`, int32, from targets: integers `(B,)` or `(B, 1)`, or one-hot or smoothed `(B, C)`.

    >>> keras.ops.convert_to_numpy(class_ids(keras.ops.array([[0.0, 1.0], [1.0, 0.0]]), 2))
    array([1, 0], dtype=int32)
    """
    targets = keras.ops.convert_to_tensor(targets)
    if len(targets.shape) == 2 and targets.shape[1] == classes > 1:
        return keras.ops.argmax(targets, axis=1)
    if len(targets.shape) == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if len(targets.shape) != 1:
        got = f"targets of shape {tuple(targets.shape)} for {classes} classes"
        raise InputError("y", got, "classes (N,) or one-hot (N, C)")
    return keras.ops.cast(targets, "int32")
