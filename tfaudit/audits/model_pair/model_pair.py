"""One model against one: changes class by class and example by example, and whether chance explains them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import (
    CANNOT_TELL,
    CORRECTIONS,
    GAINED,
    LOST,
    MARGIN_PP,
    NO_CHANGE,
    change_columns,
    collapsed_classes,
    empty_class_notes,
    precision_columns,
    question_columns,
    small_class_notes,
    verdict_counts,
    worst_figures,
)
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.doubts import Doubt, doubts_of
from tfaudit.audits.result import Drawing, Result
from tfaudit.audits.ties import TieReading, tie_reading
from tfaudit.errors import InputError, number, require, require_one_of
from tfaudit.predictions import Predictions, require_predictions
from tfaudit.stats.change_intervals import GroupChanges
from tfaudit.stats.class_metrics import MetricChanges
from tfaudit.stats.contingency import (
    flip_counts,
    mcnemar,
    mcnemar_false_alarms,
)
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ranking import RankedClasses, surely_ranked
from tfaudit.stats.ratios import ratio

KINDS = np.array(["lost", "won", "other wrong"], object)


@dataclasses.dataclass(frozen=True)
class Overall:
    """The comparison over all examples of all classes. Shares are in [0, 1], NaN where their denominator is 0.

    Attributes:
        examples: N.
        accuracy_before, accuracy_after: top-1 accuracy of the two models.
        low, high: ends of the interval of the difference, at level 1 - alpha.
        p, p_mid: p-value of McNemar's exact test, and its mid-p value.
        lost, won: negative flips (right before, wrong after) and positive flips (wrong before, right after); a
            prediction in which classes tie counts by the part that random settlement loses or wins.
        other_wrong: number of examples that are wrong before, and wrong after with another class.
        btc: backward trust compatibility, the share of the baseline's right predictions that stay right.
        bec: backward error compatibility, the share of the baseline's wrong predictions that stay wrong.
        agreement: share of examples for which both predict the same class.
        top5_overlap: mean share of the five best classes that both models name, of int8 scores without those at the
            last stored score, which others may share; NaN if fewer than five are stored.
    """

    examples: int
    accuracy_before: float
    accuracy_after: float
    low: float
    high: float
    p: float
    p_mid: float
    lost: float
    won: float
    other_wrong: float
    btc: float
    bec: float
    agreement: float
    top5_overlap: float


@dataclasses.dataclass(frozen=True)
class PairComparison(Result):
    """Effects of one compressed model on the classes. Arrays are `(C,)`; recalls and differences are shares.

    Attributes:
        class_names, examples: the classes, and the number of test examples of each.
        recall_before, recall_after: recall of the two models; NaN for a class without examples.
        collapsed: whether recall is halved or near 0, as in `ClassImpact`.
        lost, won: numbers of negative and of positive flips; fractions if classes tie.
        p, p_mid: p-values of McNemar's exact test, and its mid-p values; 1 if nothing was lost or won, NaN for a class
            without examples. Clusters of images have p-values over the clusters, and no mid-p values.
        low, high: ends of the interval of recall_after - recall_before, at level 1 - alpha; see `paired_interval`.
        changes: change of recall over the images, absolute and relative to the change of the overall accuracy.
        precision: precision of the two models, and its change over the images.
        p_holm, p_bh: p-values adjusted after Holm, and after Benjamini and Hochberg.
        overall: the comparison over all examples, and the agreement of the two models.
        flips: one row per flipped example; see `flips_frame`.
        ties: predictions in which classes tie, and their effect under the deployed `argmax`.
        alpha: level of the tests.
        margin_pp: margin in percentage points; a change whose interval lies within it counts as none.
        doubts: what forbids a verdict on the two models.
        notes: caveats for the reader, one sentence each.
        other_p: p-values of the classes of other models, for which verdicts are corrected, too; none by default.
    """

    class_names: tuple[str, ...]
    examples: np.ndarray
    recall_before: np.ndarray
    recall_after: np.ndarray
    collapsed: np.ndarray
    lost: np.ndarray
    won: np.ndarray
    p: np.ndarray
    p_mid: np.ndarray
    low: np.ndarray
    high: np.ndarray
    changes: GroupChanges
    precision: MetricChanges
    p_holm: np.ndarray
    p_bh: np.ndarray
    overall: Overall
    flips: pd.DataFrame
    ties: TieReading
    alpha: float
    margin_pp: float
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    other_p: np.ndarray = dataclasses.field(default_factory=lambda: np.array([]))

    @property
    def tests(self) -> int:
        """Number of tests for which verdicts are corrected."""
        return int(np.isfinite(self.p).sum() + np.isfinite(self.other_p).sum())

    @property
    def difference(self) -> np.ndarray:
        """Recall after minus recall before."""
        return self.recall_after - self.recall_before

    def frame(self, correction: str = "holm") -> pd.DataFrame:
        """Return one row per class. Columns ending in `_pp` are percentage points; recalls are shares in [0, 1].

        Columns: `class`, `examples`, `recall_before`, `recall_after`, `lowest_recall` (equal to `recall_after`),
        `collapsed`, `lost` and `won` (images); the change of recall: `change_pp` with `change_low_pp`,
        `change_high_pp`, `change_p` (McNemar's exact test), `change_p_holm`, `change_p_bh`, `verdict` (lost recall,
        gained recall, no change, cannot tell) and `p_mid` (the mid-p value of that test); the change relative to that
        of the overall accuracy: the same columns with `relative_`, over the images, and `relative_verdict`;
        `precision_before`, `precision_after`, `precision_pp` (their difference) with `precision_low_pp`,
        `precision_high_pp`, `precision_p`.

        Args:
            correction: correction of the verdicts for the number of classes, of other models, too: "none", "holm" (the
                default) or "bh".
        """
        require_one_of("correction", correction, CORRECTIONS)
        absolute = question_columns(
            "change",
            self.difference,
            self.low,
            self.high,
            self.p,
            alpha=self.alpha,
            margin_pp=self.margin_pp,
            correction=correction,
            other_p=self.other_p,
        )
        relative = change_columns(self.changes, self.alpha, self.margin_pp, correction)
        columns = {
            "class": self.class_names,
            "examples": self.examples,
            "recall_before": self.recall_before,
            "recall_after": self.recall_after,
            "lowest_recall": self.recall_after,
            "collapsed": self.collapsed,
            "lost": self.lost,
            "won": self.won,
            **absolute,
            "p_mid": self.p_mid,
            **{name: values for name, values in relative.items() if name.startswith("relative_")},
            **precision_columns(self.precision, self.alpha),
        }
        return pd.DataFrame(columns)

    def flips_frame(self) -> pd.DataFrame:
        """Return one row per flipped example, on which the models predict different classes, in the examples' order.

        Columns: `index`, `example` (id), `label`, `before`, `after` (class names; several where they tie), `kind`
        (lost, won, other wrong), `share` (the probability that random settlement of ties changes the prediction, 1
        without a tie), and, if the predictions hold probabilities, `probability_before` and `probability_after`: each
        model's probability for its own prediction.
        """
        return self.flips.copy()

    def summary(self) -> dict[str, Any]:
        """Return the overall figures, counts of classes by verdict after Holm's correction, and the worst class.

        `significant` counts the classes with p <= alpha, uncorrected; `expected_by_chance` is the average number for
        McNemar's exact test if as many images change by chance alone. Figures that begin with `argmax_` are those of
        the deployed `argmax`; `tied_before`, `tied_after` and `tied_flips` count ties.
        """
        whole = self.overall
        frame = self.frame()
        return {
            "examples": whole.examples,
            "accuracy_before": whole.accuracy_before,
            "accuracy_after": whole.accuracy_after,
            "change_pp": 100 * (whole.won - whole.lost) / whole.examples,
            "change_low_pp": 100 * whole.low,
            "change_high_pp": 100 * whole.high,
            "change_p": whole.p,
            "p_mid": whole.p_mid,
            "flips": whole.lost + whole.won + whole.other_wrong,
            "negative_flips": whole.lost,
            "positive_flips": whole.won,
            "wrong_to_other_wrong": whole.other_wrong,
            "btc": whole.btc,
            "bec": whole.bec,
            "agreement": whole.agreement,
            "top5_overlap": whole.top5_overlap,
            "classes": len(self.class_names),
            "tested": int(np.isfinite(self.p).sum()),
            "significant": int((self.p <= self.alpha).sum()),
            "expected_by_chance": float(
                mcnemar_false_alarms(self.lost + self.won, self.alpha).sum()
            ),
            "significant_holm": int((self.p_holm <= self.alpha).sum()),
            "significant_bh": int((self.p_bh <= self.alpha).sum()),
            **verdict_counts(frame["verdict"], LOST, GAINED, NO_CHANGE, CANNOT_TELL),
            "collapsed": int(self.collapsed.sum()),
            **worst_figures(frame),
            **self.ties.summary(),
        }

    def chart(self) -> Drawing:
        """Draw the lost and won shares of each class as bars, and the change of recall with its interval as a point."""
        from tfaudit.audits.model_pair.chart import pair_chart

        return pair_chart(self.frame())


def compare(
    baseline: Predictions,
    compressed: Predictions,
    *,
    alpha: float = 0.05,
    margin_pp: float = MARGIN_PP,
) -> PairComparison:
    """Compare one model with one compressed model on the same examples, by McNemar's exact test per class and overall.

    Intervals of the changes are Tango's (1998), widened if the exact test does not reject. Both models see the same
    images, so only flips count. If the images form clusters, intervals and p-values are over the clusters instead. A
    finding on two models need not hold for others trained alike; that takes populations of several members.

    Args:
        baseline: predictions of the uncompressed model, one member.
        compressed: predictions of the compressed model, one member, on the same examples.
        alpha: level of the tests: a class is significant if p <= alpha; intervals are at level 1 - alpha.
        margin_pp: margin in percentage points; a change whose interval lies within it counts as none.

    Raises:
        InputError: more than one member, different examples, or a level outside (0, 1).

    Example:
        >>> labels = [0] * 8 + [1] * 2
        >>> before = Predictions.from_top1(labels, [0] * 8 + [1, 0])
        >>> after = Predictions.from_top1(labels, [0, 0] + [1] * 6 + [1, 1])
        >>> compare(before, after).frame("none")[["class", "change_pp", "lost", "won", "change_p", "verdict"]].round(3)
          class  change_pp  lost  won  change_p      verdict
        0     0      -75.0   6.0  0.0     0.031  lost recall
        1     1       50.0   0.0  1.0     1.000  cannot tell
    """
    require(0 < number(margin_pp) <= 100, "margin_pp", margin_pp, "percentage points in (0, 100]")
    require_predictions(baseline=baseline, compressed=compressed)
    for name, model in (("baseline", baseline), ("compressed", compressed)):
        if model.num_members != 1:
            expected = "one; `tfaudit.class_impact` and `tfaudit.exemplars` compare populations"
            raise InputError(name, f"{model.num_members} members", expected)
    comparison = Comparison(baseline, compressed, alpha=alpha)
    classes = baseline.num_classes
    labels = baseline.labels
    before = baseline.correct()[0]
    after = compressed.correct()[0]
    examples = comparison.class_examples
    lost, won = flip_counts(before, after, labels, classes)
    low, high, p = comparison.exact_changes(labels, classes)
    independent = comparison.clusters is None
    recalls = (baseline.recall(), compressed.recall())
    changed = 1 - baseline.best(0).agreement(compressed.best(0))
    newly = np.maximum(before - after, 0), np.maximum(after - before, 0)
    kinds = np.stack([*newly, changed - newly[0] - newly[1]])
    ties = tie_reading(comparison)
    return PairComparison(
        class_names=baseline.class_names,
        examples=examples,
        recall_before=recalls[0][0],
        recall_after=recalls[1][0],
        collapsed=collapsed_classes(*recalls, comparison.class_units, alpha=alpha),
        lost=lost,
        won=won,
        p=p,
        p_mid=np.where(independent & (examples > 0), mcnemar(lost, won, mid=True), np.nan),
        low=low,
        high=high,
        changes=comparison.class_changes(),
        precision=comparison.precision_changes(),
        p_holm=adjust(p, "holm"),
        p_bh=adjust(p, "bh"),
        overall=_overall(comparison, kinds.sum(1)),
        flips=_flips(baseline, compressed, kinds),
        ties=ties,
        alpha=alpha,
        margin_pp=margin_pp,
        doubts=doubts_of(comparison),
        notes=(
            *ties.sentences(),
            *comparison.notes,
            *empty_class_notes(baseline.class_names, examples),
            *small_class_notes(examples, alpha),
        ),
    )


def _overall(comparison: Comparison, flips: np.ndarray) -> Overall:
    """Return the comparison over all examples from the number of flips of each of `KINDS`."""
    baseline = comparison.baseline
    compressed = comparison.compressed
    lost, won, other_wrong = map(float, flips)
    count = baseline.num_examples
    right = float(baseline.right().sum())
    low, high, p = comparison.exact_changes(np.zeros(count, int), 1)
    agreement = 1 - float(flips.sum()) / count
    return Overall(
        examples=count,
        accuracy_before=float(baseline.accuracy()[0]),
        accuracy_after=float(compressed.accuracy()[0]),
        low=float(low[0]),
        high=float(high[0]),
        p=float(p[0]),
        p_mid=float(mcnemar(lost, won, mid=True)) if comparison.clusters is None else np.nan,
        lost=lost,
        won=won,
        other_wrong=other_wrong,
        btc=float(ratio(right - lost, right)),
        bec=float(ratio(count - right - won, count - right)),
        agreement=agreement,
        top5_overlap=_top5_overlap(baseline, compressed),
    )


def _top5_overlap(baseline: Predictions, compressed: Predictions) -> float:
    """Return `Overall.top5_overlap`, in which no class counts because of its number."""
    if min(population.ranked.shape[2] for population in (baseline, compressed)) < 5:
        return float("nan")
    tops, sure = [], []
    for population in (baseline, compressed):
        classes, probabilities = population.member(0)
        best = None if probabilities is None else probabilities[:, :5]
        ranked = RankedClasses(classes[:, :5], best, population.member(0).ties)
        tops.append(ranked.classes)
        sure.append(surely_ranked(ranked, population.num_classes))
    shared = (tops[0][:, :, None] == tops[1][:, None]) & sure[0][:, :, None] & sure[1][:, None]
    sizes = np.maximum(sure[0].sum(1), sure[1].sum(1))
    shares = ratio(shared.sum((1, 2)), sizes)[sizes > 0]
    return float(shares.mean()) if len(shares) else float("nan")


def _flips(baseline: Predictions, compressed: Predictions, kinds: np.ndarray) -> pd.DataFrame:
    """Return the flipped examples from the probabilities `(3, N)` that a prediction flips in each of `KINDS`."""
    names = baseline.class_names
    changed = kinds.sum(0)
    index = np.flatnonzero(changed)
    columns = {
        "index": index,
        "example": baseline.example_ids[index],
        "label": np.array(names, object)[baseline.labels[index]],
        "before": baseline.best(0).names(names)[index],
        "after": compressed.best(0).names(names)[index],
        "kind": KINDS[kinds[:, index].round(12).argmax(0)],
        "share": changed[index],
    }
    for name, model in (("probability_before", baseline), ("probability_after", compressed)):
        if model.has_probabilities:
            columns[name] = model.member_probabilities(0)[index, 0]
    return pd.DataFrame(columns)
