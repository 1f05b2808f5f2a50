"""Counts expected by chance: permutation tests of the number of PIEs and of significant classes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.audit.classes import CENTERINGS
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.modes import TIES, count_changed_modes
from tfaudit.stats.permutation import CountNull, assign, count_significant
from tfaudit.stats.ranking import RankedClasses

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

PIES, CLASSES = "PIEs", "significant classes"


@dataclasses.dataclass(frozen=True)
class Chance:
    """The two counts of an audit and their null distributions, under which compression does nothing.

    Attributes:
        pies: null distribution of the number of PIEs.
        classes: that of the number of significant classes, uncorrected; None where a population has a single member.
        paired: whether members were reassigned within pairs only.
        alpha: level of the tests per class.
        notes: caveats for the reader, one sentence each.
    """

    pies: CountNull
    classes: CountNull | None
    paired: bool
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per `count` (PIEs, significant classes).

        Other columns are the fields of `CountNull`: `observed`, `expected` (the mean by chance), `low` and `high` (the
        central 95 % by chance), `p`, `permutations` and `exact`.
        """
        fields = ("observed", "mean", "low", "high", "p", "permutations", "exact")
        rows = [(name, *(getattr(null, field) for field in fields)) for name, null in self._nulls().items()]
        return pd.DataFrame(rows, columns=["count", *fields]).rename(columns={"mean": "expected"})

    def distribution(self) -> pd.DataFrame:
        """Return how often each value occurred: `count` (as in `frame`), `value` and `share` of the permutations."""
        tables = [
            pd.DataFrame({"count": name, "value": values, "share": times / null.permutations})
            for name, null in self._nulls().items()
            for values, times in [np.unique(null.counts, return_counts=True)]
        ]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """Return observed and expected counts and p-values; None for classes where they cannot be tested."""
        pies, classes = self.pies, self.classes
        return {
            "permutations": pies.permutations,
            "exact": pies.exact,
            "pies": pies.observed,
            "pies_by_chance": pies.mean,
            "pies_p": pies.p,
            "significant": classes and classes.observed,
            "significant_by_chance": classes and classes.mean,
            "significant_p": classes and classes.p,
        }

    def chart(self) -> Drawing:
        """Draw the counts of all permutations, and the observed one."""
        from tfaudit.charts.chance import chance_chart

        return chance_chart(self.frame(), self.distribution())

    def _nulls(self) -> dict[str, CountNull]:
        return {PIES: self.pies} | ({} if self.classes is None else {CLASSES: self.classes})


def chance(
    baseline: Predictions,
    compressed: Predictions,
    *,
    permutations: int = 1000,
    seed: int = 0,
    paired: bool = False,
    alpha: float = 0.05,
    centering: str = "member",
    ties: str = "lowest",
) -> Chance:
    """Test whether there are more PIEs, and more significant classes, than between two equal populations.

    Even two halves of one population disagree on some modal labels. If compression does nothing, the K1 + K2 members
    are exchangeable: they are reassigned to groups of K1 and K2 and everything is counted again. All assignments are
    counted if there are at most `permutations`, else random ones; p is the share that reaches the observed count.

    Members made from one parent are more alike than others: free reassignment would often put both into one group, and
    the null distribution would be too wide. `paired=True` swaps members within their pairs only.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        permutations: maximum number of assignments to count.
        seed: seed of the random assignments.
        paired: whether members of the same name are pairs: the compressed one is made from the other.
        alpha: a class is significant where p <= alpha.
        centering: as in `class_impact`.
        ties: as in `exemplars`.

    Raises:
        InputError: other examples, an invalid option, or pairs whose members' names differ.

    Example:
        >>> labels = [0, 0, 1, 1]
        >>> before = Predictions.from_top1(labels, [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
        >>> after = Predictions.from_top1(labels, [[0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]])
        >>> chance(before, after).frame()[["count", "observed", "expected", "p", "permutations"]]
                         count  observed  expected    p  permutations
        0                 PIEs         1       0.4  0.4            20
        1  significant classes         0       0.0  1.0            20
    """
    require_same_examples(baseline, compressed)
    require(centering in CENTERINGS, "centering", centering, ", ".join(CENTERINGS))
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require(ties in TIES, "ties", ties, ", ".join(TIES))
    populations = (baseline, compressed)
    order = _order(*populations, paired=paired)
    first, second = baseline.num_members, compressed.num_members
    assignments = assign(first, second, permutations=permutations, seed=seed, paired=paired)
    members = _all_members(populations, ties).take(order)
    pies = assignments.null(count_changed_modes(assignments.first, *members, ties=ties))
    classes = None
    if min(first, second) > 1:
        recall = np.concatenate([population.recall() for population in populations])
        accuracy = np.concatenate([population.accuracy() for population in populations])
        # Under "population" a group's mean accuracy is subtracted: it depends on the assignment, and moves means only.
        values = np.round(recall - accuracy[:, None] if centering == "member" else recall, 12)[order]
        shift = accuracy[order] if centering == "population" else None
        classes = assignments.null(count_significant(assignments.first, values, shift, alpha=alpha))
    notes = []
    if pies.smallest_p > alpha:
        few = f"So few members have only {pies.permutations} assignments"
        notes.append(f"{few}: p cannot be below {pies.smallest_p:.3g}, whatever compression does.")
    if classes is None:
        notes.append("Significant classes need two members or more in both populations.")
    return Chance(pies, classes, paired, alpha, tuple(notes))


def _order(baseline: Predictions, compressed: Predictions, *, paired: bool) -> np.ndarray:
    """Return positions of all members, the baseline's first; in pairs the compressed ones are in the same order."""
    first, second = baseline.members, compressed.members
    if not paired:
        return np.arange(len(first) + len(second))
    if set(first) != set(second) or len(first) != len(second):
        expected = f"the names of the baseline's, {', '.join(map(str, first))}"
        raise InputError("paired", f"members {', '.join(map(str, second))}", expected)
    return np.array([*range(len(first)), *(len(first) + second.index(member) for member in first)])


def _all_members(populations: tuple[Predictions, Predictions], ties: str) -> RankedClasses:
    """Return the `(K1 + K2, N, k)` ranked classes of all members, as far as modes depend on them."""
    if ties != "confidence":
        return RankedClasses(np.concatenate([population.top1[..., None] for population in populations]))
    probabilities = [population.probabilities for population in populations if population.probabilities is not None]
    if len(probabilities) < 2:
        raise InputError("ties", "'confidence' for predictions without probabilities", "lowest or highest")
    depths = [population.ranked.shape[2] for population in populations]
    if depths[0] != depths[1]:
        raise InputError("ties", f"'confidence' for {depths[0]} and {depths[1]} ranks", "equally many ranks")
    return RankedClasses(*map(np.concatenate, ([population.ranked for population in populations], probabilities)))
