"""Predictions in which several classes share the best score: `argmax` compared with their expectation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from tfaudit.audits.comparison import Comparison, OutcomeComparison
from tfaudit.runtime.names import class_in_words
from tfaudit.stats.ratios import member_mean

ADVISED = 0.1
"""Share of the changed predictions above which ties are worth removing."""

EXPLAINED = (
    "A tie counts as the mean over its classes, as if settled at random; the deployed argmax takes the class with the "
    "lowest number."
)
ADVICE = (
    "An int8 file whose last layer stays in float hardly has any ties: "
    '`tfaudit.quantize(model, "int8", float_layers="last", ...)`.'
)


@dataclasses.dataclass(frozen=True)
class TieReading:
    """The predictions that tie, and the figures of the deployed `argmax`, which takes the class of the lowest number.

    Numbers of predictions are means over the members, or over the pairs of a member before and one after.

    Attributes:
        class_names: names of the C classes.
        examples: N.
        tied_before, tied_after: predictions in which classes tie.
        flips: predictions that change, ties at their expectation.
        tied_flips: the part of them in which classes tie before or after.
        argmax_flips, argmax_tied_flips: the same by `argmax`.
        accuracy_before, accuracy_after: top-1 accuracies of `argmax`, shares.
        argmax_change_pp: `(C,)` changes of recall by `argmax`, percentage points; NaN for a class without examples.
        change_pp: `(C,)` the same with ties at their expectation.
    """

    class_names: tuple[str, ...]
    examples: int
    tied_before: float
    tied_after: float
    flips: float
    tied_flips: float
    argmax_flips: float
    argmax_tied_flips: float
    accuracy_before: float
    accuracy_after: float
    argmax_change_pp: np.ndarray
    change_pp: np.ndarray

    def summary(self) -> dict[str, Any]:
        """Return the numbers, and the class that loses most by `argmax`."""
        worst = int(np.nanargmin(self.argmax_change_pp))
        return {
            "tied_before": self.tied_before,
            "tied_after": self.tied_after,
            "tied_flips": self.tied_flips,
            "argmax_flips": self.argmax_flips,
            "argmax_tied_flips": self.argmax_tied_flips,
            "argmax_accuracy_before": self.accuracy_before,
            "argmax_accuracy_after": self.accuracy_after,
            "argmax_worst_class": self.class_names[worst],
            "argmax_worst_change_pp": float(self.argmax_change_pp[worst]),
        }

    def sentences(self) -> tuple[str, ...]:
        """Return the figures, then what ties mean, and advice if they are many of the changes; nothing without ties."""
        if not self.tied_before + self.tied_after:
            return ()
        counts = f"{count_text(self.tied_after)} of {self.examples:,} predictions after compression"
        before = f" ({count_text(self.tied_before)} before)"
        shift = np.abs(self.argmax_change_pp - self.change_pp)
        most = int(np.nanargmax(shift))
        change = 100 * (self.accuracy_after - self.accuracy_before)
        figures = (
            f"Several classes share exactly the best score in {counts}{before}: by argmax accuracy changes by "
            f"{change:+.2f} points, and recall of {class_in_words(self.class_names[most])} by "
            f"{self.argmax_change_pp[most]:+.2f} instead of {self.change_pp[most]:+.2f}."
        )
        if self.tied_flips <= ADVISED * self.flips:
            return figures, EXPLAINED
        share = f"{100 * self.tied_flips / self.flips:.0f} %"
        figures += f" Ties are {share} of the {count_text(self.flips)} changed predictions."
        return figures, EXPLAINED, ADVICE


class WithTies(Protocol):
    """A result with notes, some of which are sentences on its ties."""

    @property
    def ties(self) -> TieReading:
        """The ties."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats for the reader."""


def joined_notes(results: Mapping[str, WithTies]) -> list[str]:
    """Return the notes of several results, each once; if there are several, figures on ties name their result.

    Example:
        >>> joined_notes({})
        []
    """
    notes = []
    for title, result in results.items():
        own = {*result.ties.sentences()} - {EXPLAINED, ADVICE} if len(results) > 1 else ()
        notes += [f"{title}: {note}" if note in own else note for note in result.notes]
    return list(dict.fromkeys(notes))


def no_ties(comparison: OutcomeComparison) -> TieReading:
    """Return the reading of outcomes, which have no classes that could tie."""
    before, after = (float(side.mean()) for side in (comparison.before, comparison.after))
    change = np.array([100 * (after - before)])
    return TieReading(
        class_names=("all examples",),
        examples=comparison.baseline.num_examples,
        tied_before=0.0,
        tied_after=0.0,
        flips=math.nan,
        tied_flips=0.0,
        argmax_flips=math.nan,
        argmax_tied_flips=0.0,
        accuracy_before=before,
        accuracy_after=after,
        argmax_change_pp=change,
        change_pp=change,
    )


def tie_reading(comparison: Comparison) -> TieReading:
    """Count the predictions that tie, and read all predictions as `argmax` does.

    Flips are counted between the members of a pair, or without pairs between all members of both populations.

    Example:
        >>> from tfaudit import Predictions
        >>> before = Predictions.from_scores([0, 1], [[0.9, 0.1], [0.2, 0.8]])
        >>> after = Predictions.from_scores([0, 1], [[0.9, 0.1], [0.5, 0.5]])
        >>> reading = tie_reading(Comparison(before, after))
        >>> reading.tied_after, reading.tied_flips, reading.argmax_change_pp, reading.change_pp
        (1.0, 0.5, array([   0., -100.]), array([  0., -50.]))
    """
    baseline = comparison.baseline
    compressed = comparison.compressed
    settled = baseline.by_argmax(), compressed.by_argmax()
    flips, tied_flips, argmax_flips, argmax_tied_flips = _flips(comparison)
    return TieReading(
        class_names=baseline.class_names,
        examples=baseline.num_examples,
        tied_before=float(baseline.tied().mean()),
        tied_after=float(compressed.tied().mean()),
        flips=flips,
        tied_flips=tied_flips,
        argmax_flips=argmax_flips,
        argmax_tied_flips=argmax_tied_flips,
        accuracy_before=float(member_mean(settled[0].accuracy())),
        accuracy_after=float(member_mean(settled[1].accuracy())),
        argmax_change_pp=100
        * (member_mean(settled[1].recall()) - member_mean(settled[0].recall())),
        change_pp=100 * (member_mean(compressed.recall()) - member_mean(baseline.recall())),
    )


def _flips(comparison: Comparison) -> list[float]:
    """Return the mean numbers of changed predictions and of those in which classes tie, then both by `argmax`."""
    baseline = comparison.baseline
    compressed = comparison.compressed
    counts = []
    for i, j in zip(*comparison.compared, strict=True):
        by_argmax = baseline.top1[i] != compressed.top1[j]
        if baseline.ties or compressed.ties:
            before, after = baseline.best(i), compressed.best(j)
            changed = 1 - before.agreement(after)
            either = np.union1d(before.ties.rows, after.ties.rows)
            parts = changed, changed[either], by_argmax, by_argmax[either]
            counts.append([float(part.sum()) for part in parts])
        else:  # both readings agree, and counting is faster
            differ = float(np.count_nonzero(by_argmax))
            counts.append([differ, 0.0, differ, 0.0])
    return [float(mean) for mean in np.mean(counts, axis=0)]


def count_text(count: float) -> str:
    """Return a number of predictions as text, with one decimal if it is not whole, as means and expectations may be.

    Example:
        >>> count_text(12.0), count_text(1234.56)
        ('12', '1,234.6')
    """
    return f"{count:,.1f}".removesuffix(".0")
