"""Which classes a compressed population harms or favours: [F] 2.2 and 3.1."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, listed, require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import ratio
from tfaudit.stats.t_tests import TTests, welch

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

CENTERINGS = ("member", "population", "none")
"""What may be subtracted from each recall."""

CORRECTIONS = ("none", "holm", "bh")
"""Corrections of the p-values for the number of classes."""


@dataclasses.dataclass(frozen=True)
class ClassImpact:
    """What compression does to each of C classes. All arrays are `(C,)`; recalls and differences are shares in [-1, 1].

    Attributes:
        class_names, examples: the classes, and the number of test examples of each.
        recall_before, recall_after: mean recall of the two populations; NaN for a class without examples.
        test: Welch's test of the centred recall, whose `difference` is the normalised one, with 1 - alpha intervals.
        relative_recall: mean over members of recall after / before, [F] eq. 3; NaN where a recall before is 0.
        zero_denominators: number of members with a recall of 0 before.
        p_holm, p_bh: p-values adjusted after Holm, and after Benjamini and Hochberg.
        alpha: level of the tests.
        centering: what was subtracted from each recall, of `CENTERINGS`.
        notes: caveats for the reader, one sentence each.
    """

    class_names: tuple[str, ...]
    examples: np.ndarray
    recall_before: np.ndarray
    recall_after: np.ndarray
    test: TTests
    relative_recall: np.ndarray
    zero_denominators: np.ndarray
    p_holm: np.ndarray
    p_bh: np.ndarray
    alpha: float
    centering: str
    notes: tuple[str, ...]

    @property
    def difference(self) -> np.ndarray:
        """Recall after minus recall before."""
        return self.recall_after - self.recall_before

    @property
    def significant(self) -> np.ndarray:
        """Whether p <= alpha, uncorrected as in [F]."""
        return self.test.p <= self.alpha

    @property
    def direction(self) -> np.ndarray:
        """Direction of each class: harmed, favoured or no evidence, uncorrected."""
        return directions(self.test.difference, self.test.p, self.alpha)

    def frame(self, correction: str = "none") -> pd.DataFrame:
        """Return one row per class; columns ending in `_pp` are percentage points, recalls shares in [0, 1].

        The `direction` is harmed or favoured where p after the `correction`, of `CORRECTIONS`, is at most alpha.
        """
        require(correction in CORRECTIONS, "correction", correction, ", ".join(CORRECTIONS))
        corrected = {"none": self.test.p, "holm": self.p_holm, "bh": self.p_bh}[correction]
        columns = {
            "class": self.class_names,
            **{name: getattr(self, name) for name in ("examples", "recall_before", "recall_after")},
            "difference_pp": 100 * self.difference,
            "normalised_pp": 100 * self.test.difference,
            "normalised_low_pp": 100 * self.test.low,
            "normalised_high_pp": 100 * self.test.high,
            "relative_recall": self.relative_recall,
            "zero_denominators": self.zero_denominators,
            **{name: getattr(self.test, name) for name in ("t", "df", "p")},
            "p_holm": self.p_holm,
            "p_bh": self.p_bh,
            "direction": directions(self.test.difference, corrected, self.alpha),
        }
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Return counts of classes, and mean differences of harmed and of favoured ones ([F] 3.1; NaN without any)."""
        masks = {name: self.direction == name for name in ("harmed", "favoured")}
        tested = int(np.isfinite(self.test.p).sum())
        return {
            "classes": len(self.class_names),
            "tested": tested,
            "significant": int(self.significant.sum()),
            "expected_by_chance": self.alpha * tested,
            "significant_holm": int((self.p_holm <= self.alpha).sum()),
            "significant_bh": int((self.p_bh <= self.alpha).sum()),
            **{name: int(mask.sum()) for name, mask in masks.items()},
            **{f"{name}_mean_difference_pp": _mean_pp(self.difference[mask]) for name, mask in masks.items()},
            **{f"{name}_mean_normalised_pp": _mean_pp(self.test.difference[mask]) for name, mask in masks.items()},
            "zero_denominators": int(self.zero_denominators.sum()),
        }

    def chart(self) -> Drawing:
        """Draw [F] figure 2: bars are absolute differences, points normalised ones, significant classes in plum."""
        from tfaudit.charts.classes import class_impact_chart

        return class_impact_chart(self.frame())


def class_impact(
    baseline: Predictions, compressed: Predictions, *, alpha: float = 0.05, centering: str = "member"
) -> ClassImpact:
    """Test for every class whether compression changes its recall by more than the overall accuracy: [F] 2.2.

    The centred recall `S[c,k] = R[c,k] - A[k]` of the two populations is compared with a two-sided Welch t-test.

    Args:
        baseline: the uncompressed population, K >= 2 members.
        compressed: the compressed population, K >= 2 members, on the same examples.
        alpha: a class is significant where p <= alpha.
        centering: what is subtracted from each member's recalls: "member" (its own accuracy, [F]), "population" (the
            mean accuracy of its population, as the released code does) or "none".

    Raises:
        InputError: a single member, other examples, or an option that is not allowed.

    Example:
        >>> labels = [0, 0, 1, 1]
        >>> before = Predictions.from_top1(labels, [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]])
        >>> after = Predictions.from_top1(labels, [[1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
        >>> class_impact(before, after).frame()[["class", "difference_pp", "normalised_pp", "direction"]].round(1)
          class  difference_pp  normalised_pp direction
        0     0          -66.7          -33.3    harmed
        1     1            0.0           33.3  favoured
    """
    require(centering in CENTERINGS, "centering", centering, ", ".join(CENTERINGS))
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require_same_examples(baseline, compressed)
    for name, population in (("baseline", baseline), ("compressed", compressed)):
        if population.num_members < 2:
            expected = "2 or more: train more with `--population`, or compare single models with `tfaudit.compare`"
            raise InputError(name, "1 member", expected)
    before, after = baseline.recall(), compressed.recall()
    test = welch(_centred(after, compressed, centering), _centred(before, baseline, centering), confidence=1 - alpha)
    relative, zeros, notes = _relative_recall(baseline, before, compressed, after)
    examples = np.bincount(baseline.labels, minlength=baseline.num_classes)
    return ClassImpact(
        class_names=baseline.class_names,
        examples=examples,
        recall_before=before.mean(0),
        recall_after=after.mean(0),
        test=test,
        relative_recall=relative,
        zero_denominators=zeros,
        p_holm=adjust(test.p, "holm"),
        p_bh=adjust(test.p, "bh"),
        alpha=alpha,
        centering=centering,
        notes=(*empty_class_notes(baseline.class_names, examples), *notes),
    )


def directions(difference: np.ndarray, p: np.ndarray, alpha: float) -> np.ndarray:
    """Return "harmed" or "favoured" by the sign of the difference where p <= alpha, else "no evidence".

    Example:
        >>> directions(np.array([-0.1, 0.1, 0.2]), np.array([0.01, 0.02, 0.5]), 0.05)
        array(['harmed', 'favoured', 'no evidence'], dtype='<U11')
    """
    return np.where(p <= alpha, np.where(difference < 0, "harmed", "favoured"), "no evidence")


def empty_class_notes(names: Sequence[str], examples: np.ndarray) -> list[str]:
    """Return a note on the classes without test examples, or none.

    Example:
        >>> empty_class_notes(["cat", "dog"], np.array([0, 3]))
        ['1 class without test examples, not tested: cat.']
    """
    empty = [name for name, count in zip(names, examples, strict=True) if not count]
    return [f"{_classes(len(empty))} without test examples, not tested: {listed(empty)}."] if empty else []


def _centred(recall: np.ndarray, population: Predictions, centering: str) -> np.ndarray:
    accuracy = population.accuracy()[:, None]
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


def _mean_pp(shares: np.ndarray) -> float:
    return float((100 * shares).mean()) if len(shares) else float("nan")
