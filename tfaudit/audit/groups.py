"""Which groups and individuals compression hurts: [P] 4.1, [F] 3.2."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.audit.group_codes import MISSING, coded, group_means, title_of
from tfaudit.audit.individuals import NOBODY, individual_accuracy, individual_fits
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.contingency import mcnemar, paired_interval
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import welch

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

__all__ = ["Groups", "groups"]

WELCH, MCNEMAR, NONE = "Welch, normalised", "McNemar, difference", "none"


@dataclasses.dataclass(frozen=True)
class Groups:
    """What compression does to each group, and to each individual of it.

    Attributes:
        name: what the column is called.
        table: one row per group; see `frame`.
        individuals: one row per group and individual, without rows where no individuals were given; see
            `individuals_frame`.
        fits: one row per group, the least-squares line of an individual's accuracy after on before ([P] figure 1):
            `group`, `individuals`, `slope`, `slope_low`, `slope_high`, `intercept`, `r`; NaN where the individuals
            do not determine a line. Without rows where no individuals were given.
        alpha: level of the tests; 1 - alpha is that of the intervals.
        notes: what a reader has to know, one sentence each.
    """

    name: str
    table: pd.DataFrame
    individuals: pd.DataFrame
    fits: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per group.

        Columns: `group`; `examples`; `accuracy_before` and `accuracy_after`, means over the members, with the ends
        `before_low`, `before_high`, `after_low`, `after_high` of intervals over the members (NaN for a single member);
        `difference_pp`, after minus before; `normalised_pp`, the part of it that the change of the overall accuracy
        does not explain; `low_pp` and `high_pp`, an interval of whichever of the two `test` names; `test`; `p`,
        `p_holm`, `p_bh`; `direction`: harmed, favoured or no evidence, by the uncorrected p.
        """
        return self.table.copy()

    def individuals_frame(self) -> pd.DataFrame:
        """One row per group and individual: an individual in several groups has a row in each.

        Columns: `group`, `individual`, `examples`, `accuracy_before`, `accuracy_after`, `difference_pp`.
        """
        return self.individuals.copy()

    def summary(self) -> dict[str, Any]:
        """Counts of groups and individuals, the most harmed of both (None where there is none)."""
        found = self.table
        worst = found.iloc[int(found["difference_pp"].argmin())]
        hit = self.individuals.iloc[int(self.individuals["difference_pp"].argmin())] if len(self.individuals) else None
        return {
            "column": self.name,
            "groups": len(found),
            "tested": int(found["p"].notna().sum()),
            "harmed": int((found["direction"] == "harmed").sum()),
            "favoured": int((found["direction"] == "favoured").sum()),
            "significant_holm": int((found["p_holm"] <= self.alpha).sum()),
            "significant_bh": int((found["p_bh"] <= self.alpha).sum()),
            "worst_group": worst["group"],
            "worst_difference_pp": float(worst["difference_pp"]),
            "gap_before_pp": float(100 * (found["accuracy_before"].max() - found["accuracy_before"].min())),
            "gap_after_pp": float(100 * (found["accuracy_after"].max() - found["accuracy_after"].min())),
            "individuals": len(self.individuals),
            "worst_individual": None if hit is None else hit["individual"],
            "worst_individual_difference_pp": None if hit is None else float(hit["difference_pp"]),
        }

    def chart(self) -> Drawing:
        """Accuracy of every group before and after; with individuals, [P] figure 1 below it."""
        from tfaudit.charts.groups import groups_chart  # report depends on audit, never the other way at import

        return groups_chart(self.table, self.individuals, self.fits, self.name)


def groups(
    baseline: Predictions,
    compressed: Predictions,
    column: ArrayLike | pd.Series,
    *,
    individuals: ArrayLike | pd.Series | None = None,
    alpha: float = 0.05,
) -> Groups:
    """Compares the accuracy of every group of examples before and after compression.

    Populations of two members or more: Welch's test of the group's accuracy minus the member's overall accuracy, as
    `class_impact` does for classes. One model against one: McNemar's exact test of the difference itself, with Tango's
    interval. Missing values of the column form a group of their own; numbers are not binned.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        column: `(N,)` the group of each example, of any type, in the order of the examples.
        individuals: `(N,)` who made each example (a writer, a patient), or None. Examples of nobody known are left out.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: other examples, a column of another length, or a level outside (0, 1).

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 0]])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 0, 1], [0, 0, 0, 0]])
        >>> found = groups(before, after, ["left", "right", "left", "right"])
        >>> found.frame()[["group", "examples", "accuracy_before", "accuracy_after", "difference_pp"]]
           group  examples  accuracy_before  accuracy_after  difference_pp
        0   left         2             1.00            0.50          -50.0
        1  right         2             0.75            0.75            0.0
    """
    if not 0 < alpha < 1:
        raise InputError("alpha", repr(alpha), "a level in (0, 1)")
    require_same_examples(baseline, compressed)
    codes, names = coded(column, baseline.num_examples, "column")
    test, notes = _test_for(baseline, compressed)
    table = _table(baseline, compressed, codes, names, test, alpha)
    people = NOBODY
    if individuals is not None:
        people = individual_accuracy(baseline, compressed, column, individuals)
        unknown = people["individual"] == MISSING
        if unknown.any():
            count = people.loc[unknown, "examples"].sum()
            notes.append(f"{count} examples of unknown individuals: in the groups, but with no individual.")
            people = people[~unknown].reset_index(drop=True)
    return Groups(
        name=title_of(column, "group"),
        table=table,
        individuals=people,
        fits=individual_fits(people, alpha=alpha),
        alpha=alpha,
        notes=tuple(notes),
    )


def _test_for(baseline: Predictions, compressed: Predictions) -> tuple[str, list[str]]:
    if min(baseline.num_members, compressed.num_members) > 1:
        return WELCH, []
    if baseline.num_members == compressed.num_members:
        return MCNEMAR, ["One model against one: the tests are about these two models, not about training anew."]
    sizes = f"{baseline.num_members} against {compressed.num_members} members"
    return NONE, [f"No test: {sizes}; Welch's test needs two or more on both sides."]


def _table(
    baseline: Predictions, compressed: Predictions, codes: np.ndarray, names: tuple[str, ...], test: str, alpha: float
) -> pd.DataFrame:
    right = baseline.correct(), compressed.correct()
    before, after = (group_means(each, codes, len(names)) for each in right)
    overall = [each.mean(1, keepdims=True) for each in right]
    spans = mean_interval(before, confidence=1 - alpha), mean_interval(after, confidence=1 - alpha)
    examples = np.bincount(codes, minlength=len(names))
    difference = after.mean(0) - before.mean(0)
    tested = normalised = difference - (overall[1].mean() - overall[0].mean())
    low = high = p = np.full(len(names), np.nan)
    if test == WELCH:
        # Accuracies are ratios of counts: what differs by less than 1e-12 differs by rounding, not by training.
        found = welch(np.round(after - overall[1], 12), np.round(before - overall[0], 12), confidence=1 - alpha)
        tested, low, high, p = found.difference, found.low, found.high, found.p
    elif test == MCNEMAR:
        lost = np.bincount(codes, right[0][0] & ~right[1][0], len(names)).astype(int)
        won = np.bincount(codes, right[1][0] & ~right[0][0], len(names)).astype(int)
        (low, high), p = paired_interval(lost, won, examples, confidence=1 - alpha), mcnemar(lost, won)
        tested = difference
    direction = np.where(p <= alpha, np.where(tested < 0, "harmed", "favoured"), "no evidence")
    return pd.DataFrame(
        {
            "group": names,
            "examples": examples,
            "accuracy_before": spans[0].mean,
            "before_low": spans[0].low,
            "before_high": spans[0].high,
            "accuracy_after": spans[1].mean,
            "after_low": spans[1].low,
            "after_high": spans[1].high,
            "difference_pp": 100 * difference,
            "normalised_pp": 100 * normalised,
            "low_pp": 100 * low,
            "high_pp": 100 * high,
            "test": test,
            "p": p,
            "p_holm": adjust(p, "holm"),
            "p_bh": adjust(p, "bh"),
            "direction": direction,
        }
    )
