"""Dependence of accuracy on a property of the examples, before and after compression: [P] 4.1, C and figure 13."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require_least
from tfaudit.extensions.trends.curvature import curvature
from tfaudit.predictions import Predictions
from tfaudit.stats.group_codes import MISSING, column_name, group_codes
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.least_squares import line

MEASURES = ("before", "after", "change")
FULL = "full"
"""Name of the group of all units, which is added if there are several groups."""


@dataclasses.dataclass(frozen=True)
class Trends(Result):
    """Least-squares lines of accuracy on a property, per group.

    Attributes:
        property, column: names of the property and of the groups.
        table: one row per group and measure; see `frame`.
        binned: mean accuracy in ranges of the property that hold about equally many units. Columns: `group`, `measure`
            (before, after), `units`, `value` (mean property), `accuracy` with `low` and `high`, an interval over the
            units (NaN for a single one); `range_low` and `range_high`, the ends of the range.
        units: one row per individual, or per example if no individuals are known. Columns: `group`, `unit` (name of the
            individual, or position of the example), `value` (mean property), `before` and `after` (accuracies, shares)
            and `change`, after minus before.
        of_individuals: whether a unit is an individual rather than an example.
        alpha: intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
        tilted: `(H, W)` uint8, an image that shows how the tilt is measured; None for other properties.
    """

    property: str
    column: str
    table: pd.DataFrame
    binned: pd.DataFrame
    units: pd.DataFrame
    of_individuals: bool
    alpha: float
    notes: tuple[str, ...]
    tilted: np.ndarray | None = None

    def frame(self) -> pd.DataFrame:
        """Return three rows per group: accuracy `before`, `after`, and the `change` of each unit, after minus before.

        With several groups the last three rows, `full`, are those of all units, as in [P] table 1.

        Columns: `group`, `measure`, `units` (their number), `slope` (share of accuracy per unit of the property) with
        `slope_low` and `slope_high`, `intercept`, `r`, `p` of slope 0; `curvature`, the coefficient of the squared
        property in a quadratic fit, with `curvature_low`, `curvature_high`, `curvature_p`; NaN if the units do not
        determine a number. A negative slope of the change means that compression makes accuracy depend more on the
        property: its p tests it.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return slopes by group: `before`, `after`, `change`, and the p-value of the change."""
        slopes = self.table.pivot(index="group", columns="measure", values="slope")
        p = self.table[self.table["measure"] == "change"].set_index("group")["p"]
        groups = {
            str(group): {name: float(slopes.loc[group, name]) for name in MEASURES}
            | {"p": float(p[group])}
            for group in slopes.index
        }
        return {"property": self.property, "groups": groups}

    def chart(self) -> Drawing:
        """Draw [P] figure 13: binned accuracy and its lines before and after, a panel per group."""
        from tfaudit.extensions.trends.chart import trends_chart

        return trends_chart(self.table, self.binned, self.property, self.column)

    def change_chart(self) -> Drawing:
        """Draw [P] figure 2: the change of accuracy of every unit against its property, with a smooth curve."""
        from tfaudit.extensions.trends.chart import change_chart

        return change_chart(self.units, self.property, self.column)

    def histogram(self) -> Drawing:
        """Draw [P] figures 8b, 9b, 11 and 12b: the distribution of the property in every group."""
        from tfaudit.extensions.trends.chart import histogram_chart

        return histogram_chart(self.units, self.property, self.column)

    def tilt_chart(self) -> Drawing:
        """Draw [P] figure 10: the image that shows how the tilt is measured."""
        from tfaudit.extensions.trends.chart import tilt_chart

        assert self.tilted is not None
        return tilt_chart(self.tilted)

    def scatter(self) -> Drawing:
        """Draw [P] figures 2, 8, 9 and 12: accuracy of every individual after on before, coloured by mean property."""
        from tfaudit.extensions.trends.chart import scatter_chart

        return scatter_chart(self.units, self.property, self.column)


def trends(
    baseline: Predictions,
    compressed: Predictions,
    values: ArrayLike | pd.Series,
    *,
    column: ArrayLike | pd.Series | None = None,
    individuals: ArrayLike | pd.Series | None = None,
    bins: int = 8,
    alpha: float = 0.05,
) -> Trends:
    """Fit accuracy, a mean over the members, on a property of the examples, before and after compression.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        values: `(N,)` floats, the property of each example, for instance `abs(tilt(images))`; NaN if unknown.
        column: `(N,)` groups of the examples; one group "all" by default.
        individuals: `(N,)` names of the individuals who made the examples. With them, points are individuals with their
            mean property and accuracy, as in [P]; by default points are examples.
        bins: maximum number of ranges per group in `binned`, 8 by default.
        alpha: intervals are at level 1 - alpha, in (0, 1).

    Raises:
        InputError: different examples, columns of another length, infinite values, no bins, or a level outside (0, 1).

    Example:
        >>> before = Predictions.from_top1([0, 0, 0, 1], [0, 0, 0, 1])
        >>> after = Predictions.from_top1([0, 0, 0, 1], [[0, 0, 1, 0], [0, 0, 0, 0]])
        >>> lines = trends(before, after, [0.0, 0.1, 0.2, 0.3])
        >>> lines.frame()[["group", "measure", "units", "slope", "intercept"]].round(3)
          group measure  units  slope  intercept
        0   all  before      4    0.0       1.00
        1   all   after      4   -3.5       1.15
        2   all  change      4   -3.5       0.15
    """
    require_least(1, bins=bins)
    comparison = Comparison(baseline, compressed, alpha=alpha)
    units, notes = _units(baseline, compressed, values, column, individuals)
    rows = []
    binned = []
    groups = [(str(group), inside) for group, inside in units.groupby("group", observed=True)]
    if len(groups) > 1:
        groups.append((FULL, units))
    for group, inside in groups:
        binned += _bins(group, inside, bins, comparison.confidence)
        for measure in MEASURES:
            points = inside["value"], inside[measure].round(12)
            fit = line(*points, confidence=comparison.confidence)
            bend = curvature(*points, confidence=comparison.confidence)
            ends = (fit.low, fit.high, fit.intercept, fit.r, fit.p)
            rows.append((group, measure, fit.n, fit.slope, *ends, *bend))
    return Trends(
        property=column_name(values, "value"),
        column=column_name(column, "group"),
        table=pd.DataFrame(rows, columns=_LINES),
        binned=pd.DataFrame(binned, columns=_BINS),
        units=units[["group", "unit", "value", *MEASURES]].reset_index(drop=True),
        of_individuals=individuals is not None,
        alpha=alpha,
        notes=tuple(notes),
    )


_LINES = (
    "group",
    "measure",
    "units",
    "slope",
    "slope_low",
    "slope_high",
    "intercept",
    "r",
    "p",
    "curvature",
    "curvature_low",
    "curvature_high",
    "curvature_p",
)
_BINS = ("group", "measure", "units", "value", "accuracy", "low", "high", "range_low", "range_high")


def _units(
    baseline: Predictions,
    compressed: Predictions,
    values: ArrayLike | pd.Series,
    column: ArrayLike | pd.Series | None,
    individuals: ArrayLike | pd.Series | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return one row per point (`group`, `unit`, `value` and the three measures), and notes."""
    count = baseline.num_examples
    property_ = np.asarray(values, np.float64)
    if property_.shape != (count,):
        expected = f"one number for each of the {count} examples"
        raise InputError("values", f"shape {property_.shape}", expected)
    if np.isinf(property_).any():
        raise InputError("values", "infinite ones", "finite numbers, and NaN for unknown ones")
    codes, names = group_codes(["all"] * count if column is None else column, count, "column")
    units = pd.DataFrame(
        {
            "group": pd.Categorical.from_codes(codes, pd.Index(names)),
            "unit": np.arange(count),
            "value": property_,
            "before": baseline.right().mean(0),
            "after": compressed.right().mean(0),
        }
    )
    notes = []
    known = ~np.isnan(property_)
    if not known.all():
        name = column_name(values, "value")
        notes.append(f"{(~known).sum()} examples of unknown {name} are left out.")
    if individuals is not None:
        who, people = group_codes(individuals, count, "individuals")
        units["unit"] = pd.Categorical.from_codes(who, pd.Index(people))
        nobody = units["unit"] == MISSING
        if nobody.any():
            notes.append(f"{nobody.sum()} examples of unknown individuals are left out.")
        by = units[known & ~nobody].groupby(["group", "unit"], observed=True)
        units = by.mean().reset_index()
    else:
        units = units[known]
    return units.assign(change=units["after"] - units["before"]), notes


def _bins(
    group: str, inside: pd.DataFrame, bins: int, confidence: float
) -> list[tuple[object, ...]]:
    value = inside["value"].to_numpy()
    # Quantiles that coincide are one edge, so equal values stay together.
    edges = np.unique(np.quantile(value, np.linspace(0, 1, bins + 1))) if len(value) else value
    rows: list[tuple[object, ...]] = []
    for _, part in inside.groupby(np.digitize(value, edges[1:-1], right=True)):
        for measure in MEASURES[:2]:
            span = mean_interval(part[measure], confidence=confidence, least=0, most=1)
            ranges = (part["value"].min(), part["value"].max())
            ends = (float(span.mean), float(span.low), float(span.high))
            rows.append((group, measure, len(part), part["value"].mean(), *ends, *ranges))
    return rows
