"""Which groups and individuals compression hurts: [P] 4.1, [F] 3.2."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.audit.classes import directions
from tfaudit.audit.group_codes import MISSING, column_name, group_codes, group_means
from tfaudit.errors import require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.contingency import mcnemar, paired_interval
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.least_squares import line
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import welch

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

_INDIVIDUAL_COLUMNS = {"group": "str", "individual": "str", "examples": "int64"}
_INDIVIDUAL_COLUMNS |= dict.fromkeys(("accuracy_before", "accuracy_after", "difference_pp"), "float64")

WELCH, MCNEMAR, NONE = "Welch, normalised", "McNemar, difference", "none"


@dataclasses.dataclass(frozen=True)
class Groups:
    """The effect of compression on each group, and on each individual.

    Attributes:
        name: name of the column.
        table: one row per group; see `frame`.
        individuals, fits: what `individual_accuracy` and `individual_fits` return; empty without individuals.
        alpha: level of the tests; 1 - alpha is that of the intervals.
        notes: caveats for the reader, one sentence each.
    """

    name: str
    table: pd.DataFrame
    individuals: pd.DataFrame
    fits: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per group.

        Columns: `group`; `examples`; `accuracy_before` and `accuracy_after`, means over the members, with the ends
        `before_low`, `before_high`, `after_low`, `after_high` of intervals over the members (NaN for a single member);
        `difference_pp`, after minus before; `normalised_pp`, the difference less the change of the overall accuracy;
        `low_pp` and `high_pp`, an interval of the one of the two that `test` names; `test`; `p`, `p_holm`, `p_bh`;
        `direction`: harmed, favoured or no evidence, by the uncorrected p.
        """
        return self.table.copy()

    def individuals_frame(self) -> pd.DataFrame:
        """Return the table of `individual_accuracy`; an individual in several groups has a row in each."""
        return self.individuals.copy()

    def summary(self) -> dict[str, Any]:
        """Return counts of groups and individuals, and the most harmed of both (None where there is none)."""
        table, people = self.table, self.individuals
        worst = table.iloc[int(table["difference_pp"].argmin())]
        hit = people.iloc[int(people["difference_pp"].argmin())] if len(people) else None
        sides = ("before", "after")
        return {
            "column": self.name,
            "groups": len(table),
            "tested": int(table["p"].notna().sum()),
            **{name: int((table["direction"] == name).sum()) for name in ("harmed", "favoured")},
            **{f"significant_{method}": int((table[f"p_{method}"] <= self.alpha).sum()) for method in ("holm", "bh")},
            "worst_group": worst["group"],
            "worst_difference_pp": float(worst["difference_pp"]),
            **{f"gap_{side}_pp": float(100 * np.ptp(table[f"accuracy_{side}"].to_numpy())) for side in sides},
            "individuals": len(people),
            "worst_individual": None if hit is None else hit["individual"],
            "worst_individual_difference_pp": None if hit is None else float(hit["difference_pp"]),
        }

    def chart(self) -> Drawing:
        """Draw the accuracy of every group before and after; with individuals, [P] figure 1 below it."""
        from tfaudit.charts.groups import groups_chart

        return groups_chart(self.table, self.individuals, self.fits, self.name)


def groups(
    baseline: Predictions,
    compressed: Predictions,
    column: ArrayLike | pd.Series,
    *,
    individuals: ArrayLike | pd.Series | None = None,
    alpha: float = 0.05,
) -> Groups:
    """Compare the accuracy of every group of examples before and after compression.

    Populations of two members or more are compared by Welch's test of the group's accuracy minus the member's overall
    accuracy, as `class_impact` does for classes; one model with one by McNemar's exact test of the difference, with
    Tango's interval. Missing values of the column form a group of their own; numbers are not binned.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        column: `(N,)` the group of each example, of any type, in the order of the examples.
        individuals: `(N,)` who made each example (a writer, a patient), or None. Examples of unknown ones are left out.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: other examples, a column of another length, or a level outside (0, 1).

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 0]])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 0, 1], [0, 0, 0, 0]])
        >>> by_side = groups(before, after, ["left", "right", "left", "right"])
        >>> by_side.frame()[["group", "examples", "accuracy_before", "accuracy_after", "difference_pp"]]
           group  examples  accuracy_before  accuracy_after  difference_pp
        0   left         2             1.00            0.50          -50.0
        1  right         2             0.75            0.75            0.0
    """
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require_same_examples(baseline, compressed)
    codes, names = group_codes(column, baseline.num_examples, "column")
    sizes = baseline.num_members, compressed.num_members
    test = WELCH if min(sizes) > 1 else MCNEMAR if sizes == (1, 1) else NONE
    notes = {
        WELCH: [],
        MCNEMAR: ["One model against one: the tests are about these two models, not about other trainings."],
        NONE: [f"No test: {sizes[0]} against {sizes[1]} members; Welch's test needs two or more on both sides."],
    }[test]
    table = _table(baseline, compressed, codes, names, test, alpha)
    if individuals is None:
        people = pd.DataFrame(columns=list(_INDIVIDUAL_COLUMNS)).astype(_INDIVIDUAL_COLUMNS)
    else:
        people = individual_accuracy(baseline, compressed, column, individuals)
        unknown = people["individual"] == MISSING
        if unknown.any():
            count = people.loc[unknown, "examples"].sum()
            notes.append(f"{count} examples of unknown individuals count for the groups, but for no individual.")
            people = people[~unknown].reset_index(drop=True)
    fits = individual_fits(people, alpha=alpha)
    return Groups(column_name(column, "group"), table, people, fits, alpha, tuple(notes))


def individual_accuracy(
    baseline: Predictions, compressed: Predictions, group: ArrayLike, individuals: ArrayLike | pd.Series
) -> pd.DataFrame:
    """Return one row per group and individual, in the order of both; unknown individuals are one, `(missing)`.

    Columns: `group`, `individual`, `examples`, `accuracy_before` and `accuracy_after` (means over members and examples)
    and `difference_pp`. `group` is the column of `groups`, whose other arguments these are.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [0, 1, 1])
        >>> after = Predictions.from_top1([0, 1, 1], [0, 0, 1])
        >>> individual_accuracy(before, after, ["a", "a", "a"], [7, 8, 8])
          group individual  examples  accuracy_before  accuracy_after  difference_pp
        0     a          7         1              1.0             1.0            0.0
        1     a          8         2              1.0             0.5          -50.0
    """
    groups, group_names = group_codes(group, baseline.num_examples, "column")
    people, people_names = group_codes(individuals, baseline.num_examples, "individuals")
    columns = {
        "group": pd.Categorical.from_codes(groups, pd.Index(group_names)),
        "individual": pd.Categorical.from_codes(people, pd.Index(people_names)),
        "accuracy_before": baseline.correct().mean(0),
        "accuracy_after": compressed.correct().mean(0),
    }
    by = pd.DataFrame(columns).groupby(["group", "individual"], observed=True)
    table = by.mean().assign(examples=by.size()).reset_index()
    table["difference_pp"] = 100 * (table["accuracy_after"] - table["accuracy_before"])
    return table[list(_INDIVIDUAL_COLUMNS)].astype(_INDIVIDUAL_COLUMNS)


def individual_fits(people: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Fit the least-squares line of an individual's accuracy after on before, per group: [P] figure 1.

    Columns: `group`, `individuals`, `slope`, `slope_low`, `slope_high`, `intercept`, `r`; NaN where undetermined.

    Args:
        people: what `individual_accuracy` returns.
        alpha: 1 - alpha is the level of the interval of the slope.

    Example:
        >>> people = pd.DataFrame({"group": "a", "accuracy_before": [0.8, 0.9], "accuracy_after": [0.5, 0.7]})
        >>> individual_fits(people)[["group", "individuals", "slope", "intercept"]].round(3)
          group  individuals  slope  intercept
        0     a            2    2.0       -1.1
    """
    rows = []
    for name, inside in people.groupby("group", sort=False):
        # Accuracies are ratios of counts: without rounding, equal ones could differ in the last bit and steer a line.
        before, after = inside["accuracy_before"].round(12), inside["accuracy_after"].round(12)
        fit = line(before, after, confidence=1 - alpha)
        rows.append((name, fit.n, fit.slope, fit.low, fit.high, fit.intercept, fit.r))
    return pd.DataFrame(rows, columns=["group", "individuals", "slope", "slope_low", "slope_high", "intercept", "r"])


def _table(
    baseline: Predictions, compressed: Predictions, codes: np.ndarray, names: tuple[str, ...], test: str, alpha: float
) -> pd.DataFrame:
    right = baseline.correct(), compressed.correct()
    before, after = (group_means(correct, codes, len(names)) for correct in right)
    overall = [correct.mean(1, keepdims=True) for correct in right]
    examples = np.bincount(codes, minlength=len(names))
    difference = after.mean(0) - before.mean(0)
    tested = normalised = difference - (overall[1].mean() - overall[0].mean())
    low = high = p = np.full(len(names), np.nan)
    if test == WELCH:
        # Accuracies are ratios of counts: a difference below 1e-12 is rounding and must not look like variance.
        welch_test = welch(np.round(after - overall[1], 12), np.round(before - overall[0], 12), confidence=1 - alpha)
        tested, low, high, p = welch_test.difference, welch_test.low, welch_test.high, welch_test.p
    elif test == MCNEMAR:
        flips = right[0][0] & ~right[1][0], right[1][0] & ~right[0][0]
        lost, won = (np.bincount(codes[flip], minlength=len(names)) for flip in flips)
        (low, high), p = paired_interval(lost, won, examples, confidence=1 - alpha), mcnemar(lost, won)
        tested = difference
    table = pd.DataFrame({"group": names, "examples": examples})
    for side, accuracy in (("before", before), ("after", after)):
        span = mean_interval(accuracy, confidence=1 - alpha)
        table = table.assign(**{f"accuracy_{side}": span.mean, f"{side}_low": span.low, f"{side}_high": span.high})
    return table.assign(
        difference_pp=100 * difference,
        normalised_pp=100 * normalised,
        low_pp=100 * low,
        high_pp=100 * high,
        test=test,
        p=p,
        p_holm=adjust(p, "holm"),
        p_bh=adjust(p, "bh"),
        direction=directions(tested, p, alpha),
    )
