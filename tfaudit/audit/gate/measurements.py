"""What a gate measures, and how surely, whether on a pair of models or on two populations."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

__all__ = ["Drops", "Measurements", "Slope", "smallest"]


@dataclasses.dataclass(frozen=True)
class Drops:
    """Drops of the share of right answers, one per class or one for all examples; arrays `(C,)`, percentage points.

    Attributes:
        names: of the classes.
        examples: test examples.
        drop: before minus after; NaN without examples.
        low: lower end of its interval at level 1 - alpha, each class by itself.
        high: its upper end.
        p: of no change, adjusted after Holm where there are several classes.
        detectable: the smallest drop that is found with power 80 % at the level of the strictest of Holm's tests,
            alpha / C; NaN where none is.
        grain: what one example weighs, where the interval does not cover the choice of examples; else 0.
    """

    names: tuple[str, ...]
    examples: np.ndarray
    drop: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    detectable: np.ndarray
    grain: np.ndarray


@dataclasses.dataclass(frozen=True)
class Slope:
    """Intensification, [R] 5. NaN where it is undefined.

    Attributes:
        value: the slope.
        low: lower end of its interval at level 1 - alpha.
        high: its upper end.
        detectable: the smallest slope above 1 that is found with power 80 %.
        remark: what a reader has to know, or nothing.
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    detectable: float = float("nan")
    remark: str = ""


class Measurements(Protocol):
    """What a gate asks for. Shares are in [0, 1]."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know."""

    def overall(self) -> Drops:
        """The drop of accuracy: arrays of length 1."""

    def classes(self) -> Drops:
        """The drop of every class's recall."""

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """`(C,)` booleans, significantly harmed after BH; and the drops that are found, in points, NaN for none.

        Found at the level that Benjamini and Hochberg hold a class to if a `share` of the classes is harmed.
        """

    def flips(self) -> float:
        """Share of the examples that are answered differently."""

    def negative_flips(self) -> float:
        """Share of the examples that were right and became wrong."""

    def slope(self) -> Slope:
        """Intensification, [R] 5."""

    def remedy(self, drops: Drops, row: int, limit: float) -> str:
        """A sentence: which drop this data would show, and how much data would show one of `limit` points."""


def smallest(detectable: float) -> str:
    """The smallest detectable drop, in percentage points, as the end of a sentence.

    Example:
        >>> "20 examples " + smallest(31.25)
        '20 examples show a drop of 31.25 points or more'
    """
    return "show no drop at all reliably" if np.isnan(detectable) else f"show a drop of {detectable:.2f} points or more"
