"""Confidence intervals of means. No values, or an impossible level, raise `InputError`."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tfaudit.errors import InputError, require_level
from tfaudit.stats.ratios import member_mean


@dataclasses.dataclass(frozen=True)
class MeanInterval:
    """A mean over members, and the ends of its interval, NaN for a single member; all of a member's shape."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean_interval(
    values: ArrayLike, *, confidence: float = 0.95, least: float = -np.inf, most: float = np.inf
) -> MeanInterval:
    """Compute the mean over the members and its interval by Student's t distribution, within `least` and `most`.

    Args:
        values: `(K, ...)` floats of K >= 1 members; NaN gives NaN.
        confidence: level of the interval, in (0, 1).
        least: smallest possible value, none by default.
        most: largest possible value, none by default; 1 for shares.

    Example:
        >>> interval = mean_interval([0.8, 0.9, 1.0], least=0, most=1)
        >>> print(f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]")
        0.90 [0.65, 1.00]
    """
    array = np.asarray(values, np.float64)
    if array.ndim == 0 or not len(array):
        raise InputError("values", f"shape {array.shape}", "at least one member")
    require_level("confidence", confidence)
    mean = member_mean(array)
    freedom = len(array) - 1
    margin = mean * np.nan
    if freedom:
        quantile = special.stdtrit(freedom, (1 + confidence) / 2)
        margin = quantile * array.std(0, ddof=1) / np.sqrt(len(array))
    return MeanInterval(mean, *(np.clip(mean + side * margin, least, most) for side in (-1, 1)))
