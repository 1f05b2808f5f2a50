"""Confidence intervals of means."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import special

from tfaudit.errors import InputError

__all__ = ["MeanInterval", "mean_interval"]


@dataclasses.dataclass(frozen=True)
class MeanInterval:
    """A mean and its confidence interval; each field has the shape of one member's value.

    Attributes:
        mean: over the members.
        low: lower end; NaN for a single member.
        high: upper end; NaN for a single member.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean_interval(values: np.typing.ArrayLike, *, confidence: float = 0.95) -> MeanInterval:
    """Mean over the members, with the interval of Student's t distribution.

    Args:
        values: `(K, ...)` floats; NaN gives NaN.
        confidence: level of the interval, in (0, 1).

    Raises:
        InputError: no members, or a level outside (0, 1).

    Example:
        >>> interval = mean_interval([0.8, 0.9, 1.0])
        >>> print(f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]")
        0.90 [0.65, 1.15]
    """
    array = np.asarray(values, np.float64)
    if array.ndim == 0 or not len(array):
        raise InputError(f"values: shape {array.shape}, expected at least one member")
    if not 0 < confidence < 1:
        raise InputError(f"confidence: {confidence!r}, allowed is a level in (0, 1)")
    mean = array.mean(0)
    if len(array) == 1:
        unknown = np.nan * mean  # a number of one value, as the mean is, and no array of no dimension
        return MeanInterval(mean, unknown, unknown)
    quantile = special.stdtrit(len(array) - 1, (1 + confidence) / 2)
    margin = quantile * array.std(0, ddof=1) / np.sqrt(len(array))
    return MeanInterval(mean, mean - margin, mean + margin)
