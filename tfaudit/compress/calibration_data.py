"""Calibration data: a few representative inputs of a model, from labelled or unlabelled data of any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfaudit.compress.model_inputs import Inputs, length_of
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.representative import representative_part, representative_positions
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError
from tfaudit.stats.one_hot import without_one_hot


def calibration_inputs(data: Any, inputs: int, most: int, seed: int = 0) -> Inputs:
    """Return at most `most` representative inputs, an array or a dictionary or tuple of arrays.

    Args:
        data: inputs as `predict` takes them, a pair `(inputs, labels)`, or a `tfaudit` data set. Examples are balanced
            over classes if there are labels, and otherwise drawn from all parts of the data.
        inputs: number of the model's inputs, by which a pair is told from a tuple of inputs.
        most: largest number of examples.
        seed: seed of the draws.

    Example:
        >>> x, y = np.arange(6), np.array([0, 0, 0, 0, 0, 1])
        >>> calibration_inputs((x, y), 1, most=2), calibration_inputs((x, x), 2, most=1)
        (array([3, 5]), (array([5]), array([5])))
    """
    if isinstance(data, Dataset):
        return representative_part(data, most, seed).held
    x, labels = with_labels(data, inputs)
    arrays = mapped(_array, x)
    if not (count := length_of(arrays)):
        raise InputError("representative", "no images", "one image or more")
    if labels is not None and len(labels) != count:
        raise InputError("representative", f"{len(labels)} labels", f"{count}, one per example")
    positions = representative_positions(count, most, seed, labels=labels)
    return mapped(lambda array: array[positions], arrays)


def with_labels(data: Any, inputs: int) -> tuple[Inputs, np.ndarray | None]:
    """Return inputs and their classes `(N,)`, or None if there are none, from inputs or (inputs, targets, ...)."""
    if not isinstance(data, tuple):
        return data, None
    if len(data) == inputs and not isinstance(data[0], Mapping | tuple | list):
        return (data[0] if inputs == 1 else data), None
    return data[0], classes_of(data[1]) if len(data) > 1 else None


def classes_of(targets: Any) -> np.ndarray | None:
    """Return the class of each example `(N,)` from whole numbers, text or one-hot rows; None for other targets.

    Example:
        >>> classes_of([[0, 1], [1, 0]]), classes_of([0.5, 1.0])
        (array([1, 0]), None)
    """
    if isinstance(targets, Mapping | tuple):
        return None
    values = without_one_hot(np.asarray(targets))
    whole = values.dtype.kind in "iubSU" or (values.dtype.kind == "f" and not (values % 1).any())
    return values if values.ndim == 1 and whole else None


def _array(values: Any) -> np.ndarray:
    if not hasattr(values, "__array__"):
        raise InputError("representative", type(values).__name__, "an array of shape (N, H, W, C)")
    return np.asarray(values)
