"""Is a mean slope below 1, above 1, or can the data not tell? [R] 6.2."""

from __future__ import annotations

import dataclasses

from numpy.typing import ArrayLike

from tfaudit.errors import require
from tfaudit.stats.intervals import mean_interval

__all__ = ["Mark", "mark_slopes"]


@dataclasses.dataclass(frozen=True)
class Mark:
    """A mean slope with its interval and what that says.

    Attributes:
        mark: "<" (interval below 1: de-intensification), ">" (above 1: intensification) or "?" (neither).
        mean: of the slopes.
        low: lower end of the interval; NaN for a single slope.
        high: upper end.
        confidence: level of the interval, in (0, 1).
    """

    mark: str
    mean: float
    low: float
    high: float
    confidence: float


def mark_slopes(slopes: ArrayLike, *, levels: int = 1, alpha: float = 0.05) -> Mark:
    """Student's t interval of the mean slope at confidence `1 - alpha / levels`, and its mark.

    A slope of NaN makes the interval NaN and the mark "?": a model whose slope is undefined is no evidence, and leaving
    it out could be.

    Args:
        slopes: `(K,)` slopes of independently trained models.
        levels: how many intervals are shown together; 5 gives the 99 % intervals of [R].
        alpha: chance that any of them misses its mean, in (0, 1).

    Raises:
        InputError: no slopes, fewer than one level, or an alpha outside (0, 1).

    Example:
        >>> mark_slopes([1.2, 1.3, 1.4], levels=5)
        Mark(mark='?', mean=1.3, low=0.726..., high=1.873..., confidence=0.99)
        >>> mark_slopes([1.2, 1.3, 1.4]).mark
        '>'
    """
    require(levels >= 1, "levels", levels, "1 or more")
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    confidence = 1 - alpha / levels
    interval = mean_interval(slopes, confidence=confidence)
    mark = "<" if interval.high < 1 else ">" if interval.low > 1 else "?"
    return Mark(mark, float(interval.mean), float(interval.low), float(interval.high), confidence)
