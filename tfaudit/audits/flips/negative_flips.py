"""Negative flips: images that are right before compression and wrong after, model by model, class by class."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import CANNOT_TELL, empty_class_notes
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result, in_points
from tfaudit.predictions import Predictions
from tfaudit.stats.change_intervals import Change
from tfaudit.stats.flips import excess_negative_flips, flips_between_members, negative_flips
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import ratio

ALL = "all examples"
MORE, FEWER = "more than average", "fewer than average"


@dataclasses.dataclass(frozen=True)
class NegativeFlips(Result):
    """Rates of negative flips of all images and of each class, with intervals over images and members.

    Attributes:
        table: one row for all images, then one per class; see `frame`.
        members: numbers of members of the baseline and of the compressed population.
        pairs: number of pairs of members; 0 if the populations are independent.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    members: tuple[int, int]
    pairs: int
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row for all images, then one per class.

        Columns: `class`; `examples`; `negative_share`, the mean share of images that are right before and wrong after,
        with `negative_low` and `negative_high`; `positive_share`, the share wrong before and right after;
        `retrained_share`, the negative flips between two members of the baseline; for independent populations the
        excess over this share: `excess_pp`, `excess_low_pp`, `excess_high_pp`, `excess_p` and `excess_p_holm` (NaN for
        pairs, which have no such noise); the difference of the class from all images: `relative_pp`, `relative_low_pp`,
        `relative_high_pp`, `relative_p`, `relative_p_holm` and `verdict` (more than average, fewer than average, cannot
        tell). Corrections are Holm's for the number of classes.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the rates over all images, the class with the highest rate, and how many flip more than average."""
        whole = self.table.iloc[0]
        classes = self.table.iloc[1:].dropna(subset=["negative_share"])
        worst = None if classes.empty else classes.iloc[int(classes["negative_share"].argmax())]
        figures = ["negative_share", "negative_low", "negative_high"]
        figures += ["positive_share", "retrained_share", "excess_pp", "excess_p"]
        return {
            **{name: float(whole[name]) for name in figures},
            "more_than_average": int((self.table["verdict"] == MORE).sum()),
            "worst_class": None if worst is None else worst["class"],
            "worst_share": float("nan") if worst is None else float(worst["negative_share"]),
        }

    def chart(self) -> Drawing:
        """Draw the rate of every class with its interval; the dashed line is the rate over all images."""
        from tfaudit.audits.flips.chart import flips_chart

        return flips_chart(self.table)


def flip_rates(
    baseline: Predictions,
    compressed: Predictions,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> NegativeFlips:
    """Measure how often a model is wrong where the model that it replaces was right.

    The rate is a mean over pairs of models, one before and one after: over the pairs of members if the populations are
    paired, otherwise over all combinations. Two models trained alike differ, too: see `retrained_share`.

    Args:
        baseline: the uncompressed model or population.
        compressed: the compressed one, on the same examples.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: different examples, no pairs, or a level outside (0, 1).

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 0]])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [[0, 1, 1, 1], [0, 1, 1, 0]])
        >>> flip_rates(before, after).frame()[["class", "negative_share", "positive_share", "retrained_share"]]
                  class  negative_share  positive_share  retrained_share
        0  all examples          0.3125          0.0625            0.125
        1             0          0.5000          0.0000            0.000
        2             1          0.1250          0.1250            0.250
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    names = baseline.class_names
    labels = baseline.labels
    notes = (*comparison.notes, *empty_class_notes(names, comparison.class_examples))
    whole = _rows(comparison, np.zeros_like(labels), (ALL,)).assign(verdict="")
    whole.loc[:, whole.columns.str.startswith("relative_")] = np.nan
    table = pd.concat([whole, _rows(comparison, labels, names)], ignore_index=True)
    return NegativeFlips(table, comparison.members, comparison.pairs, alpha, notes)


def _rows(comparison: Comparison, groups: np.ndarray, names: tuple[str, ...]) -> pd.DataFrame:
    before = comparison.before
    after = comparison.after
    alpha = comparison.alpha
    paired = bool(comparison.pairs)
    count = len(names)
    everywhere = np.bincount(groups, minlength=count)
    clusters = comparison.clusters
    flips = negative_flips(before, after, groups, count, paired=paired, clusters=clusters)
    positive = negative_flips(after, before, groups, count, paired=paired).absolute.value
    excess = Change.without_error(np.full(count, np.nan))
    if not paired and min(comparison.members) > 1:
        excess = excess_negative_flips(before, after, groups, count, clusters=clusters)
    low, high = comparison.share_interval(flips.absolute, everywhere)
    relative_p = adjust(flips.relative.p(), "holm")
    directions = np.where(flips.relative.value > 0, MORE, FEWER)
    return pd.DataFrame(
        {
            "class": names,
            "examples": everywhere,
            "negative_share": flips.absolute.value,
            "negative_low": low,
            "negative_high": high,
            "positive_share": positive,
            "retrained_share": ratio(
                np.bincount(groups, flips_between_members(before), count), everywhere
            ),
            **_columns("excess", excess, alpha),
            **_columns("relative", flips.relative, alpha),
            "verdict": np.where(relative_p <= alpha, directions, CANNOT_TELL),
        }
    )


def _columns(name: str, change: Change, alpha: float) -> dict[str, np.ndarray]:
    low, high = change.interval(1 - alpha, most=1)
    return {
        **in_points(name, change.value, low, high),
        f"{name}_p": change.p(),
        f"{name}_p_holm": adjust(change.p(), "holm"),
    }
