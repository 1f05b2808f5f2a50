"""Trade-offs between accuracy, size and unfairness, and the operating points worth choosing: [P] 4.2."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.gate.checks import CANNOT_JUDGE, FAIL, PASS, PASSES_UNCORRECTED
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed, require, require_type
from tfaudit.extensions.operating_points.pareto import pareto_set
from tfaudit.predictions import Predictions

UNFAIRNESS: dict[str, Callable[[np.ndarray], float]] = {
    "range": lambda recalls: recalls.max() - recalls.min(),
    "mean-min": lambda recalls: recalls.mean() - recalls.min(),
}
"""Measures of unfairness of the recalls of the classes, by name."""

OBJECTIVES = {"sparsity": "max", "unfairness": "min"}
KEYS = ("variant", "dataset", "model")

GATE = {
    PASS: "passes the gate",
    PASSES_UNCORRECTED: "passes uncorrected",
    FAIL: "fails the gate",
    CANNOT_JUDGE: "cannot be judged",
}
"""Description of a point, by the outcome of the gate."""


@dataclasses.dataclass(frozen=True)
class OperatingPoints(Result):
    """Points, each the mean over the seeds of one variant, with those worth choosing marked.

    Attributes:
        points: one row per point; see `frame`.
        objectives: direction of each objective by name, "max" if more is better, "min" if less is.
        floor: lowest acceptable mean accuracy, a share; None for any.
        weights: value of one unit of each objective; None without a value function.
        notes: caveats for the reader, one sentence each.
    """

    points: pd.DataFrame
    objectives: Mapping[str, str]
    floor: float | None
    weights: Mapping[str, float] | None
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per point, in the order of the table.

        Columns: `variant` and, if the table has them, `dataset`, `model`, `title` and `technique`; each objective and,
        if known, `accuracy`, means over seeds in the units of the table; `seeds`, their number; with outcomes of the
        gate `gate`, one of `GATE`, NaN for a variant that was not judged; and the booleans `above_floor`, `pareto` (in
        the Pareto set of the points above the floor that may ship) and `chosen` (of the highest value in that set);
        `value` is NaN without weights.
        """
        return self.points.copy()

    def summary(self) -> dict[str, Any]:
        """Return counts of points and the chosen variant, the first of equally good ones; None if there is none."""
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
        """Draw [P] figures 3 and 4: every objective, and accuracy, against the first one; the Pareto set is marked."""
        from tfaudit.extensions.operating_points.chart import operating_points_chart

        return operating_points_chart(self.frame(), self.objectives, self.floor)


def trade_offs(
    populations: Mapping[str, Predictions],
    descriptions: pd.DataFrame,
    *,
    unfairness: str | Callable[[np.ndarray], float] = "range",
) -> pd.DataFrame:
    """Tabulate accuracy and unfairness of every member, for `operating_points`.

    Columns: `variant`, `member`, the columns of the descriptions, `accuracy` and `unfairness`.

    Args:
        populations: predictions by key of the variant.
        descriptions: facts about the variants, indexed by key: `sparsity`, `bytes`, `technique`, ...
        unfairness: "range" (the default), largest minus smallest recall of a class ([P] 4.2); "mean-min", mean minus
            smallest ([P] fig. 4b); or a function of the recalls `(C,)` of the classes that have examples.

    Raises:
        InputError: an unknown measure, or repeated keys in the descriptions.

    Example:
        >>> predictions = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 0], [0, 0, 0, 0]])
        >>> trade_offs({"int8": predictions}, pd.DataFrame({"bytes": [9000]}, index=["int8"]))
          variant  member  bytes  accuracy  unfairness
        0    int8       0   9000      0.75         0.5
        1    int8       1   9000      0.50         1.0
    """
    measure = UNFAIRNESS.get(unfairness) if isinstance(unfairness, str) else unfairness
    if measure is None:
        expected = f"{', '.join(UNFAIRNESS)} or a function of recalls"
        raise InputError("unfairness", repr(unfairness), expected)
    for key in descriptions.index[descriptions.index.duplicated()]:
        raise InputError("descriptions", f"{key!r} twice in the index", "one row per variant")
    tables = []
    for key, population in populations.items():
        recalls = population.recall()[:, np.unique(population.labels)]
        measured = {
            "accuracy": population.accuracy(),
            "unfairness": [float(measure(recall)) for recall in recalls],
        }
        tables.append(pd.DataFrame({"variant": key, "member": population.members, **measured}))
    table = pd.concat(tables, ignore_index=True).join(descriptions, on="variant")
    return table[["variant", "member", *descriptions, "accuracy", "unfairness"]]


def operating_points(
    table: pd.DataFrame,
    *,
    objectives: Mapping[str, str] = OBJECTIVES,
    floor: float | None = None,
    weights: Mapping[str, float] | None = None,
    outcomes: Mapping[str, str] | None = None,
) -> OperatingPoints:
    """Find the points that are worth choosing, and choose one: [P] 4.2.

    Rows of one variant (and data set and model) are averaged. Points below the accuracy floor are dropped, and so are
    variants that a gate fails, cannot judge, or passes uncorrected. The Pareto set of the others, the points that no
    other dominates, is kept. From this set, the value function `sum of weight * objective`, negative for objectives to
    be minimised, chooses a point. Objectives are not scaled: a weight is the value of one unit, and fairness valued 100
    times as much as sparsity, as in [P], is `{"sparsity": 1, "unfairness": 100}`.

    Args:
        table: one row per `variant` and seed, or per variant, as `trade_offs` returns: the objectives, and `accuracy`
            if a floor is set; `dataset`, `model`, `title` and `technique` are kept.
        objectives: columns of the objectives, with "max" if more is better, "min" if less is; `OBJECTIVES` by default.
        floor: lowest acceptable mean accuracy, a share; none by default.
        weights: one weight >= 0 per objective, by name; without them no point is chosen.
        outcomes: outcomes of the gate, by variant, as in `StudyVerdict.outcomes`; a variant without one, such as the
            baseline, is not judged. If no variant passes, no point is chosen. By default there is no gate.

    Raises:
        InputError: missing columns, values that are not numbers, unknown directions, or weights that do not match the
            objectives.

    Example:
        >>> rows = [("l1", 0.6, 0.02, 0.985), ("l2", 0.7, 0.03, 0.982), ("strong", 0.9, 0.30, 0.900)]
        >>> table = pd.DataFrame(rows, columns=["variant", "sparsity", "unfairness", "accuracy"])
        >>> points = operating_points(table, floor=0.98, weights={"sparsity": 1, "unfairness": 100})
        >>> points.frame()[["variant", "above_floor", "pareto", "value", "chosen"]]
          variant  above_floor  pareto  value  chosen
        0      l1         True    True   -1.4    True
        1      l2         True    True   -2.3   False
        2  strong        False   False  -29.1   False
    """
    require_type("a pandas.DataFrame", pd.DataFrame, table=table)
    _check(table, objectives, floor, weights)
    points, notes = _means(table, objectives, floor)
    gains = _signs(objectives) * points[list(objectives)].to_numpy(np.float64)
    points["above_floor"] = True if floor is None else points["accuracy"] >= floor
    allowed = points["above_floor"].astype(bool)
    if outcomes is not None:
        points["gate"] = points["variant"].map(outcomes).map(GATE)
        allowed &= points["gate"].isin([np.nan, GATE[PASS]])
    points["pareto"] = False
    points.loc[allowed, "pareto"] = pareto_set(gains[allowed])
    worth = np.array([np.nan if weights is None else weights[name] for name in objectives])
    points["value"] = np.round(gains @ worth, 12)
    highest = points.loc[points["pareto"], "value"].max()
    points["chosen"] = points["pareto"] & (points["value"] == highest)
    if outcomes is not None and PASS not in outcomes.values():
        points["chosen"] = False
    if points.empty:
        notes.append("No point is complete.")
    elif not points["above_floor"].any():
        notes.append(f"No point reaches the accuracy floor of {floor:g}.")
    if (equal := points["chosen"].sum()) > 1:
        notes.append(f"{equal} points have the same highest value.")
    return OperatingPoints(
        points, dict(objectives), floor, None if weights is None else dict(weights), tuple(notes)
    )


def pareto_shares(
    table: pd.DataFrame,
    *,
    objectives: Mapping[str, str] = OBJECTIVES,
    floor: float | None = None,
    draws: int = 500,
) -> pd.Series:
    """Return the share of resamples in which each variant is in the Pareto set, by variant.

    Each draw resamples the seeds of every variant with replacement, from a fixed random seed. Two variants that differ
    by less than their seeds take turns in the set. The share is NaN without a second seed, as nothing can be resampled.

    Args:
        table: one row per `variant` and seed, as in `operating_points`.
        objectives: columns of the objectives, with "max" or "min"; `OBJECTIVES` by default.
        floor: lowest acceptable mean accuracy, a share; none by default.
        draws: number of resamples, 500 by default.

    Example:
        >>> rows = [("a", 0.90, 0.1), ("a", 0.92, 0.1), ("b", 0.91, 0.2), ("b", 0.89, 0.2)]
        >>> table = pd.DataFrame(rows, columns=["variant", "accuracy", "size"])
        >>> shares = pareto_shares(table, objectives={"accuracy": "max", "size": "min"})
        >>> float(shares["a"]), bool(0 < shares["b"] < 0.5)
        (1.0, True)
    """
    _check(table, objectives, floor, None)
    names = _measured(objectives, floor is not None)
    complete = table[np.isfinite(table[names].astype("float64")).all(axis=1)]
    groups = {
        key: rows.to_numpy(np.float64)
        for key, rows in complete.groupby("variant", sort=False)[names]
    }
    if max(map(len, groups.values()), default=0) < 2:
        return pd.Series(np.nan, index=list(groups), dtype="float64")
    generator = np.random.default_rng(0)
    resampled = [
        rows[generator.integers(len(rows), size=(draws, len(rows)))].mean(1).round(12)
        for rows in groups.values()
    ]
    means = np.stack(resampled, axis=1)
    gains = means[..., : len(objectives)] * _signs(objectives)
    above = np.full(gains.shape[:2], True)
    if floor is not None:
        above = means[..., names.index("accuracy")] >= floor
    inside = np.zeros(above.shape)
    for draw, gain in enumerate(gains):
        inside[draw, above[draw]] = pareto_set(gain[above[draw]])
    return pd.Series(inside.mean(0), index=list(groups))


def _signs(objectives: Mapping[str, str]) -> np.ndarray:
    return np.array([1.0 if goal == "max" else -1.0 for goal in objectives.values()])


def _measured(objectives: Mapping[str, str], with_accuracy: bool) -> list[str]:
    """Return the columns of the objectives, and the column of the accuracy if it counts."""
    return list(dict.fromkeys((*objectives, *(["accuracy"] if with_accuracy else []))))


def _check(
    table: pd.DataFrame,
    objectives: Mapping[str, str],
    floor: float | None,
    weights: Mapping[str, float] | None,
) -> None:
    if not objectives:
        raise InputError("objectives", "none", "at least one column with 'max' or 'min'")
    for name, goal in objectives.items():
        if goal not in ("max", "min"):
            raise InputError("objectives", f"{name} {goal!r}", "'max' and 'min'")
    for name in ["variant", *_measured(objectives, floor is not None)]:
        if name not in table:
            columns = ", ".join(map(str, table.columns))
            raise InputError("table", f"columns {columns}", f"a column {name!r}")
    require(floor is None or bool(np.isfinite(floor)), "floor", floor, "a finite accuracy")
    if weights is None:
        return
    if set(weights) != set(objectives):
        got = f"weights for {', '.join(weights) or 'nothing'}"
        raise InputError("weights", got, f"weights for {', '.join(objectives)}")
    positive = all(np.isfinite(weight) and weight >= 0 for weight in weights.values())
    expected = "finite values of 0 or more; directions are in objectives"
    require(positive, "weights", dict(weights), expected)


def _means(
    table: pd.DataFrame, objectives: Mapping[str, str], floor: float | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return one row per point, the means of its complete rows; and notes."""
    measured = _measured(objectives, "accuracy" in table)
    keys = [name for name in KEYS if name in table]
    labels = [name for name in ("title", "technique") if name in table]
    rows = table[[*keys, *labels]].copy()
    for name in measured:
        try:
            rows[name] = pd.to_numeric(table[name]).astype("float64")
        except (ValueError, TypeError):
            got = f"column {name!r} with values that are not numbers"
            raise InputError("table", got, "numbers") from None
    complete = np.isfinite(rows[_measured(objectives, floor is not None)]).all(axis=1)
    groups = rows[complete].groupby(keys, sort=False, dropna=False)
    # Rounded, means of equal numbers are equal.
    points = groups[labels].first().join(groups[measured].mean().round(12))
    points = points.assign(seeds=groups.size()).reset_index()
    if complete.all():
        return points, []
    variants = listed(list(rows[~complete]["variant"].unique()))
    count = f"{(~complete).sum()} of {len(rows)} rows"
    return points, [f"{count} lack an objective and are left out, of {variants}."]
