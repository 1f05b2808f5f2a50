"""What compression does to robustness: [F] 4 and D."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.audit.corruption.accuracies import OVERALL, clean_table, corruption_table, overall_table, severity_table
from tfaudit.audit.corruption.class_changes import class_cells
from tfaudit.audit.corruption.condition_means import MCNEMAR, WELCH
from tfaudit.audit.corruption.exemplar_flips import flip_table
from tfaudit.audit.corruption.observations import Observed, Pair, observe
from tfaudit.errors import InputError, listed, require
from tfaudit.predictions import Predictions

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

__all__ = ["Robustness", "robustness", "robustness_table"]


@dataclasses.dataclass(frozen=True)
class Robustness:
    """A baseline and a compressed population under corruption.

    Attributes:
        conditions: pairs of corruption and severity, in order.
        corruptions: one row per k and corruption; see `frame`.
        overall: one row per k, the mean over all corruptions that have severities; columns as `frame`, and without
            adjusted p-values. Its corruption error is the mCE, its relative one the relative mCE.
        clean: one row per k, the change on clean images: columns of `frame` from `k` to `p`; no row without them.
        severities: one row per k and condition; see `severity_frame`.
        classes: one row per corruption and class; see `class_frame`.
        flips: one row per condition on the clean images; see `flip_frame`.
        lost_first: by corruption, `(N,)` at how many severities the compressed population alone loses an example that
            both get right when clean; no entry where other images than the clean ones are shown.
        alpha: level of the tests.
        notes: what a reader has to know, one sentence each.
    """

    conditions: tuple[Pair, ...]
    corruptions: pd.DataFrame
    overall: pd.DataFrame
    clean: pd.DataFrame
    severities: pd.DataFrame
    classes: pd.DataFrame
    flips: pd.DataFrame
    lost_first: Mapping[str, np.ndarray]
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """[F] table 3: one row per k (1, and 5 where five ranks are stored) and corruption, the mean over severities.

        Columns: `corruption`; `k`; `severities`, how many; `members_before`, `members_after`; `accuracy_before`,
        `accuracy_after`, shares; `difference_pp` with `low_pp`, `high_pp`; `relative_change`, the difference as a share
        of the accuracy before, with `relative_low`, `relative_high`, the ends of the difference's interval as such
        shares; of one model against one `lost` and `won`, images that are right less or more often; `test`, `p`,
        `p_holm`, `p_bh` over the corruptions; `corruption_error`, errors after as a share of those before (CE, 1 for
        the baseline) with `corruption_error_low`, `corruption_error_high`; `relative_corruption_error`, the loss from
        clean to corrupted images as a share of the baseline's; `excess_pp`, by how much the change exceeds that on
        clean images (below 0: compression costs more under corruption), with `excess_low_pp`, `excess_high_pp`,
        `excess_p`, `excess_p_holm`, `excess_p_bh`. NaN where something is not known.
        """
        return self.corruptions.copy()

    def severity_frame(self) -> pd.DataFrame:
        """One row per k, corruption and severity.

        Columns of `frame` from `members_before` to `p_bh`, and `severity`, `examples`, and of the two accuracies
        `before_low`, `before_high`, `after_low`, `after_high`, intervals over the members.
        """
        return self.severities.copy()

    def class_frame(self) -> pd.DataFrame:
        """One row per corruption and class, means over severities.

        Columns: `corruption`, `class`, `examples` (of one severity), `recall_before`, `recall_after`, `difference_pp`,
        `normalised_pp` (what is left of it after the change of the accuracy under that corruption) with `low_pp`,
        `high_pp`; `clean_normalised_pp`, the same on clean images; `test`, `p`, `p_holm` and `p_bh` over all rows,
        `direction`: harmed, favoured or no evidence (p > alpha, uncorrected).
        """
        return self.classes.copy()

    @property
    def tested_change(self) -> str:
        """Name of the tested column of `class_frame`: the normalised change, or for single models the change itself."""
        return "difference_pp" if (self.classes["test"] == MCNEMAR).any() else "normalised_pp"

    def changes(self, severity: int | None = None) -> pd.DataFrame:
        """Return one row per k and corruption, and their mean; of one severity the rows of `severity_frame`."""
        if severity is None:
            return pd.concat([self.corruptions, self.overall])
        return self.severities[self.severities["severity"] == severity]

    def curves(self) -> pd.DataFrame:
        """Return the rows of `severity_frame` that have a severity, and for each corruption the clean images as 0."""
        rows = self.severities[self.severities["severity"] > 0]
        clean = rows[["k", "corruption"]].drop_duplicates().merge(self.clean.assign(severity=0), on="k")
        return pd.concat([clean, rows] if len(clean) else [rows])

    def flip_frame(self) -> pd.DataFrame:
        """Clean exemplars among the examples that flip under corruption; columns as `flip_table` tells."""
        return self.flips.copy()

    def summary(self) -> dict[str, Any]:
        """The mean over the corruptions (top-1), counts of corruptions and cells, the corruption that costs most."""
        top1 = self.corruptions[self.corruptions["k"] == 1]
        whole = self.overall[self.overall["k"] == 1].to_dict("records")[0]
        whole_clean = next(iter(self.clean[self.clean["k"] == 1].to_dict("records")), {})
        worst = top1.dropna(subset=["relative_change"]).nsmallest(1, "relative_change").to_dict("records")
        return {
            "corruptions": len(top1),
            "conditions": len(self.conditions),
            **{name: whole[name] for name in _WHOLE},
            **{f"clean_{name}": whole_clean.get(name, float("nan")) for name in ("difference_pp", "relative_change")},
            "mce": whole["corruption_error"],
            "mce_low": whole["corruption_error_low"],
            "mce_high": whole["corruption_error_high"],
            "relative_mce": whole["relative_corruption_error"],
            "significant": int((top1["p"] <= self.alpha).sum()),
            "significant_holm": int((top1["p_holm"] <= self.alpha).sum()),
            "worse_than_clean_holm": int(((top1["excess_p_holm"] <= self.alpha) & (top1["excess_pp"] < 0)).sum()),
            "most_sensitive": worst[0]["corruption"] if worst else None,
            "most_sensitive_relative_change": worst[0]["relative_change"] if worst else float("nan"),
            "cells": int(self.classes["p"].notna().sum()),
            "expected_by_chance": self.alpha * int(self.classes["p"].notna().sum()),
            **{f"cells_{name}": int((self.classes["direction"] == name).sum()) for name in ("harmed", "favoured")},
            "cells_significant_holm": int((self.classes["p_holm"] <= self.alpha).sum()),
            "cells_significant_bh": int((self.classes["p_bh"] <= self.alpha).sum()),
        }

    def chart(self) -> Drawing:
        """[F] figures 4 and 7: relative change of accuracy per corruption, with intervals."""
        from tfaudit.charts.corruptions import relative_change_chart

        return relative_change_chart({"compressed": self.changes()})

    def severity_chart(self) -> Drawing:
        """Accuracy over severity, a panel per corruption."""
        from tfaudit.charts.corruptions import severity_chart

        return severity_chart({"compressed": self.curves()})

    def class_chart(self) -> Drawing:
        """Heat map of the normalised change of recall, class by corruption."""
        from tfaudit.charts.class_corruptions import class_corruption_chart

        return class_corruption_chart(self.classes, self.alpha, change=self.tested_change)


_WHOLE = (
    "accuracy_before",
    "accuracy_after",
    "difference_pp",
    "low_pp",
    "high_pp",
    "p",
    "relative_change",
    "excess_pp",
    "excess_low_pp",
    "excess_high_pp",
    "excess_p",
)


def robustness(
    baseline: Mapping[Pair, Predictions],
    compressed: Mapping[Pair, Predictions],
    *,
    clean: tuple[Predictions, Predictions] | None = None,
    paired: bool = False,
    alpha: float = 0.05,
) -> Robustness:
    """Asks whether compression costs accuracy under corruption, to whom, and more than it costs on clean images.

    Accuracies are averaged over the severities of each member, then over members ([F] 4). Two members or more on both
    sides: Welch's t-tests between members, or paired ones. One model against one: tests over the images, as
    `condition_means.change` tells. A member counts in a mean where it was evaluated under all of its
    conditions. Corruption errors are those of Hendrycks and Dietterich (2019), with the mean errors of the baseline in
    the place of AlexNet's.

    Args:
        baseline: predictions of the uncompressed population by corruption and severity, 1 to 5, or 0 for a set that
            has none, such as ImageNet-A. Each is asked for once, so that a mapping may read them from files.
        compressed: those of the compressed population under the same conditions.
        clean: baseline and compressed population on clean images, of the same members; without them nothing is said
            about the excess over the clean change, or about exemplars.
        paired: are compressed members made from the baseline's members of the same names, as quantized ones are? Then
            only pairs count, in the means, too.
        alpha: level of the tests; intervals are at 1 - alpha.

    Raises:
        InputError: no conditions, other conditions or examples on one side, other classes under one condition, or a
            level outside (0, 1).

    Example:
        >>> labels = [0, 0, 1, 1]
        >>> before = {("fog", s): Predictions.from_top1(labels, [[0, 0, 1, 1], [0, 0, 1, 0]]) for s in (1, 2)}
        >>> after = {("fog", s): Predictions.from_top1(labels, [[0, 1, 1, 0], [0, 1, 1, 1]]) for s in (1, 2)}
        >>> found = robustness(before, after)
        >>> found.frame()[["corruption", "accuracy_before", "accuracy_after", "relative_change"]].round(3)
          corruption  accuracy_before  accuracy_after  relative_change
        0        fog            0.875           0.625           -0.286
        >>> found.summary()["mce"]
        3.0
    """
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    observed = observe(baseline, compressed, clean, paired=paired)
    return Robustness(
        conditions=observed.conditions,
        corruptions=corruption_table(observed, alpha=alpha),
        overall=overall_table(observed, alpha=alpha),
        clean=clean_table(observed, alpha=alpha),
        severities=severity_table(observed, alpha=alpha),
        classes=class_cells(observed, alpha=alpha),
        flips=flip_table(observed.flips, alpha),
        lost_first=observed.lost_first,
        alpha=alpha,
        notes=tuple(_notes(observed)),
    )


def robustness_table(levels: Mapping[str, Robustness]) -> pd.DataFrame:
    """[F] table 3 with a column per level: relative change in percent, by corruption, and last the mean over all.

    Args:
        levels: results by title, of one baseline under the same corruptions.

    Returns:
        Rows by corruption; columns in two ranks, the title and `top-1` or `top-5`.

    Raises:
        InputError: no levels, or levels of other corruptions.

    Example:
        >>> before = {("fog", 1): Predictions.from_top1([0, 1], [0, 1])}
        >>> after = {("fog", 1): Predictions.from_top1([0, 1], [0, 0])}
        >>> robustness_table({"90 %": robustness(before, after)})["90 %"]
                         top-1
        corruption
        fog              -50.0
        all corruptions  -50.0
    """
    require(bool(levels), "levels", dict(levels), "one title and Robustness or more")
    parts, rows = {}, None
    for title, found in levels.items():
        names = list(dict.fromkeys(found.corruptions["corruption"]))
        if rows not in (None, names):
            raise InputError(f"levels: {title} has the corruptions {listed(names)}; all must have {listed(rows or [])}")
        rows = names
        both = pd.concat([found.corruptions, found.overall], ignore_index=True)
        wide = both.pivot(index="corruption", columns="k", values="relative_change")
        parts[title] = 100 * wide.loc[[*names, OVERALL]].rename(columns=lambda k: f"top-{k}").rename_axis(columns=None)
    return pd.concat(parts, axis=1)


def _notes(observed: Observed) -> list[str]:
    notes = []
    counts = [sorted(set(side.counts)) for side in (observed.before, observed.after)]
    if observed.single:
        notes.append(
            "One model against one: the tests are over the images, about these two models, not about training anew."
        )
    elif min(map(min, counts)) < 2:
        sizes = " against ".join("–".join(map(str, dict.fromkeys((each[0], each[-1])))) for each in counts)
        notes.append(f"No test where one side has a single member: {sizes} members; {WELCH}'s test needs two or more.")
    if any(len(each) > 1 for each in counts):
        notes.append("Conditions have different members; a mean is over the members that have all of its conditions.")
    if observed.paired and set(observed.before.members) != set(observed.after.members):
        notes.append("Members without a partner on the other side do not count.")
    if not observed.graded:
        notes.append("No mean over corruptions and no mCE: none of the sets has severities.")
    if observed.clean:
        clean = [side.clean_members for side in (observed.before, observed.after)]
        if any(most > max(each) for most, each in zip(clean, counts, strict=True)):
            notes.append(
                f"Exemplars on clean images are those of all {' and '.join(map(str, dict.fromkeys(clean)))} members; "
                "the modal answers under corruption are of the members evaluated there."
            )
        if len(observed.flips) < len(observed.conditions):
            notes.append("Sets that show other images than the clean ones have no exemplars to compare with.")
    return notes
