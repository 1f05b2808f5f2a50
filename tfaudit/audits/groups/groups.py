"""Which groups and individuals compression hurts: [P] 4.1, [F] 3.2."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.audits.classes.classes import (
    BETTER,
    CANNOT_TELL,
    MARGIN_PP,
    NO_CHANGE,
    WORSE,
    change_columns,
    question_columns,
    verdict_counts,
)
from tfaudit.audits.classes.published import published_columns, published_test
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import number, require
from tfaudit.predictions import Predictions
from tfaudit.stats.changes import accuracy_interval
from tfaudit.stats.group_codes import LEAST_IMAGES, MISSING, column_name, group_codes, group_means
from tfaudit.stats.least_squares import line
from tfaudit.stats.ratios import member_mean

_INDIVIDUAL_COLUMNS = {"group": "str", "individual": "str", "examples": "int64"}
_INDIVIDUAL_COLUMNS |= dict.fromkeys(("accuracy_before", "accuracy_after", "change_pp"), "float64")

LOST, GAINED = "lost accuracy", "gained accuracy"


@dataclasses.dataclass(frozen=True)
class Groups(Result):
    """The effect of compression on each group, and on each individual.

    Attributes:
        name: name of the column.
        table: one row per group; see `frame`.
        individuals, fits: tables that `individual_accuracy` and `individual_fits` return; empty without individuals.
        alpha: level of the tests; intervals are at level 1 - alpha.
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
        `before_low`, `before_high`, `after_low`, `after_high` of intervals over images and members; the change of
        accuracy: `change_pp` with `change_low_pp`, `change_high_pp`, `change_p`, `change_p_holm`, `change_p_bh` and
        `verdict` (lost accuracy, gained accuracy, no change, cannot tell); the change relative to that of the overall
        accuracy: the same columns with `relative_`, and `relative_verdict` (worse than average, better than average, as
        average, cannot tell); as in [F] 2.2 for classes, Welch's test over the members alone of the accuracy minus the
        member's overall accuracy: `published_pp`, `published_low_pp`, `published_high_pp`, `published_p`,
        `published_p_holm`, `published_p_bh`, `published_direction` (worse or better than average, no evidence;
        uncorrected), NaN for single models. Verdicts are corrected after Holm for the number of groups.
        """
        return self.table.copy()

    def individuals_frame(self) -> pd.DataFrame:
        """Return the table of `individual_accuracy`; an individual in several groups has a row in each."""
        return self.individuals.copy()

    def summary(self) -> dict[str, Any]:
        """Return counts of groups by verdict and of individuals, and the group and individual that lose most (or None).

        The worst group is chosen among groups of 10 images or more, if there are any.
        """
        table = self.table
        people = self.individuals
        enough = table[table["examples"] >= LEAST_IMAGES]  # a loss of fewer images is mostly chance
        large = enough if len(enough) else table
        worst = large.iloc[int(large["change_pp"].argmin())]
        hit = next(iter(people.nsmallest(1, "change_pp").to_dict("records")), {})
        return {
            "column": self.name,
            "groups": len(table),
            "tested": int(table["change_p"].notna().sum()),
            **verdict_counts(table["verdict"], LOST, GAINED, NO_CHANGE, CANNOT_TELL),
            **verdict_counts(table["relative_verdict"], WORSE, BETTER),
            "worst_group": worst["group"],
            "worst_change_pp": float(worst["change_pp"]),
            "gap_before_pp": 100 * float(np.ptp(table["accuracy_before"])),
            "gap_after_pp": 100 * float(np.ptp(table["accuracy_after"])),
            "individuals": len(people),
            "worst_individual": hit.get("individual"),
            "worst_individual_change_pp": hit.get("change_pp"),
        }

    def chart(self) -> Drawing:
        """Draw the accuracy of every group before and after; with individuals, [P] figure 1 below it."""
        from tfaudit.audits.groups.chart import groups_chart

        return groups_chart(self.table, self.individuals, self.fits, self.name)

    def groups_chart(self) -> Drawing:
        """Draw the accuracy of every group before and after."""
        from tfaudit.audits.groups.chart import groups_chart

        return groups_chart(self.table, self.individuals.head(0), self.fits, self.name)

    def individuals_chart(self) -> Drawing:
        """Draw [P] figure 1: the accuracy of every individual after against before, a line per group."""
        from tfaudit.audits.groups.chart import individuals_chart

        return individuals_chart(self.individuals, self.fits, self.name)


def groups(
    baseline: Predictions,
    compressed: Predictions,
    column: ArrayLike | pd.Series,
    *,
    individuals: ArrayLike | pd.Series | None = None,
    paired: bool | None = None,
    alpha: float = 0.05,
    margin_pp: float = MARGIN_PP,
) -> Groups:
    """Compare the accuracy of every group of examples before and after compression.

    As `class_impact` does for classes, two questions are kept apart: has a group lost accuracy, and has it lost more
    than the model as a whole? The intervals are over images and members; for one model against one they are over the
    images, with McNemar's exact test and Tango's interval for the first question. Missing values of the column form a
    group of their own; numbers are not binned.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        column: `(N,)` the group of each example, of any type, in the order of the examples.
        individuals: `(N,)` names of the individuals behind the examples (writers, patients); none by default. Examples
            of unknown individuals are left out.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).
        margin_pp: margin in percentage points; a change whose interval lies within it counts as none.

    Raises:
        InputError: different examples, a column of another length, or a level outside (0, 1).

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 0]])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 0, 1], [0, 0, 0, 0]])
        >>> by_side = groups(before, after, ["left", "right", "left", "right"])
        >>> by_side.frame()[["group", "examples", "accuracy_before", "accuracy_after", "change_pp"]]
           group  examples  accuracy_before  accuracy_after  change_pp
        0   left         2             1.00            0.50      -50.0
        1  right         2             0.75            0.75        0.0
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    codes, names = group_codes(column, baseline.num_examples, "column")
    require(0 < number(margin_pp) <= 100, "margin_pp", margin_pp, "percentage points in (0, 100]")
    notes = [*comparison.notes]
    if comparison.members == (1, 1):
        notes.insert(
            0,
            "One model against one: the tests are about these two models, not about other trainings.",
        )
    table = _table(comparison, codes, names, margin_pp)
    people = pd.DataFrame(columns=list(_INDIVIDUAL_COLUMNS)).astype(_INDIVIDUAL_COLUMNS)
    if individuals is not None:
        everyone = individual_accuracy(baseline, compressed, column, individuals)
        people = everyone[everyone["individual"] != MISSING].reset_index(drop=True)
        if unknown := everyone["examples"].sum() - people["examples"].sum():
            notes.append(
                f"{unknown} examples of unknown individuals count for the groups, but for no individual."
            )
    fits = individual_fits(people, alpha=alpha)
    return Groups(column_name(column, "group"), table, people, fits, alpha, tuple(notes))


def individual_accuracy(
    baseline: Predictions,
    compressed: Predictions,
    group: ArrayLike,
    individuals: ArrayLike | pd.Series,
) -> pd.DataFrame:
    """Return one row per group and individual, in the order of both; unknown individuals count as one, `(missing)`.

    Columns: `group`, `individual`, `examples`, `accuracy_before` and `accuracy_after` (means over members and examples)
    and `change_pp`. `group` is the argument `column` of `groups`; the other arguments are those of `groups`.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [0, 1, 1])
        >>> after = Predictions.from_top1([0, 1, 1], [0, 0, 1])
        >>> individual_accuracy(before, after, ["a", "a", "a"], [7, 8, 8])
          group individual  examples  accuracy_before  accuracy_after  change_pp
        0     a          7         1              1.0             1.0        0.0
        1     a          8         2              1.0             0.5      -50.0
    """
    groups, group_names = group_codes(group, baseline.num_examples, "column")
    people, people_names = group_codes(individuals, baseline.num_examples, "individuals")
    columns = {
        "group": pd.Categorical.from_codes(groups, pd.Index(group_names)),
        "individual": pd.Categorical.from_codes(people, pd.Index(people_names)),
        "accuracy_before": baseline.right().mean(0),
        "accuracy_after": compressed.right().mean(0),
    }
    by = pd.DataFrame(columns).groupby(["group", "individual"], observed=True)
    table = by.mean().assign(examples=by.size()).reset_index()
    table["change_pp"] = 100 * (table["accuracy_after"] - table["accuracy_before"])
    return table[list(_INDIVIDUAL_COLUMNS)].astype(_INDIVIDUAL_COLUMNS)


def individual_fits(people: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Fit the least-squares line of the individuals' accuracy after on before, per group: [P] figure 1.

    Columns: `group`, `individuals`, `slope`, `slope_low`, `slope_high`, `intercept`, `r`; NaN if undetermined.

    Args:
        people: table that `individual_accuracy` returns.
        alpha: significance level; the confidence interval of the slope has level 1 - alpha.

    Example:
        >>> people = pd.DataFrame({"group": "a", "accuracy_before": [0.8, 0.9], "accuracy_after": [0.5, 0.7]})
        >>> individual_fits(people)[["group", "individuals", "slope", "intercept"]].round(3)
          group  individuals  slope  intercept
        0     a            2    2.0       -1.1
    """
    rows = []
    for name, inside in people.groupby("group", sort=False):
        # Accuracies are ratios of counts: without rounding, equal ones could differ in the last bit and steer a line.
        before = inside["accuracy_before"].round(12)
        after = inside["accuracy_after"].round(12)
        fit = dataclasses.asdict(line(before, after, confidence=1 - alpha))
        rows.append({"group": name, **fit})
    names = {"n": "individuals", "low": "slope_low", "high": "slope_high"}
    fits = pd.DataFrame(rows, columns=["group", "n", "slope", "low", "high", "intercept", "r"])
    return fits.rename(columns=names)


def _table(
    comparison: Comparison, codes: np.ndarray, names: tuple[str, ...], margin_pp: float
) -> pd.DataFrame:
    count = len(names)
    alpha = comparison.alpha
    columns: dict[str, object] = {"group": names, "examples": np.bincount(codes, minlength=count)}
    centred = []
    for side, population in (("before", comparison.baseline), ("after", comparison.compressed)):
        right = population.right()
        low, high = accuracy_interval(
            right, codes, count, confidence=comparison.confidence, clusters=comparison.clusters
        )
        accuracy = member_mean(group_means(right, codes, count))
        columns |= {f"accuracy_{side}": accuracy, f"{side}_low": low, f"{side}_high": high}
        published = population.by_argmax().right()
        centred.append(group_means(published, codes, count) - published.mean(1, keepdims=True))
    changes = comparison.changes(codes, count)
    columns |= change_columns(changes, alpha, margin_pp, noun="accuracy")
    if comparison.members == (1, 1):
        low, high, p = comparison.exact_changes(codes, count)
        value = changes.absolute.value
        columns |= question_columns(
            "change", value, low, high, p, alpha=alpha, margin_pp=margin_pp, noun="accuracy"
        )
    test = published_test(*centred, alpha=alpha)
    return pd.DataFrame(columns | published_columns(test, alpha))
