"""Robustness: the cost of compression under corruption, [F] 4 and D."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import BETTER, GAINED, LOST, MARGIN_PP, WORSE, verdict_counts
from tfaudit.audits.result import Drawing, Result
from tfaudit.audits.robustness.accuracy_changes import (
    LEAST_PREDICTIONS,
    OVERALL,
    clean_table,
    corruption_table,
    overall_table,
    severity_table,
    too_few_predictions,
)
from tfaudit.audits.robustness.class_changes import class_changes
from tfaudit.audits.robustness.condition_rates import (
    ConditionRates,
    CorruptionLevel,
    condition_rates,
)
from tfaudit.audits.robustness.exemplar_flips import flip_table
from tfaudit.errors import InputError, listed, number, require, require_level
from tfaudit.predictions import Predictions


@dataclasses.dataclass(frozen=True)
class Robustness(Result):
    """Comparison of a baseline and a compressed population under corruption.

    Attributes:
        conditions: the corruption levels, in order.
        corruptions: one row per k and corruption; see `frame`.
        overall: one row per k, the mean over all corruptions with severities; columns of `frame`, without the adjusted
            p-values of the excess. Its corruption error is the mCE, its relative corruption error the relative mCE.
        clean: one row per k, the change on clean images, with the columns of `frame` from `k` to `published_p`; no rows
            without clean images.
        severities, classes, flips: tables by severity, by class, and of exemplars among flips; see `severity_frame`,
            `class_frame` and `flip_frame`.
        lost_first: `(N,)` numbers of severities, by corruption, at which only the compressed population loses an
            example that both get right when clean; no entry for corruptions that show other images than the clean ones.
        alpha: level of the tests.
        margin_pp: margin in percentage points; a change whose interval lies within it counts as none.
        notes: remarks for the reader, one sentence each.
    """

    conditions: tuple[CorruptionLevel, ...]
    corruptions: pd.DataFrame
    overall: pd.DataFrame
    clean: pd.DataFrame
    severities: pd.DataFrame
    classes: pd.DataFrame
    flips: pd.DataFrame
    lost_first: Mapping[str, np.ndarray]
    alpha: float
    margin_pp: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return [F] table 3: one row per k (1, and 5 if five ranks are stored) and corruption, means over severities.

        Columns: `corruption`; `k`; `severities`, their number; `members_before`, `members_after`; `accuracy_before`,
        `accuracy_after`, shares; `change_pp` with `change_low_pp`, `change_high_pp`, the interval over images and
        members, `change_p`, `change_p_holm`, `change_p_bh` over the corruptions and `verdict` (lost accuracy, gained
        accuracy, no change, cannot tell); `relative_change`, the change as a share of the accuracy before, with its
        interval `relative_low`, `relative_high`; for two single models `lost` and `won`, images that are right less or
        more often; `test` (images and members; for two single models images, or McNemar); `published_low_pp`,
        `published_high_pp`, `published_p` of Welch's test over the members alone; `corruption_error`, errors after as a
        share of the errors before (CE, 1 for the baseline) with `corruption_error_low`, `corruption_error_high`;
        `relative_corruption_error`, the loss from clean to corrupted images as a share of the baseline's; `excess_pp`,
        the change minus the change on clean images (below 0: compression costs more under corruption), with
        `excess_low_pp`, `excess_high_pp`, `excess_p`, `excess_p_holm`, `excess_p_bh`. Unknown values are NaN.
        """
        return self.corruptions.copy()

    def severity_frame(self) -> pd.DataFrame:
        """Return one row per k, corruption and severity.

        Columns: those of `frame` from `members_before` to `published_p`; `severity`; `examples`; `before_low`,
        `before_high`, `after_low`, `after_high`, intervals of the accuracies over images and members.
        """
        return self.severities.copy()

    def class_frame(self) -> pd.DataFrame:
        """Return one row per corruption and class, means over severities.

        Columns: `corruption`, `class`, `examples` (of one severity), `recall_before`, `recall_after`; the columns
        `change_...`, `verdict`, `relative_...` (against the change of the accuracy under that corruption) and
        `relative_verdict` of `ClassImpact.frame`, corrected over all rows; `clean_relative_pp`, `relative_pp` on clean
        images; `published_pp`, `published_low_pp`, `published_high_pp`, `published_p`, `published_p_holm`,
        `published_p_bh`, `published_direction` of Welch's test as in [F] 2.2, the direction uncorrected.
        """
        return self.classes.copy()

    def changes(self) -> pd.DataFrame:
        """Return one row per k and corruption, and their mean."""
        return pd.concat([self.corruptions, self.overall])

    def curves(self) -> pd.DataFrame:
        """Return the rows of `severity_frame` with a severity, and clean images as severity 0 of each corruption."""
        rows = self.severities[self.severities["severity"] > 0]
        clean = (
            rows[["k", "corruption"]].drop_duplicates().merge(self.clean.assign(severity=0), on="k")
        )
        return pd.concat([clean, rows] if len(clean) else [rows])

    def flip_frame(self) -> pd.DataFrame:
        """Return the clean exemplars among the flips; `exemplar_flips.flip_table` describes the columns."""
        return self.flips.copy()

    def summary(self) -> dict[str, Any]:
        """Return the top-1 means over the corruptions, counts of verdicts, and the costliest corruption.

        `class_tests` is the number of tests of a class under a corruption; keys that start with `class_tests_` count
        their verdicts.
        """
        top1 = self.corruptions[self.corruptions["k"] == 1]
        overall = self.overall[self.overall["k"] == 1].to_dict("records")[0]
        clean = next(iter(self.clean[self.clean["k"] == 1].to_dict("records")), {})
        class_tests = {
            **verdict_counts(self.classes["verdict"], LOST, GAINED),
            **verdict_counts(self.classes["relative_verdict"], WORSE, BETTER),
        }
        lowest = top1.dropna(subset=["relative_change"]).nsmallest(1, "relative_change")
        worst = next(iter(lowest.to_dict("records")), {})
        return {
            "corruptions": len(top1),
            "conditions": len(self.conditions),
            **{name: overall[name] for name in _OVERALL_KEYS},
            **{
                f"clean_{name}": clean.get(name, float("nan"))
                for name in ("change_pp", "relative_change")
            },
            **{f"mce{end}": overall[f"corruption_error{end}"] for end in ("", "_low", "_high")},
            "relative_mce": overall["relative_corruption_error"],
            **verdict_counts(top1["verdict"], "lost accuracy", "gained accuracy"),
            "worse_than_clean_holm": int(
                ((top1["excess_p_holm"] <= self.alpha) & (top1["excess_pp"] < 0)).sum()
            ),
            "most_sensitive": worst.get("corruption"),
            "most_sensitive_relative_change": worst.get("relative_change", float("nan")),
            "class_tests": int(self.classes["change_p"].notna().sum()),
            **{f"class_tests_{verdict}": count for verdict, count in class_tests.items()},
        }

    def chart(self) -> Drawing:
        """Draw the relative change of accuracy per corruption with intervals, [F] figures 4 and 7."""
        from tfaudit.audits.robustness.chart import relative_change_chart

        return relative_change_chart({"compressed": self.changes()})

    def severity_chart(self) -> Drawing:
        """Draw accuracy over severity, a panel per corruption."""
        from tfaudit.audits.robustness.chart import severity_chart

        return severity_chart({"compressed": self.curves()})


_OVERALL_KEYS = (
    "accuracy_before",
    "accuracy_after",
    "change_pp",
    "change_low_pp",
    "change_high_pp",
    "change_p",
    "verdict",
    "relative_change",
    "excess_pp",
    "excess_low_pp",
    "excess_high_pp",
    "excess_p",
)


def robustness(
    baseline: Mapping[CorruptionLevel, Predictions],
    compressed: Mapping[CorruptionLevel, Predictions],
    *,
    clean: tuple[Predictions, Predictions] | None = None,
    paired: bool | None = None,
    alpha: float = 0.05,
    margin_pp: float = MARGIN_PP,
) -> Robustness:
    """Compute the cost of compression under corruption, by corruption and class, and its excess over clean images.

    Accuracies are averaged over the severities of each member, then over members ([F] 4), and tested as
    `accuracy_changes.accuracy_change` describes. A member counts in a mean if it was evaluated under all of its
    conditions. Corruption errors are those of Hendrycks and Dietterich (2019), with the mean errors of the baseline in
    place of AlexNet's.

    Args:
        baseline: predictions of the uncompressed population by corruption and severity, 1 to 5, or 0 for a set without
            severities, such as ImageNet-A. Each is read once, so a mapping may load them from files.
        compressed: predictions of the compressed population under the same conditions.
        clean: predictions of the two populations on clean images; without them the excess over the clean change and the
            exemplars are unknown.
        paired: whether compressed members are made from the baseline's members of the same names, as quantized members
            are; by default as `parents` of the compressed predictions says. Only complete pairs count, also in the
            means.
        alpha: level of the tests; intervals are at level 1 - alpha.
        margin_pp: margin in percentage points; a change whose interval lies within it counts as none.

    Raises:
        InputError: no conditions; conditions, examples or classes that differ; or a level outside (0, 1).

    Example:
        >>> labels = 10 * [0, 0, 1, 1]
        >>> before = {("fog", s): Predictions.from_top1(labels, [10 * [0, 0, 1, 1], 10 * [0, 0, 1, 0]]) for s in (1, 2)}
        >>> after = {("fog", s): Predictions.from_top1(labels, [10 * [0, 1, 1, 0], 10 * [0, 1, 1, 1]]) for s in (1, 2)}
        >>> result = robustness(before, after)
        >>> result.frame()[["corruption", "accuracy_before", "accuracy_after", "relative_change"]].round(3)
          corruption  accuracy_before  accuracy_after  relative_change
        0        fog            0.875           0.625           -0.286
        >>> result.summary()["mce"]
        3.0
    """
    require_level("alpha", alpha)
    require(0 < number(margin_pp) <= 100, "margin_pp", margin_pp, "percentage points in (0, 100]")
    rates = condition_rates(
        baseline, compressed, clean, paired=paired, alpha=alpha, margin_pp=margin_pp
    )
    return Robustness(
        conditions=rates.conditions,
        corruptions=corruption_table(rates),
        overall=overall_table(rates),
        clean=clean_table(rates),
        severities=severity_table(rates),
        classes=class_changes(rates),
        flips=flip_table(rates.flips, alpha),
        lost_first=rates.lost_first,
        alpha=alpha,
        margin_pp=margin_pp,
        notes=_notes(rates),
    )


def robustness_table(
    levels: Mapping[str, Robustness], *, relative: bool = True, baseline: str = "baseline"
) -> pd.DataFrame:
    """Return [F] tables 3 and 8 in percent: a column per level, a row per corruption, and the mean in the last row.

    The rows are corruptions; the columns have two levels, the title and `top-1` or `top-5`. The results, by title, are
    for one baseline under the same corruptions.

    Args:
        levels: results by title.
        relative: whether to show changes relative to the baseline's accuracy (the default) or accuracies, the
            baseline's first.
        baseline: title of the baseline, "baseline" by default.

    Raises:
        InputError: no levels, or levels with different corruptions.

    Example:
        >>> before = {("fog", 1): Predictions.from_top1([0, 1], [0, 1])}
        >>> after = {("fog", 1): Predictions.from_top1([0, 1], [0, 0])}
        >>> robustness_table({"90 %": robustness(before, after)})["90 %"]
                         top-1
        corruption
        fog              -50.0
        all corruptions  -50.0
    """
    require(bool(levels), "levels", dict(levels), "one or more titles, each with its Robustness")
    first = list(next(iter(levels.values())).corruptions["corruption"].unique())
    parts = {}
    for title, level in levels.items():
        names = list(level.corruptions["corruption"].unique())
        if names != first:
            got = f"{title} with the corruptions {listed(names)}"
            raise InputError("levels", got, f"{listed(first)} for all")
        rows = level.changes().assign(rank=lambda rows: "top-" + rows["k"].astype(str))
        wide = 100 * rows.pivot(index="corruption", columns="rank").loc[[*names, OVERALL]]
        if relative:
            parts[title] = wide["relative_change"]
        else:
            parts |= {baseline: wide["accuracy_before"], title: wide["accuracy_after"]}
    return pd.concat(parts, axis=1, names=[None, None])


def _notes(rates: ConditionRates) -> tuple[str, ...]:
    sides = [side[: len(rates.conditions)] for side in rates.sides]
    counts = [sorted({len(evaluation.members) for evaluation in side}) for side in sides]
    single = counts == [[1], [1]]
    ends = (dict.fromkeys((sizes[0], sizes[-1])) for sizes in counts)
    sizes = " against ".join("–".join(map(str, pair)) for pair in ends)
    before, after = map(set, rates.members)
    # Without clean images, these come from the last condition and get no remark.
    last = [len(side[-1].members) for side in rates.sides]
    more = any(number > numbers[-1] for number, numbers in zip(last, counts, strict=True))
    other_images = rates.has_clean and len(rates.flips) < len(rates.conditions)
    few = [
        name
        for name, columns in rates.corruptions.items()
        if too_few_predictions(rates, columns, k=1)
    ]
    notes = {
        "One model against one: the tests are over the images, about these two models, not about training.": single,
        f"No test with a single member: {sizes} members; it needs two or more on both sides.": (
            min(map(min, counts)) < 2 and not single
        ),
        "Conditions have different members; a mean is over the members that have all of its conditions.": (
            max(map(len, counts)) > 1
        ),
        "Members without a partner in the other population do not count.": (
            rates.paired and before != after
        ),
        "No mean over corruptions and no mCE: none of the sets has severities.": not rates.graded,
        f"No mCE: a model has fewer than {LEAST_PREDICTIONS} right or wrong predictions under {listed(few)}.": bool(
            few
        ),
        f"Exemplars on clean images are found with all {' and '.join(map(str, dict.fromkeys(last)))} members, "
        "majority predictions under corruption only with the members evaluated there.": more,
        "Sets that show other images than the clean ones have no exemplars to compare with.": other_images,
    }
    return tuple(note for note, applies in notes.items() if applies)
