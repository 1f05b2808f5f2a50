"""What the interval of a mean slope says about 1, the slope without intensification."""

import dataclasses

from numpy.typing import ArrayLike

from tfaudit.errors import require_least, require_level
from tfaudit.stats.intervals import mean_interval


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
