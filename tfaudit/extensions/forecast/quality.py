"""How well the dense model's margins have told which predictions a compressed model changes."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.extensions.forecast.forecast import margins
from tfaudit.predictions import Predictions
from tfaudit.stats.changes import sum_change
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.separation import separation

LOOKED_AT = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of the images to look at first."""

LEAST_CHANGES = 10
"""Number of changed predictions below which no interval is given."""


@dataclasses.dataclass(frozen=True)
class ForecastQuality(Result):
    """Shares of the changed predictions that had the smallest margins before compression.

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
        from tfaudit.extensions.forecast.chart import found_chart

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
    flips = _Flips.of(comparison)
    areas = np.array([flips.separation(pair)[0] for pair in range(len(flips.changes))])
    some = np.flatnonzero(np.isfinite(areas))  # a pair without changes has no area
    area = float(areas[some].mean()) if len(some) else float("nan")
    influences = Rows(len(some), lambda k: flips.separation(some[k])[1])
    changes = float(flips.changes.mean()) + 1  # one more, at a margin that tells nothing
    low, high = flips.interval(area, influences, areas[some], (2 * changes) ** -2)
    return ForecastQuality(
        pd.DataFrame([flips.found(share) for share in LOOKED_AT]),
        area,
        low,
        high,
        float(flips.changes.mean()),
        alpha,
        comparison.notes,
    )


@dataclasses.dataclass(frozen=True)
class _Flips:
    """Margins of K dense models before, and whether their predictions change, `(K, N)` float32 each.

    `place` is the position of each image in the order of the model's margins, `(K, N)` integers.
    """

    comparison: Comparison
    margin: np.ndarray
    changed: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, comparison: Comparison) -> _Flips:
        """Read the predictions of each pair once."""
        before, after = comparison.baseline, comparison.compressed
        pairs = comparison.made_from
        margin, changed = np.empty((2, len(pairs), before.num_examples), np.float32)
        place = np.empty(margin.shape, np.int32)
        for k, (i, j) in enumerate(pairs):
            margin[k] = margins(before, i)
            changed[k] = 1 - before.best(i).agreement(after.best(j))
            place[k, margin[k].argsort(kind="stable")] = np.arange(before.num_examples)
        return cls(comparison, margin, changed, place)

    @functools.cached_property
    def changes(self) -> np.ndarray:
        """Number of changed predictions of each pair, `(K,)`."""
        return self.changed.sum(1, dtype=float)

    def separation(self, pair: int) -> tuple[float, np.ndarray]:
        """Return the area under the ROC curve of a pair, and the influences of its images."""
        return separation(-self.margin[pair], self.changed[pair])

    def found(self, share: float) -> dict[str, float]:
        """Return the row of the table: the share of the changes among the smallest margins of each model."""
        count = self.margin.shape[1]
        looked = max(round(share * count), 1)
        mean = max(float(self.changes.mean()), 1.0)
        rows = zip(self.changed, self.place, strict=True)
        found = np.array([changed[place < looked].sum(dtype=float) for changed, place in rows])
        value = float(found.sum() / self.changes.sum()) if self.changes.sum() else float("nan")
        influences = Rows(
            len(found),
            lambda k: count * self.changed[k] * ((self.place[k] < looked) - value) / mean,
        )
        smoothed = (value * mean + 2) / (mean + 4)
        totals = (found - value * self.changes) / mean
        least = smoothed * (1 - smoothed) / mean  # a share of 0 or 1 has an error, too
        low, high = self.interval(value, influences, totals, least)
        return {
            "looked_share": share,
            "looked": looked,
            "found_share": value,
            "found_low": low,
            "found_high": high,
        }

    def interval(
        self, value: float, influences: Rows, of_members: np.ndarray, least: float
    ) -> tuple[float, float]:
        """Return the interval of a share over images and members, whose variance over images is `least` or more."""
        if self.changes.sum() < LEAST_CHANGES:
            return float("nan"), float("nan")
        change = sum_change(
            [influences],
            [of_members],
            np.zeros(self.margin.shape[1], int),
            1,
            value=value,
            least=least,
            clusters=self.comparison.clusters,
        )
        low, high = change.interval(self.comparison.confidence, least=0, most=1)
        return float(low[0]), float(high[0])
