"""Confidence intervals of means, and what they say about 1. No values, or an impossible level, raise `InputError`."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tfaudit.errors import InputError, require_least, require_level
from tfaudit.stats.ratios import member_mean


@dataclasses.dataclass(frozen=True)
class MeanInterval:
    """A mean over members, and the ends of its interval, NaN for a single member; all of a member's shape."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclasses.dataclass(frozen=True)
class Mark:
    """The verdict on a mean slope.

    Attributes:
        mark: "<" (interval below 1: de-intensification), ">" (above 1: intensification) or "?" (neither).
        mean: mean slope.
        low, high: ends of its interval at level `confidence`; NaN for a single slope.
        confidence: level of the interval, in (0, 1).
    """

    mark: str
    mean: float
    low: float
    high: float
    confidence: float

    @classmethod
    def of(cls, mean: float, low: float, high: float, confidence: float) -> "Mark":
        """Return the verdict of an interval.

        Example:
            >>> Mark.of(1.2, 1.1, 1.3, 0.95).mark
            '>'
        """
        return cls("<" if high < 1 else ">" if low > 1 else "?", mean, low, high, confidence)


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


def mark_slopes(slopes: ArrayLike, *, levels: int = 1, alpha: float = 0.05) -> Mark:
    """Mark a mean slope by whether its interval at confidence `1 - alpha / levels` lies below or above 1.

    A NaN slope gives a NaN mean and the mark "?": leaving out a model whose slope is undefined could create evidence.

    Args:
        slopes: `(K,)` slopes of independently trained models.
        levels: number of intervals shown together, 1 by default; 5 gives the 99 % intervals of [R].
        alpha: probability that any of them misses its mean, in (0, 1).

    Example:
        >>> mark_slopes([1.2, 1.3, 1.4], levels=5)
        Mark(mark='?', mean=1.3, low=0.726..., high=1.873..., confidence=0.99)
        >>> mark_slopes([1.2, 1.3, 1.4]).mark
        '>'
    """
    require_least(1, levels=levels)
    require_level("alpha", alpha)
    confidence = 1 - alpha / levels
    interval = mean_interval(slopes, confidence=confidence)
    return Mark.of(float(interval.mean), float(interval.low), float(interval.high), confidence)
