"""Calibration shift: how compression changes the confidence of predictions, and whether it still matches accuracy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import CANNOT_TELL, empty_class_notes, verdict_counts
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result, in_points
from tfaudit.errors import InputError, require_least
from tfaudit.extensions.calibration.reliability import (
    BINS,
    brier_scores,
    log_losses,
    mass_bins,
    squared_gaps,
)
from tfaudit.predictions import Predictions
from tfaudit.stats.change_intervals import Change
from tfaudit.stats.changes import group_changes, mean_change
from tfaudit.stats.group_codes import group_means
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import ratio

HIGHER, LOWER = "higher", "lower"
MORE, LESS = "more overconfident", "less overconfident"


@dataclasses.dataclass(frozen=True)
class Calibration(Result):
    """Shifts of confidence and of its match with accuracy.

    Attributes:
        measures: one row per measure; see `frame`.
        classes: one row per class; see `class_frame`.
        curves: the reliability diagram, one row per side and bin: `when`, `bin`, `predictions`, mean `confidence` and
            `accuracy` over members, `range_low` and `range_high`, the lowest and the highest confidence in the bin.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    measures: pd.DataFrame
    classes: pd.DataFrame
    curves: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per measure, means over the members: [G].

        Columns: `measure`; `before`, `after`; `change` with `change_low`, `change_high` over images and members;
        `change_p`; `change_p_holm`, corrected for the number of measures; `verdict` (higher, lower, cannot tell).

        The measures are: confidence, the probability of the predicted class, also of right and of wrong predictions
        alone; overconfidence, confidence minus accuracy; margin, the probability of the first minus that of the second
        class; the squared calibration error without its bias [Ku]; and, if the probabilities of all classes are stored,
        the Brier score and the negative log-likelihood in nats. The change of the expected calibration error is not
        among them: on finite data it is biased.
        """
        return self.measures.copy()

    def class_frame(self) -> pd.DataFrame:
        """Return one row per true class.

        Columns: `class`, `examples`, `confidence_before`, `confidence_after`, `overconfidence_before_pp`,
        `overconfidence_after_pp`; the change of overconfidence, `change_pp`, with `change_low_pp`, `change_high_pp`,
        `change_p`, `change_p_holm`; `verdict` (more overconfident, less overconfident, cannot tell) after Holm's
        correction.
        """
        return self.classes.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables beside `frame`, by title."""
        return {"Confidence by true class": self.class_frame()}

    def summary(self) -> dict[str, Any]:
        """Return the measures before and after with the changes, and counts of classes by verdict."""
        return {
            **{
                f"{row['measure'].replace(' ', '_')}_{column}": float(row[column])
                for row in self.measures.to_dict("records")
                for column in ("before", "after", "change_p_holm")
            },
            **verdict_counts(self.classes["verdict"], MORE, LESS),
        }

    def chart(self) -> Drawing:
        """Draw the reliability diagram: accuracy over confidence, before and after."""
        from tfaudit.extensions.calibration.chart import reliability_chart

        return reliability_chart(self.curves)


def calibration(
    baseline: Predictions,
    compressed: Predictions,
    *,
    bins: int = BINS,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Calibration:
    """Compare the confidence of predictions before and after compression, and how well it matches accuracy: [G].

    Intervals are over images and members. The confidences of right and of wrong predictions and the squared calibration
    error are not means over images; their intervals are those of their linear parts, at the observed bins.

    Args:
        baseline: the uncompressed model or population, with probabilities.
        compressed: the compressed one, on the same examples, with probabilities.
        bins: number of bins of equal mass for the squared calibration error and the reliability diagram, 15 by default.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: different examples, no probabilities, no pairs, or a level outside (0, 1).

    Example:
        >>> before = Predictions.from_scores([0, 1], [[0.75, 0.25], [0.25, 0.75]])
        >>> after = Predictions.from_scores([0, 1], [[1.0, 0.0], [1.0, 0.0]])
        >>> calibration(before, after, bins=1).frame()[["measure", "before", "after"]].round(3).head(5)
                           measure  before  after
        0               confidence    0.75    1.0
        1   confidence where right    0.75    1.0
        2   confidence where wrong     NaN    1.0
        3           overconfidence   -0.25    0.5
        4                   margin    0.50    1.0
    """
    require_least(1, bins=bins)
    comparison = Comparison(baseline, compressed, paired, alpha)
    for name, population in (("baseline", baseline), ("compressed", compressed)):
        if not population.has_probabilities:
            expected = "probabilities of the ranked classes"
            raise InputError(name, "predictions without probabilities", expected)
    before, after = comparison.rows
    sides = _Side(baseline, before, bins), _Side(compressed, after, bins)
    notes = [*comparison.notes, *empty_class_notes(baseline.class_names, comparison.class_examples)]
    ranks = min(population.ranked.shape[2] for population in (baseline, compressed))
    complete = ranks == baseline.num_classes
    if not complete:
        notes.append(
            f"No Brier score and no log-likelihood: only {ranks} of {baseline.num_classes} classes are stored; "
            f"a study with `top_k={baseline.num_classes}` stores all."
        )
    names = [
        name
        for name in _MEASURES
        if (complete or name not in _OF_ALL_CLASSES) and (ranks > 1 or name != MARGIN)
    ]
    return Calibration(
        measures=_measures(comparison, sides, names),
        classes=_classes(comparison, sides),
        curves=pd.concat(
            [_curve(sides[0], "before"), _curve(sides[1], "after")], ignore_index=True
        ),
        alpha=alpha,
        notes=tuple(notes),
    )


class _Side:
    """Predictions of the compared members on one side, before or after.

    Only confidences and bins are in memory; all probabilities of a member are read when they are used.
    """

    def __init__(self, population: Predictions, rows: np.ndarray | slice, bins: int) -> None:
        self.population = population
        self.members = np.arange(population.num_members)[rows]
        self._confidence = [
            np.ascontiguousarray(population.member_probabilities(i)[:, 0]) for i in self.members
        ]
        # Probabilities are known to six digits: equal ones must share a bin however their sums were rounded.
        self.bin_of = [
            mass_bins(row.astype(float).round(6), bins).astype(np.min_scalar_type(bins))
            for row in self._confidence
        ]

    def rows(self, make: Callable[[int], np.ndarray]) -> Rows:
        """Return values `(K, N)` from a function of the position of a compared member."""
        return Rows(len(self.members), make)

    def confidence(self, k: int) -> np.ndarray:
        """Return the probabilities of the predicted classes, `(N,)`."""
        return self._confidence[k].astype(float)

    def right(self, k: int) -> np.ndarray:
        """Return whether a member is right, `(N,)` in [0, 1]."""
        return self.population.right()[self.members[k]].astype(float)

    def excess(self, k: int) -> np.ndarray:
        """Return confidence minus correctness, `(N,)`."""
        return self.confidence(k) - self.right(k)

    def margin(self, k: int) -> np.ndarray:
        """Return by how much the probability of the first class exceeds that of the second, `(N,)`."""
        probabilities = self.population.member_probabilities(self.members[k])
        return self.confidence(k) - probabilities[:, 1]

    def among(self, chosen: Callable[[int], np.ndarray]) -> Rows:
        """Return the linear part of the mean confidence of the chosen predictions: `(K, N)` with that mean."""
        members = range(len(self.members))
        share = np.mean([chosen(k).mean() for k in members])
        mean = np.nan
        if share:
            mean = np.mean([(self.confidence(k) * chosen(k)).mean() for k in members]) / share
        scale = share or np.nan
        return self.rows(lambda k: mean + chosen(k) * (self.confidence(k) - mean) / scale)

    def squared_gap(self, k: int) -> np.ndarray:
        """Return `(N,)` numbers whose mean is the squared calibration error."""
        return squared_gaps(self.confidence(k), self.right(k), self.bin_of[k])

    def score(self, of: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Rows:
        """Return a score of each prediction from the probabilities of all classes, `(K, N)`."""
        labels = self.population.labels

        def scores(k: int) -> np.ndarray:
            ranked = self.population.member(self.members[k])
            assert ranked.probabilities is not None
            return of(ranked.probabilities.astype(float), ranked.classes, labels)

        return self.rows(scores)


MARGIN = "margin"

_MEASURES: Mapping[str, Callable[[_Side], Rows]] = {
    "confidence": lambda side: side.rows(side.confidence),
    "confidence where right": lambda side: side.among(side.right),
    "confidence where wrong": lambda side: side.among(lambda k: 1 - side.right(k)),
    "overconfidence": lambda side: side.rows(side.excess),
    MARGIN: lambda side: side.rows(side.margin),
    "squared calibration error": lambda side: side.rows(side.squared_gap),
    "Brier score": lambda side: side.score(brier_scores),
    "negative log-likelihood": lambda side: side.score(log_losses),
}
"""Measures: `(K, N)` values whose mean is the measure, and whose variance is that of its linear part."""

_LARGEST_CHANGES = {"overconfidence": 2, "Brier score": 2, "negative log-likelihood": np.inf}
"""How far measures can change that are no shares."""

_OF_ALL_CLASSES = ("Brier score", "negative log-likelihood")


def _measures(comparison: Comparison, sides: tuple[_Side, _Side], names: list[str]) -> pd.DataFrame:
    alpha = comparison.alpha
    rows = []
    for name in names:
        before, after = (_MEASURES[name](side) for side in sides)
        means = before.mean().mean(), after.mean().mean()
        change = mean_change(
            before,
            after,
            paired=bool(comparison.pairs),
            clusters=comparison.clusters,
            continuous=True,
        )
        if not np.isfinite(change.value).all():
            change = Change.without_error(change.value)
        (low,), (high,) = change.interval(1 - alpha, most=_LARGEST_CHANGES.get(name, 1))
        rows.append((name, *means, change.value[0], low, high, change.p()[0]))
    frame = pd.DataFrame(
        rows,
        columns=["measure", "before", "after", "change", "change_low", "change_high", "change_p"],
    )
    adjusted = adjust(frame["change_p"].to_numpy(), "holm")
    verdict = _verdict(frame["change"].to_numpy(), adjusted, alpha, HIGHER, LOWER)
    return frame.assign(change_p_holm=adjusted, verdict=verdict)


def _classes(comparison: Comparison, sides: tuple[_Side, _Side]) -> pd.DataFrame:
    alpha = comparison.alpha
    baseline = comparison.baseline
    labels = baseline.labels
    count = baseline.num_classes
    confidence = [group_means(side.rows(side.confidence), labels, count).mean(0) for side in sides]
    excess = [side.rows(side.excess) for side in sides]
    of_classes = [group_means(values, labels, count).mean(0) for values in excess]
    change = group_changes(
        excess[0],
        excess[1],
        labels,
        count,
        paired=bool(comparison.pairs),
        clusters=comparison.clusters,
    ).absolute
    (low, high), p = change.interval(1 - alpha, most=_LARGEST_CHANGES["overconfidence"]), change.p()
    adjusted = adjust(p, "holm")
    return pd.DataFrame(
        {
            "class": baseline.class_names,
            "examples": np.bincount(labels, minlength=count),
            "confidence_before": confidence[0],
            "confidence_after": confidence[1],
            "overconfidence_before_pp": 100 * of_classes[0],
            "overconfidence_after_pp": 100 * of_classes[1],
            **in_points("change", change.value, low, high),
            "change_p": p,
            "change_p_holm": adjusted,
            "verdict": _verdict(change.value, adjusted, alpha, MORE, LESS),
        }
    )


def _verdict(
    change: np.ndarray, p: np.ndarray, alpha: float, higher: str, lower: str
) -> np.ndarray:
    return np.where(p <= alpha, np.where(change > 0, higher, lower), CANNOT_TELL)


def _curve(side: _Side, when: str) -> pd.DataFrame:
    """Return the means of each bin over the members; each member has its own bins."""
    count = 1 + max(int(bins.max()) for bins in side.bin_of)
    size, confidence, accuracy, high = np.zeros((4, count))
    low = np.ones(count)
    for k, bins in enumerate(side.bin_of):
        own = side.confidence(k)
        size += np.bincount(bins, minlength=count)
        confidence += np.bincount(bins, own, count)
        accuracy += np.bincount(bins, side.right(k), count)
        np.minimum.at(low, bins, own)
        np.maximum.at(high, bins, own)
    curve = pd.DataFrame(
        {
            "when": when,
            "bin": np.arange(count),
            "predictions": size.astype(int),
            "confidence": ratio(confidence, size),
            "accuracy": ratio(accuracy, size),
            "range_low": low,
            "range_high": high,
        }
    )
    return curve[curve["predictions"] > 0]
