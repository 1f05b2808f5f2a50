"""Raw integer scores of a quantized model, as a device gives them, and the scale that they are read with."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection

import numpy as np

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.errors import InputError, number, require, require_whole

SCALES, ZERO_POINTS = ("scale", "outputscale"), ("zeropoint", "outputzeropoint")
"""Usual names of arrays, in lower case and without other signs than letters."""


@dataclasses.dataclass(frozen=True)
class OutputScale:
    """Scale and zero point of a quantized output, whose scores are `scale * (raw - zero_point)`.

    Raises:
        InputError: the scale is not a positive number, or the zero point no whole number.

    >>> OutputScale(0.5, -1).scores(np.array([-1, 3], np.int8))
    array([0., 2.], dtype=float32)
    """

    scale: float
    zero_point: int = 0

    def __post_init__(self) -> None:
        valid = 0 < number(self.scale) < math.inf
        require(valid, "scale", self.scale, "a number above 0, the scale of the model's output")
        require_whole("zero_point", self.zero_point, -(2**31))

    def equals(self, other: OutputScale) -> bool:
        """Return whether two scales are equal as float32, in which files of models hold them."""
        same = np.float32(self.scale) == np.float32(other.scale)
        return bool(same) and self.zero_point == other.zero_point

    def scores(self, raw: np.ndarray) -> np.ndarray:
        """Return float32 scores of the shape of raw integers."""
        return (raw.astype(np.float32) - self.zero_point) * np.float32(self.scale)


def stated_scale(scale: float | None, zero_point: int | None) -> OutputScale | None:
    """Return the scale that a user states; None without one."""
    if scale is None:
        require(zero_point is None, "zero_point", zero_point, "a scale beside it")
        return None
    return OutputScale(scale, zero_point or 0)


def require_one_scale(
    where: str, own: OutputScale | None, stated: OutputScale | None
) -> OutputScale | None:
    """Return the scale in a file, or else the stated one; refuse two that differ."""
    if own and stated and not own.equals(stated):
        got = f"scale {own.scale:g} and zero point {own.zero_point}"
        expected = f"those that are stated, {stated.scale:g} and {stated.zero_point}"
        raise InputError(where, got, expected)
    return own or stated


def scale_in(arrays: ArrayFile, scale: str | None, zero_point: str | None) -> OutputScale | None:
    """Return the scale in a file of arrays, by the names of its arrays; None without one."""
    if scale is None:
        return None
    values = [np.asarray(arrays.read(name)) for name in (scale, zero_point) if name is not None]
    if any(value.size != 1 or value.dtype.kind not in "iuf" for value in values):
        got = f"a scale {values[0].shape}, or a zero point, that is not one number"
        raise InputError(str(arrays.path), got, "one of each for the model's output")
    first, *second = (value.item() for value in values)
    try:
        return OutputScale(float(first), *second)
    except InputError as problem:
        raise InputError(
            str(arrays.path), f"{problem.argument} {problem.got}", problem.expected
        ) from None


class DequantizedArrays(ArrayFile):
    """A file of arrays of which some are raw integer scores, read as float32 scores."""

    def __init__(self, arrays: ArrayFile, raw: Collection[str], scale: OutputScale) -> None:
        self.path = arrays.path
        self.names = arrays.names
        self._raw = raw
        self._scale = scale

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Return shape and dtype of an array as it is read."""
        shape, dtype = super().shape_and_dtype(name)
        return shape, np.dtype(np.float32) if name in self._raw else dtype

    def read(self, name: str) -> np.ndarray:
        """Return an array; raw scores are float32."""
        values = super().read(name)
        return self._scale.scores(values) if name in self._raw else values
