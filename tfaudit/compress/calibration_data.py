"""Calibration data: a few representative inputs of a model, from labelled or unlabelled data of any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from tfaudit.compress.model_inputs import Input, Inputs, arrays_of, length_of
from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.representative import (
    representative_part,
    representative_positions,
    representative_rows,
)
from tfaudit.datasets.structure import mapped, without_lists
from tfaudit.errors import InputError
from tfaudit.stats.one_hot import without_one_hot

CALIBRATION_IMAGES = 100
"""Number of representative inputs that ranges come from."""

CHECKED_IMAGES = 4
"""Number of these on which files are compared with Keras."""

ARGUMENT = "representative"
"""Name of the argument, for errors."""


def calibration_inputs(data: Any, inputs: Sequence[Input], most: int, seed: int = 0) -> Inputs:
    """Return at most `most` representative inputs of a model, an array or a dictionary or tuple of arrays.

    They are balanced over classes if there are labels, and otherwise drawn from all parts of the data.

    Args:
        data: inputs as `predict` takes them, or a pair of inputs and labels; a `tfaudit` data set; batches of these, or
            single examples, in any form that Keras takes, read once and up to 100,000 examples; or a function without
            arguments that returns one of these, as TensorFlow Lite takes it.
        inputs: inputs of the model, by whose number a pair is told from a tuple of inputs.
        most: largest number of examples.
        seed: seed of the draws.

    Raises:
        InputError: the data have none of these forms, are empty or never end.

    Example:
        >>> one, other = (Input(name, (), np.dtype(int)) for name in "ab")
        >>> x, y = np.arange(6), np.array([0, 0, 0, 0, 0, 1])
        >>> calibration_inputs((x, y), [one], most=2), calibration_inputs((x, x), [one, other], most=1)
        (array([3, 5]), (array([5]), array([5])))
        >>> calibration_inputs([(x[:4], y[:4]), (x[4:], y[4:])], [one], most=2)
        array([3, 5])
    """
    if isinstance(data, Dataset):
        return representative_part(data, most, seed).held
    if callable(data) and not hasattr(data, "__iter__"):
        data = data()
    if len(inputs) > 1:
        data = without_lists(data)
    if not (hasattr(data, "__array__") or isinstance(data, Mapping | tuple)):
        batches = (_batch(batch, inputs) for batch in read_batches(data, ARGUMENT))
        return representative_rows(batches, most, ARGUMENT, seed)
    x, targets = _parts(data, len(inputs))
    labels = classes_of(targets)
    if not (count := length_of(x)):
        raise InputError(ARGUMENT, "no examples", "one example or more")
    if labels is not None and len(labels) != count:
        raise InputError(ARGUMENT, f"{len(labels)} labels", f"{count}, one per example")
    positions = representative_positions(count, most, seed, labels=labels)
    return mapped(itemgetter(positions), x)


def _batch(batch: Any, inputs: Sequence[Input]) -> tuple[Inputs, np.ndarray | None]:
    """Return the inputs and classes of a batch, or of a single example as a batch of one."""
    x, targets = _parts(batch, len(inputs))
    shapes = [source.shape for source in inputs]
    if all(any(_fits(array.shape, shape) for shape in shapes) for array in arrays_of(x)):
        x = mapped(itemgetter(None), x)
        targets = None if targets is None else np.asarray(targets)[None]
    labels = classes_of(targets)
    return x, labels if labels is not None and len(labels) == length_of(x) else None


def _fits(got: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    pairs = zip(got, shape, strict=False)
    return len(got) == len(shape) and all(side in (None, size) for size, side in pairs)


def _parts(data: Any, inputs: int) -> tuple[Inputs, Any]:
    """Return inputs as arrays, and targets or None, from inputs or from (inputs, targets, ...)."""
    data = without_lists(data)
    targets = None
    if isinstance(data, tuple | list) and data:
        alone = len(data) == inputs and not isinstance(data[0], Mapping | tuple | list)
        targets = None if alone or len(data) == 1 else data[1]
        data = data if alone and inputs > 1 else data[0]
    return mapped(_array, without_lists(data)), targets


def classes_of(targets: Any) -> np.ndarray | None:
    """Return the class of each example `(N,)` from whole numbers, text or one-hot rows; None for other targets.

    Example:
        >>> classes_of([[0, 1], [1, 0]]), classes_of(np.array([0.5, 1.0]))
        (array([1, 0]), None)
    """
    targets = without_lists(targets)
    if not (hasattr(targets, "__array__") or isinstance(targets, list)):
        return None
    values = without_one_hot(np.asarray(targets))
    if values.dtype.kind == "f" and np.isfinite(values).all() and not (values % 1).any():
        values = values.astype(int)
    return values if values.ndim == 1 and values.dtype.kind in "iubSU" else None


def _array(values: Any) -> np.ndarray:
    if not hasattr(values, "__array__"):
        raise InputError(ARGUMENT, type(values).__name__, "an array of shape (N, H, W, C)")
    return np.asarray(values)
