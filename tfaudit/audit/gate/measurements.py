"""Measurements of a gate, whether of a pair of models or of two populations."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

__all__ = ["Drops", "Measurements", "Slope"]


@dataclasses.dataclass(frozen=True)
class Drops:
    """Drops of accuracy or recall: `(C,)` arrays, one entry per class or one for all examples, percentage points.

    Attributes:
        names: names of the classes.
        examples: number of test examples.
        drop: before minus after; NaN without examples.
        low: lower end of its interval at level 1 - alpha, without correction for the number of classes.
        high: its upper end.
        p: p-value of no change, after Holm's correction over the classes.
        detectable: smallest drop that a test detects with power 80 % at the strictest of Holm's levels, alpha / C;
            NaN if there is none.
        grain: weight of one example, if the interval does not cover the sampling of examples; else 0.
    """

    names: tuple[str, ...]
    examples: np.ndarray
    drop: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    detectable: np.ndarray
    grain: np.ndarray

    def detects(self, row: int) -> str:
        """Return the smallest detectable drop as the end of a sentence: "detect a drop of 31.25 points or more"."""
        smallest = self.detectable[row]
        return "detect no drop reliably" if np.isnan(smallest) else f"detect a drop of {smallest:.2f} points or more"

    def strictest_level(self, alpha: float) -> float:
        """Return the strictest of the levels at which Holm's correction tests the classes with examples."""
        return alpha / max(1, int(np.count_nonzero(self.examples)))


@dataclasses.dataclass(frozen=True)
class Slope:
    """Intensification, [R] 5; NaN if it is undefined.

    Attributes:
        value: the slope.
        low: lower end of its interval at level 1 - alpha.
        high: its upper end.
        detectable: smallest slope above 1 that a test detects with power 80 %.
        remark: a sentence that helps to interpret the slope, or "".
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    detectable: float = float("nan")
    remark: str = ""


class Measurements(Protocol):
    """Interface between the checks and what they measure on. Shares are in [0, 1]."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the reader, one sentence each."""

    def overall(self) -> Drops:
        """Return the drop of accuracy; arrays of length 1."""

    def classes(self) -> Drops:
        """Return the drop of every class's recall."""

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return which classes are significantly harmed, and the smallest detectable drops.

        Args:
            share: of the classes that may be harmed; it sets the level of the detectable drops, which is that of
                Benjamini and Hochberg's procedure when this share is harmed.

        Returns:
            `(C,)` booleans, and `(C,)` percentage points, NaN if no drop is detectable.
        """

    def flips(self) -> float:
        """Return the share of the examples whose prediction changes."""

    def negative_flips(self) -> float:
        """Return the share of the examples that turn from right to wrong."""

    def slope(self) -> Slope:
        """Return intensification, [R] 5."""

    def remedy(self, drops: Drops, row: int, limit: float) -> str:
        """Return a sentence: which drop these data can detect, and how much data a drop of `limit` points takes."""
