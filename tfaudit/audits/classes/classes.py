"""Which classes lose recall, and which lose more than others: [F] 2.2 and 3.1, over images and members."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.doubts import Doubt, doubts_of
from tfaudit.audits.result import Drawing, Result, in_points
from tfaudit.audits.ties import TieReading, tie_reading
from tfaudit.errors import InputError, listed, number, require, require_one_of
from tfaudit.predictions import Predictions
from tfaudit.stats.change_intervals import Change, GroupChanges
from tfaudit.stats.class_metrics import MetricChanges
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import member_mean, ratio
from tfaudit.stats.t_tests import TTests, welch

CENTERINGS = ("member", "population", "none", "ratio")
"""What may be subtracted from each recall; "ratio" divides it by the accuracy instead."""

CORRECTIONS = ("none", "holm", "bh")
"""Corrections of the p-values for the number of classes."""


LOST, GAINED, NO_CHANGE, CANNOT_TELL = "lost recall", "gained recall", "no change", "cannot tell"
WORSE, BETTER, AS_AVERAGE = "worse than average", "better than average", "as average"

NEAR_ZERO = 0.05
"""A model of this recall or less almost never finds a class."""

MARGIN_PP = 5.0
"""A change whose interval holds 0 and lies within this many percentage points counts as none."""


@dataclasses.dataclass(frozen=True)
class ClassImpact(Result):
    """Effects of compression on C classes. All arrays are `(C,)`; recalls and differences are shares in [-1, 1].

    Attributes:
        class_names, examples: the classes, and the number of test examples of each.
        recall_before, recall_after: mean recall of the two populations; NaN for a class without examples.
        lowest_recall: the lowest recall of any compressed member.
        collapsed: whether recall is halved in the mean, or near 0 in any member; see `collapsed_classes`.
        changes: change of recall, absolute and relative to the change over all images, with errors over images and
            members.
        precision: precision of the two populations, and its change.
        pairs: number of pairs of members; 0 if the populations are independent.
        published: Welch's test of the centred recall, [F] 2.2, which treats the test images as fixed and settles ties
            by `argmax`.
        relative_recall: mean over members of recall after / before, [F] eq. 3; NaN if a recall before is 0.
        zero_denominators: number of members with a recall of 0 before.
        alpha: level of the tests; intervals are at level 1 - alpha.
        margin_pp: margin in percentage points; a change whose interval holds 0 and lies within it counts as none.
        centering: what the published test subtracts from each recall, one of `CENTERINGS`.
        ties: predictions in which classes tie, and their effect under the deployed `argmax`.
        doubts: what forbids a verdict on the two populations.
        notes: caveats for the reader, one sentence each.
        other_p: p-values of the classes of other variants, for which lost and gained recall is corrected, too; see
            `corrected_together`. None by default.
    """

    class_names: tuple[str, ...]
    examples: np.ndarray
    recall_before: np.ndarray
    recall_after: np.ndarray
    lowest_recall: np.ndarray
    collapsed: np.ndarray
    changes: GroupChanges
    precision: MetricChanges
    pairs: int
    published: TTests
    relative_recall: np.ndarray
    zero_denominators: np.ndarray
    alpha: float
    margin_pp: float
    centering: str
    ties: TieReading
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    other_p: np.ndarray = dataclasses.field(default_factory=lambda: np.array([]))

    @property
    def p(self) -> np.ndarray:
        """p-values of no change of recall, uncorrected; NaN for a class without examples."""
        return self.changes.absolute.p()

    def frame(self, correction: str = "holm") -> pd.DataFrame:
        """Return one row per class; columns ending in `_pp` are percentage points, recalls shares in [0, 1].

        Columns: `class`, `examples`, `recall_before`, `recall_after`, `lowest_recall`, `collapsed`; the change of
        recall: `change_pp` with `change_low_pp`, `change_high_pp`, `change_p`, `change_p_holm`, `change_p_bh` and
        `verdict` (lost recall, gained recall, no change, cannot tell); the change relative to that of the overall
        accuracy: the same columns with `relative_`, and `relative_verdict` (worse than average, better than average, as
        average, cannot tell); `precision_before`, `precision_after`, `precision_pp` (their difference) with
        `precision_low_pp`, `precision_high_pp`, `precision_p`; `relative_recall`, `zero_denominators`; the test of [F]:
        `published_pp` with `published_low_pp`, `published_high_pp`, `published_t`, `published_df`, `published_p`,
        `published_p_holm`, `published_p_bh`, `published_direction` (worse than average, better than average, no
        evidence).

        Args:
            correction: correction of the verdicts and directions for the number of classes, that of lost and gained
                recall also for the classes of other variants; one of `CORRECTIONS`, "holm" by default.
        """
        require_one_of("correction", correction, CORRECTIONS)
        test = self.published
        p = {"none": test.p} | {method: adjust(test.p, method) for method in CORRECTIONS[1:]}
        columns = {
            "class": self.class_names,
            "examples": self.examples,
            "recall_before": self.recall_before,
            "recall_after": self.recall_after,
            "lowest_recall": self.lowest_recall,
            "collapsed": self.collapsed,
            **change_columns(
                self.changes, self.alpha, self.margin_pp, correction, other_p=self.other_p
            ),
            **precision_columns(self.precision, self.alpha),
            "relative_recall": self.relative_recall,
            "zero_denominators": self.zero_denominators,
            **in_points("published", test.difference, test.low, test.high),
            "published_t": test.t,
            "published_df": test.df,
            "published_p": test.p,
            "published_p_holm": p["holm"],
            "published_p_bh": p["bh"],
            "published_direction": directions(test.difference, p[correction], self.alpha),
        }
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Return counts of classes by verdict after Holm's correction, the worst class, and `published_counts`."""
        frame = self.frame("holm")
        return {
            "classes": len(self.class_names),
            **verdict_counts(frame["verdict"], LOST, GAINED, NO_CHANGE, CANNOT_TELL),
            **verdict_counts(frame["relative_verdict"], WORSE, BETTER, AS_AVERAGE),
            "collapsed": int(self.collapsed.sum()),
            **worst_figures(frame),
            **self.published_counts(),
            "zero_denominators": int(self.zero_denominators.sum()),
            **self.ties.summary(),
        }

    def published_counts(self) -> dict[str, Any]:
        """Return the counts of [F] 3.1, by the published test and the deployed `argmax`: all begin with `published_`.

        `published_harmed` and `published_favoured` are the significant classes that are worse and better than average,
        uncorrected; their mean differences are NaN without any. `published_expected_by_chance`, alpha times the
        classes, is NaN for pairs, for which the test expects fewer: `chance` counts them.
        """
        test = self.published
        change_pp = 100 * self.changes.absolute.value
        direction = directions(test.difference, test.p, self.alpha)
        harmed = direction == WORSE
        favoured = direction == BETTER
        tested = int(np.isfinite(test.p).sum())
        return {
            "published_tested": tested,
            "published_significant": int((test.p <= self.alpha).sum()),
            "published_expected_by_chance": self.alpha * tested if not self.pairs else float("nan"),
            "published_significant_holm": int((adjust(test.p, "holm") <= self.alpha).sum()),
            "published_significant_bh": int((adjust(test.p, "bh") <= self.alpha).sum()),
            "published_harmed": int(harmed.sum()),
            "published_favoured": int(favoured.sum()),
            "published_harmed_mean_change_pp": _mean(change_pp[harmed]),
            "published_favoured_mean_change_pp": _mean(change_pp[favoured]),
            "published_harmed_mean_pp": _mean(100 * test.difference[harmed]),
            "published_favoured_mean_pp": _mean(100 * test.difference[favoured]),
        }

    def chart(self) -> Drawing:
        """Draw the change of every class's recall with its interval, and that relative to the overall accuracy."""
        from tfaudit.audits.classes.chart import class_impact_chart

        return class_impact_chart(self.frame())


def class_impact(
    baseline: Predictions,
    compressed: Predictions,
    paired: bool | None = None,
    *,
    alpha: float = 0.05,
    margin_pp: float = MARGIN_PP,
    centering: str = "member",
) -> ClassImpact:
    """Estimate what compression does to the recall of every class, and test it.

    Two questions are kept apart. Has a class *lost recall*? The change, after minus before, tells. Is it
    *disproportionately affected*? The change minus the change of the overall accuracy tells. Both have intervals over
    images and members [C], in which the members' variance borrows strength from other classes [Sm], and verdicts
    corrected for the number of classes. The test of [F] 2.2 is given as published:
    a two-sided Welch t-test of the centred recall `S[c,k] = R[c,k] - A[k]`, which treats members as independent and the
    test images as fixed.

    Args:
        baseline: the uncompressed population, K >= 2 members.
        compressed: the compressed population, K >= 2 members, on the same examples.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests; intervals are at level 1 - alpha.
        margin_pp: margin in percentage points; a change whose interval holds 0 and lies within it counts as none.
        centering: what the published test subtracts from each member's recalls: "member" (its own accuracy, [F]; the
            default), "population" (the mean accuracy of its population, as the released code does) or "none"; "ratio"
            divides them by the member's own accuracy, which is what the hypothesis of [F] eq. 1 says.

    Raises:
        InputError: a single member, pairs without partners, different examples, or an option that is not allowed.

    Example:
        >>> labels = np.repeat([0, 1], 100)
        >>> before = Predictions.from_top1(labels, [labels] * 3)
        >>> after = Predictions.from_top1(labels, [[1] * 30 + list(labels[30:])] * 3)
        >>> class_impact(before, after).frame()[["class", "change_pp", "verdict", "relative_pp", "relative_verdict"]]
          class  change_pp      verdict  relative_pp     relative_verdict
        0     0      -30.0  lost recall        -15.0   worse than average
        1     1        0.0    no change         15.0  better than average
    """
    require_one_of("centering", centering, CENTERINGS)
    require(0 < number(margin_pp) <= 100, "margin_pp", margin_pp, "percentage points in (0, 100]")
    comparison = Comparison(baseline, compressed, paired, alpha)
    for name, population in (("baseline", baseline), ("compressed", compressed)):
        if population.num_members < 2:
            expected = "2 or more: train more with `--population`, or compare single models with `tfaudit.compare`"
            raise InputError(name, "1 member", expected)
    before = baseline.recall()
    after = compressed.recall()
    published = [
        _centred(population.by_argmax(), centering) for population in (compressed, baseline)
    ]
    test = welch(*published, confidence=comparison.confidence)
    relative, zeros, notes = _relative_recall(baseline, before, compressed, after)
    examples = comparison.class_examples
    ties = tie_reading(comparison)
    return ClassImpact(
        class_names=baseline.class_names,
        examples=examples,
        recall_before=member_mean(before),
        recall_after=member_mean(after),
        lowest_recall=after.min(0),
        collapsed=collapsed_classes(before, after, comparison.class_units, alpha=alpha),
        changes=comparison.class_changes(),
        precision=comparison.precision_changes(),
        pairs=comparison.pairs,
        published=test,
        relative_recall=relative,
        zero_denominators=zeros,
        alpha=alpha,
        margin_pp=margin_pp,
        centering=centering,
        ties=ties,
        doubts=doubts_of(comparison),
        notes=(
            *ties.sentences(),
            *empty_class_notes(baseline.class_names, examples),
            *notes,
            *comparison.notes,
        ),
    )


def corrected_together(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results on the classes of several variants, corrected for the classes of all of them.

    Args:
        results: a `ClassImpact` or `PairComparison` by key of the variant.
    """
    p = {key: result.p for key, result in results.items()}
    return {
        key: dataclasses.replace(result, other_p=p_of_others(p, key))
        for key, result in results.items()
    }


def p_of_others(p: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    """Return the p-values of all variants but one as one array, empty if there is no other.

    Example:
        >>> p_of_others({"a": np.array([0.1]), "b": np.array([0.2, 0.3])}, "a")
        array([0.2, 0.3])
    """
    return np.concatenate([p[other] for other in p if other != key] or [np.array([])])


def change_columns(
    changes: GroupChanges,
    alpha: float,
    margin_pp: float = MARGIN_PP,
    correction: str = "holm",
    noun: str = "recall",
    parts: int = 1,
    other_p: ArrayLike = (),
) -> dict[str, np.ndarray]:
    """Return the columns of two questions, `change_...` and `relative_...`, as `ClassImpact.frame` names them.

    Args:
        changes: changes of G classes or groups.
        alpha: level of the tests.
        margin_pp: the largest change that counts as none, percentage points.
        correction: correction of the verdicts for the number of groups, one of `CORRECTIONS`; "holm" by default.
        noun: what is lost, "recall" by default, such as accuracy for groups.
        parts: number of comparisons, such as one per corruption, of G / parts groups each; 1 by default.
        other_p: p-values of no change elsewhere, for which `change_...` is corrected, too; none by default.
    """
    own = np.arange(len(changes.examples)).reshape(parts, -1)
    # The changes of two groups relative to both are one figure with two signs: one test.
    known = changes.examples.reshape(parts, -1) > 0
    two = known & (known.sum(1, keepdims=True) == 2)
    mirrored = np.where(two, -1 - np.arange(parts)[:, None], own)

    def columns(
        name: str, change: Change, most: int, tests: np.ndarray, other_p: ArrayLike = ()
    ) -> dict[str, np.ndarray]:
        low, high = change.interval(1 - alpha, most=most)
        return question_columns(
            name,
            change.value,
            low,
            high,
            change.p(),
            alpha=alpha,
            margin_pp=margin_pp,
            correction=correction,
            noun=noun,
            tests=tests.ravel(),
            other_p=other_p,
        )

    # A change of a share is at most 1, and relative to another change at most 2.
    absolute = columns("change", changes.absolute, 1, own, other_p)
    return absolute | columns("relative", changes.relative, 2, mirrored)


def precision_columns(precision: MetricChanges, alpha: float) -> dict[str, np.ndarray]:
    """Return the columns of the precision of C classes, as `ClassImpact.frame` names them."""
    change = precision.change
    return {
        "precision_before": precision.before,
        "precision_after": precision.after,
        **in_points("precision", change.value, *change.interval(1 - alpha, most=1)),
        "precision_p": change.p(),
    }


def question_columns(
    name: str,
    value: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    p: np.ndarray,
    *,
    alpha: float,
    margin_pp: float = MARGIN_PP,
    correction: str = "holm",
    noun: str = "recall",
    tests: np.ndarray | None = None,
    other_p: ArrayLike = (),
) -> dict[str, np.ndarray]:
    """Return the columns of one question, from `NAME_pp` to its verdict.

    Args:
        name: name of the question, "change" or "relative".
        value: `(G,)` changes, shares.
        low: `(G,)` lower ends of their intervals.
        high: `(G,)` upper ends of their intervals.
        p: `(G,)` p-values.
        alpha: level of the tests.
        margin_pp: the largest change that counts as none, percentage points.
        correction: correction of the verdicts for the number of groups, one of `CORRECTIONS`; "holm" by default.
        noun: what is lost, "recall" by default, such as accuracy for groups.
        tests: `(G,)` integers, equal for p-values of the same test; by default all tests are different.
        other_p: p-values of the same question elsewhere, for which this one is corrected, too; none by default.

    Example:
        >>> figures = (np.array([number]) for number in (-0.2, -0.3, -0.1, 0.001))
        >>> question_columns("change", *figures, alpha=0.05, noun="accuracy")["verdict"]
        array(['lost accuracy'], dtype='<U15')
    """
    absolute = (f"lost {noun}", f"gained {noun}", NO_CHANGE)
    relative = (WORSE, BETTER, AS_AVERAGE)
    lost, gained, none = relative if name == "relative" else absolute
    _, first, place = np.unique(
        np.arange(len(p)) if tests is None else tests, return_index=True, return_inverse=True
    )
    family = np.concatenate([p[first], np.asarray(other_p, float)])
    all_p = {"none": p} | {method: adjust(family, method)[place] for method in CORRECTIONS[1:]}
    within = (100 * low > -margin_pp) & (low <= 0) & (high >= 0) & (100 * high < margin_pp)
    claims = np.where(value < 0, lost, gained)
    return {
        **in_points(name, value, low, high),
        f"{name}_p": p,
        f"{name}_p_holm": all_p["holm"],
        f"{name}_p_bh": all_p["bh"],
        "verdict" if name == "change" else f"{name}_verdict": np.where(
            all_p[correction] <= alpha, claims, np.where(within, none, CANNOT_TELL)
        ),
    }


def collapsed_classes(
    recall_before: np.ndarray,
    recall_after: np.ndarray,
    examples: np.ndarray,
    *,
    alpha: float = 0.05,
) -> np.ndarray:
    """Return `(C,)` booleans: classes that compressed models no longer know.

    A class collapses if its mean recall is at most half of that before, or if the recall of any compressed member is at
    most .05 while all baseline members recall more than twice that. This is a fact about these models and needs no
    p-value. A guard excludes only what few images can explain: p of Fisher's exact test of so few hits (for one member:
    against the lowest recall before) must lie below alpha divided by the number of comparisons. One lost image is
    therefore no collapse.

    Args:
        recall_before: `(K0, C)` recalls of the baseline's members, shares.
        recall_after: `(K1, C)` recalls of the compressed members.
        examples: `(C,)` number of test examples, or of clusters of them.
        alpha: level of the guard against few images.

    Example:
        >>> collapsed_classes(np.array([[0.7, 0.7]]), np.array([[0.02, 0.5]]), np.array([100, 100]))
        array([ True, False])
    """
    lowest = recall_before.min(0)
    mean = recall_before.mean(0)
    comparisons = max(1, (len(recall_after) + 1) * int(np.count_nonzero(examples)))
    mean_after = recall_after.mean(0)
    halved = mean_after <= mean / 2
    near_zero = (recall_after <= NEAR_ZERO) & (lowest > 2 * NEAR_ZERO)

    def is_real(*recalls: np.ndarray) -> np.ndarray:
        before, after = (np.floor(np.nan_to_num(recall * examples) + 1e-9) for recall in recalls)
        return (
            stats.hypergeom.cdf(after, 2 * examples, before + after, examples) < alpha / comparisons
        )

    fell = (halved & is_real(mean, mean_after)) | (near_zero & is_real(lowest, recall_after)).any(0)
    return (examples > 0) & (mean > 0) & fell


def worst_class(frame: pd.DataFrame) -> int | None:
    """Return the row of the class to name first: collapsed classes come before others, then the largest loss of recall.

    Args:
        frame: table with the columns `collapsed` and `change_pp` of `ClassImpact.frame`; without figures, None is
            returned.

    Example:
        >>> worst_class(pd.DataFrame({"collapsed": [False, True, False], "change_pp": [-9.0, -5.0, 1.0]}))
        1
    """
    known = frame[frame["change_pp"].notna()]
    if known.empty:
        return None
    keys = pd.DataFrame(
        {"collapsed": ~known["collapsed"].astype(bool), "change_pp": known["change_pp"].round(9)}
    )
    names = known.get("class", known.index)  # equals in the order of their names, not numbers
    return int(keys.assign(name=names).sort_values(["collapsed", "change_pp", "name"]).index[0])


def worst_figures(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the class to name first and its change, for summaries; None and NaN without figures.

    Example:
        >>> worst_figures(pd.DataFrame({"class": ["cat"], "collapsed": [False], "change_pp": [-9.0]}))
        {'worst_class': 'cat', 'worst_change_pp': -9.0}
    """
    row = worst_class(frame)
    return {
        "worst_class": None if row is None else frame["class"][row],
        "worst_change_pp": float("nan") if row is None else float(frame["change_pp"][row]),
    }


def directions(difference: np.ndarray, p: np.ndarray, alpha: float) -> np.ndarray:
    """Return whether a class is worse or better than average if p <= alpha, otherwise "no evidence".

    Example:
        >>> directions(np.array([-0.1, 0.1, 0.2]), np.array([0.01, 0.02, 0.5]), 0.05)
        array(['worse than average', 'better than average', 'no evidence'],
              dtype='<U19')
    """
    return np.where(p <= alpha, np.where(difference < 0, WORSE, BETTER), "no evidence")


def verdict_counts(verdicts: pd.Series, *names: str) -> dict[str, int]:
    """Return the number of classes with each of the named verdicts; keys have underscores for spaces.

    Example:
        >>> verdict_counts(pd.Series(["lost recall", "cannot tell"]), "lost recall", "gained recall")
        {'lost_recall': 1, 'gained_recall': 0}
    """
    return {name.replace(" ", "_"): int((verdicts == name).sum()) for name in names}


def empty_class_notes(names: Sequence[str], examples: np.ndarray) -> list[str]:
    """Return a note on the classes without test examples, or no notes.

    Example:
        >>> empty_class_notes(["cat", "dog"], np.array([0, 3]))
        ['1 class without test examples, not tested: cat.']
    """
    empty = [name for name, count in zip(names, examples, strict=True) if not count]
    return (
        [f"{_classes(len(empty))} without test examples, not tested: {listed(empty)}."]
        if empty
        else []
    )


def small_class_notes(examples: np.ndarray, alpha: float) -> list[str]:
    """Return a note on the classes with too few test examples for McNemar's exact test, or no notes.

    Example:
        >>> small_class_notes(np.array([3, 100]), 0.05)[0][:41]
        '1 class has fewer than 6 examples: McNema'
    """
    needed = int(np.ceil(1 - np.log2(alpha)))  # n changes in one direction give at best p = 2 / 2^n
    small = int(((examples > 0) & (examples < needed)).sum())
    few = f"{_classes(small)} {'has' if small == 1 else 'have'} fewer than {needed} examples"
    never = f"McNemar's exact test cannot reach p <= {alpha:g} there, whatever the model does."
    return [f"{few}: {never}"] if small else []


def unproven_class_notes(examples: np.ndarray, alpha: float, points: float) -> list[str]:
    """Return a note on the classes in which no number of members excludes a loss of some points, or no notes.

    Every interval of a population allows that one more image is lost and another won; see `group_changes`.

    Example:
        >>> unproven_class_notes(np.array([20, 100]), 0.05, 5)[0][:43]
        '1 class has fewer than 54 examples: however'
    """
    errors = stats.norm.isf(alpha / 2) / max(points / 100, 1e-9)
    needed = int(np.ceil(errors * np.sqrt(2) - 2))
    small = int(((examples > 0) & (examples < needed)).sum())
    few = f"{_classes(small)} {'has' if small == 1 else 'have'} fewer than {needed} examples"
    never = f"however many members agree, a loss of {points:g} points cannot be excluded there."
    return [f"{few}: {never}"] if small else []


def _centred(population: Predictions, centering: str) -> np.ndarray:
    recall = population.recall()
    accuracy = population.accuracy()[:, None]
    if centering == "ratio":
        return np.round(ratio(recall, accuracy), 12)
    shift = {"member": accuracy, "population": accuracy.mean(), "none": 0.0}[centering]
    # Recalls are ratios of counts: a difference below 1e-12 is rounding and must not look like variance.
    return np.round(recall - shift, 12)


def _relative_recall(
    baseline: Predictions, before: np.ndarray, compressed: Predictions, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return [F] eq. 3 over the members that both populations have, counts of zero denominators, and notes."""
    shared = [member for member in baseline.members if member in set(compressed.members)]
    if not shared:
        notes = ["Relative recall is undefined: the two populations share no member number."]
        return np.full(baseline.num_classes, np.nan), np.zeros(baseline.num_classes, int), notes
    before = before[[baseline.members.index(member) for member in shared]]
    after = after[[compressed.members.index(member) for member in shared]]
    zeros = (before == 0).sum(0)
    undefined = f"Relative recall is undefined for {_classes(int(np.count_nonzero(zeros)))}"
    notes = [f"{undefined}: a baseline member recalls none of its examples."] if zeros.any() else []
    return ratio(after, before).mean(0), zeros, notes


def _classes(count: int) -> str:
    return f"{count:,} {'class' if count == 1 else 'classes'}"


def _mean(points: np.ndarray) -> float:
    return float(points.mean()) if len(points) else float("nan")
