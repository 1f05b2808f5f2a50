"""How well the dense model's margins have told which predictions a compressed model changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.forecast.forecast import margins
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.stats.separation import separation
from tfaudit.stats.two_way import Change, sum_change

LOOKED_AT = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of the images to look at first."""

LEAST_CHANGES = 10
"""Number of changed predictions below which no interval is given."""


@dataclasses.dataclass(frozen=True)
class ForecastQuality(Result):
    """How many of the changed predictions are among those with the smallest margins before compression.

    Attributes:
        table: one row per share of the images; see `frame`.
        separation: probability that a changed prediction had a smaller margin than an unchanged one; NaN if none has
            changed, or all have.
        low, high: its interval over images and members; NaN for fewer than ten changed predictions.
        changes: number of changed predictions per model.
        alpha: level of the intervals is 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    separation: float
    low: float
    high: float
    changes: float
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per share of the images that is looked at, the smallest margins first.

        Columns: `looked_share`; `looked`, their number; `found_share`, the share of the changed predictions among them,
        with `found_low` and `found_high`.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the number of changes, the separation with its interval, and what a tenth of the images holds."""
        tenth = self.table[self.table["looked_share"] == 0.1].iloc[0]
        return {
            "changes": self.changes,
            "separation": self.separation,
            "separation_low": self.low,
            "separation_high": self.high,
            "found_in_tenth": float(tenth["found_share"]),
        }

    def chart(self) -> Drawing:
        """Draw the share of the changes that is found over the share of the images looked at."""
        from tfaudit.audits.forecast.chart import found_chart

        return found_chart(self.table)


def forecast_quality(
    baseline: Predictions,
    compressed: Predictions,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> ForecastQuality:
    """Compare the forecast by the dense model's margins with the predictions that compression has changed.

    Every compressed model is compared with the dense model that it was made from, whose own margins are the forecast.

    Args:
        baseline: the dense model or population, with the probabilities of the two best classes.
        compressed: the compressed one, on the same examples.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the intervals is 1 - alpha.

    Raises:
        InputError: different examples, no pairs, no probabilities, or a level outside (0, 1).

    Example:
        >>> dense = Predictions.from_scores([0, 1, 1], [[0.9, 0.1], [0.45, 0.55], [0.2, 0.8]])
        >>> int8 = Predictions.from_top1([0, 1, 1], [0, 0, 1])
        >>> forecast_quality(dense, int8).separation
        1.0
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    if comparison.partners is None and comparison.members != (1, 1):
        raise InputError("paired", "independent members", "models made from the baseline's members")
    before, after = comparison.compared
    changed = np.stack(
        [
            1 - baseline.best(i).agreement(compressed.best(j))
            for i, j in zip(before, after, strict=True)
        ]
    )
    margin = np.stack([margins(baseline, i) for i in before])
    areas, influences = zip(
        *(separation(-row, flips) for row, flips in zip(margin, changed, strict=True)), strict=True
    )
    changes = changed.sum(1)
    known = changes.sum() >= LEAST_CHANGES
    some = np.isfinite(areas)  # a pair without changes has no area
    area = float(np.mean(np.array(areas)[some])) if some.any() else float("nan")
    low, high = _interval(
        comparison, area, np.stack(influences)[some], np.array(areas)[some], changes[some], known
    )
    return ForecastQuality(
        _found(comparison, margin, changed, known),
        area,
        low,
        high,
        float(changes.mean()),
        alpha,
        comparison.notes,
    )


def _found(
    comparison: Comparison, margin: np.ndarray, changed: np.ndarray, known: bool
) -> pd.DataFrame:
    """Return the share of the changes among the smallest margins of each model, for every share of the images."""
    images = margin.shape[1]
    place = margin.argsort(1, kind="stable").argsort(1, kind="stable")
    changes = changed.sum(1)
    rows = []
    for share in LOOKED_AT:
        looked = max(round(share * images), 1)
        inside = place < looked
        of_members = (changed * inside).sum(1) / max(changes.mean(), 1)
        found = float((changed * inside).sum() / changes.sum()) if changes.sum() else float("nan")
        influence = images * changed * (inside - found) / max(changes.mean(), 1)
        low, high = _interval(comparison, found, influence, of_members, changes, known)
        rows.append((share, looked, found, low, high))
    return pd.DataFrame(
        rows, columns=["looked_share", "looked", "found_share", "found_low", "found_high"]
    )


def _interval(
    comparison: Comparison,
    value: float,
    influences: np.ndarray,
    of_members: np.ndarray,
    changes: np.ndarray,
    known: bool,
) -> tuple[float, float]:
    """Return the interval of a share over images and members; a share of 0 or 1 still has an error."""
    if not known:
        return float("nan"), float("nan")
    count = float(changes.mean())
    smoothed = (value * count + 2) / (count + 4)
    change: Change = sum_change(
        [influences],
        [of_members],
        np.zeros(influences.shape[1], int),
        1,
        value=value,
        least=smoothed * (1 - smoothed) / count,
        clusters=comparison.clusters,
    )
    low, high = change.interval(comparison.confidence, least=0, most=1)
    return float(low[0]), float(high[0])
