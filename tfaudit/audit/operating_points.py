"""Which compressed model to ship: Pareto-optimal trade-offs between size, accuracy and fairness, [P] 4.2."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.audit.wording import listed
from tfaudit.errors import InputError
from tfaudit.stats.pareto import pareto_set

if TYPE_CHECKING:
    from tfaudit.report.charts.style import Drawing

__all__ = ["OperatingPoints", "operating_points"]

GOALS = {"sparsity": "max", "unfairness": "min"}
KEYS = ("variant", "dataset", "model")


@dataclasses.dataclass(frozen=True)
class OperatingPoints:
    """Points, each the mean over the seeds of one variant, and which of them are worth a choice.

    Attributes:
        points: one row per point; see `frame`.
        objectives: by name: "max" if more is better, else "min".
        floor: lowest mean accuracy that is acceptable, a share; None for any.
        weights: worth of one unit of each objective; None without a value function.
        notes: what a reader has to know, one sentence each.
    """

    points: pd.DataFrame
    objectives: Mapping[str, str]
    floor: float | None
    weights: Mapping[str, float] | None
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per point, in the order of the table.

        Columns: `variant` and, where the table has them, `dataset`, `model`, `title` and `technique`; each objective
        and `accuracy` where known, means over seeds in the units of the table; `seeds`; and the booleans `above_floor`,
        `pareto` (in the Pareto set of the points above the floor) and `chosen` (of the highest value in that set);
        `value` is NaN without weights.
        """
        return self.points.copy()

    def summary(self) -> dict[str, Any]:
        """Counts of points, and the choice: its variant, the first of equally good ones; None if there is none."""
        chosen = self.points[self.points["chosen"]]
        return {
            "points": len(self.points),
            "above_floor": int(self.points["above_floor"].sum()),
            "pareto": int(self.points["pareto"].sum()),
            "chosen": len(chosen),
            "choice": None if chosen.empty else str(chosen["variant"].iloc[0]),
            "objectives": dict(self.objectives),
            "floor": self.floor,
            "weights": None if self.weights is None else dict(self.weights),
        }

    def chart(self) -> Drawing:
        """[P] figures 3 and 4: every objective, and accuracy, against the first one; the Pareto set stands out."""
        from tfaudit.report.charts.operating_points import (
            operating_points_chart,
        )  # report depends on audit, never the other way at import

        return operating_points_chart(self.frame(), self.objectives, self.floor)


def operating_points(
    table: pd.DataFrame,
    *,
    objectives: Mapping[str, str] = GOALS,
    floor: float | None = None,
    weights: Mapping[str, float] | None = None,
) -> OperatingPoints:
    """Finds the points that are worth a choice, and chooses: [P] 4.2.

    Rows of one variant (and data set and model) are averaged. Points below the accuracy floor go first; of the others
    the Pareto set stays: the points for which no other is at least as good in every objective and better in one; then
    the value function `sum of weight * objective`, objectives to be minimised counting negative, picks among these.
    Objectives are not scaled: a weight is the worth of one unit, so fairness valued 100 times as much as sparsity, as
    in [P], is `{"sparsity": 1, "unfairness": 100}`, and a weight of `bytes` is the worth of a byte.

    Args:
        table: one row per `variant` and seed, or per variant, as of `tfaudit.audit.trade_offs.trade_offs`: the
            objectives, `accuracy` where a floor is set; `dataset`, `model`, `title` and `technique` are kept.
        objectives: columns, with "max" if more is better, "min" if less is.
        floor: lowest acceptable mean accuracy, a share.
        weights: by objective, for each of them, not negative; no choice without.

    Raises:
        InputError: missing columns, values that are no numbers, unknown directions, weights that do not fit.

    Example:
        >>> table = pd.DataFrame(
        ...     {
        ...         "variant": ["l1", "l2", "random", "strong"],
        ...         "sparsity": [0.6, 0.7, 0.6, 0.9],
        ...         "unfairness": [0.02, 0.03, 0.04, 0.30],
        ...         "accuracy": [0.985, 0.982, 0.981, 0.900],
        ...     }
        ... )
        >>> found = operating_points(table, floor=0.98, weights={"sparsity": 1, "unfairness": 100})
        >>> found.frame()[["variant", "above_floor", "pareto", "value", "chosen"]]
          variant  above_floor  pareto  value  chosen
        0      l1         True    True   -1.4    True
        1      l2         True    True   -2.3   False
        2  random         True   False   -3.4   False
        3  strong        False   False  -29.1   False
    """
    _check(table, objectives, floor, weights)
    points, notes = _means(table, objectives, floor)
    signs = np.array([1.0 if goal == "max" else -1.0 for goal in objectives.values()])
    gains = signs * points[list(objectives)].to_numpy(np.float64)
    points["above_floor"] = True if floor is None else points["accuracy"] >= floor
    above = points["above_floor"].to_numpy(bool)
    pareto = np.zeros(len(points), bool)
    pareto[above] = pareto_set(gains[above])
    points["pareto"] = pareto
    worth = np.array([np.nan if weights is None else weights[name] for name in objectives])
    points["value"] = np.round(gains @ worth, 12)
    best = points.loc[points["pareto"], "value"].max()
    points["chosen"] = points["pareto"] & (points["value"] == best)
    if not above.any():
        notes.append(f"No point reaches the accuracy floor of {floor:g}." if len(points) else "No point is complete.")
    if points["chosen"].sum() > 1:
        notes.append(f"{points['chosen'].sum()} points are of the same highest value.")
    return OperatingPoints(points, dict(objectives), floor, None if weights is None else dict(weights), tuple(notes))


def _check(
    table: pd.DataFrame, objectives: Mapping[str, str], floor: float | None, weights: Mapping[str, float] | None
) -> None:
    if not objectives:
        raise InputError("objectives: none given; name at least one column with 'max' or 'min'")
    for name, goal in objectives.items():
        if goal not in ("max", "min"):
            raise InputError(f"objectives: {name} {goal!r}, allowed are 'max' and 'min'")
    needed = ["variant", *objectives, *(["accuracy"] if floor is not None else [])]
    missing = [name for name in needed if name not in table]
    if missing:
        raise InputError(f"table: no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}")
    if floor is not None and not np.isfinite(floor):
        raise InputError(f"floor: {floor!r}, allowed is a finite accuracy")
    if weights is not None:
        if set(weights) != set(objectives):
            raise InputError(f"weights: for {', '.join(weights) or 'nothing'}, expected for {', '.join(objectives)}")
        if not all(np.isfinite(weight) and weight >= 0 for weight in weights.values()):
            raise InputError(
                f"weights: {dict(weights)}, allowed are finite values of 0 or more; directions are in objectives"
            )


def _means(table: pd.DataFrame, objectives: Mapping[str, str], floor: float | None) -> tuple[pd.DataFrame, list[str]]:
    """One row per point: the means of its complete rows."""
    measured = list(dict.fromkeys((*objectives, *(["accuracy"] if "accuracy" in table else []))))
    keys = [name for name in KEYS if name in table]
    kept = [name for name in ("title", "technique") if name in table]
    rows = table[[*keys, *kept]].copy()
    for name in measured:
        try:
            rows[name] = pd.to_numeric(table[name]).astype("float64")
        except (ValueError, TypeError):
            raise InputError(f"table: column {name!r} holds values that are no numbers") from None
    needed = [*objectives, *(["accuracy"] if floor is not None else [])]
    complete = np.isfinite(rows[needed]).all(axis=1)
    groups = rows[complete].groupby(keys, sort=False, dropna=False)
    points = groups[kept].first().join(groups[measured].mean().round(12))  # means of equal numbers must be equal
    points["seeds"] = groups.size()
    notes = []
    if not complete.all():
        lost = rows[~complete]["variant"].unique()
        notes.append(
            f"{(~complete).sum()} of {len(rows)} rows lack an objective and are left out, of {listed(list(lost))}."
        )
    return points.reset_index(), notes
