"""Counts expected by chance: permutation tests of the number of PIEs and of significant classes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed
from tfaudit.predictions import Predictions
from tfaudit.stats.modes import count_changed_modes
from tfaudit.stats.permutation import CountNull, assign, count_significant
from tfaudit.stats.ties import Ties

PIES, CLASSES = "PIEs", "significant classes"

MORE, CANNOT_TELL, CONSISTENT = (
    "more than expected by chance",
    "cannot tell",
    "consistent with chance",
)


@dataclasses.dataclass(frozen=True)
class Chance(Result):
    """The two counts of an audit and their null distributions, under which members are exchangeable.

    Attributes:
        pies: null distribution of the number of PIEs.
        classes: null distribution of the number of significant classes of the published test, uncorrected; None if a
            population has a single member.
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
        central 95 % by chance), `p`, `permutations` and `exact`; and the `verdict`, see `count_verdict`.
        """
        nulls = self._nulls()
        frame = pd.DataFrame(map(vars, nulls.values())).rename(columns={"mean": "expected"})
        frame.insert(0, "count", list(nulls))
        verdicts = [count_verdict(null, self.alpha) for null in nulls.values()]
        return frame.drop(columns=["smallest_p", "counts"]).assign(verdict=verdicts)

    def distribution(self) -> pd.DataFrame:
        """Return how often each value occurred: `count` (as in `frame`), `value` and `share` of the permutations."""
        tables = [
            pd.DataFrame({"count": name, "value": values, "share": times / null.permutations})
            for name, null in self._nulls().items()
            for values, times in [np.unique(null.counts, return_counts=True)]
        ]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """Return observed and expected counts and p-values; None for classes if they cannot be tested."""
        pies = self.pies
        classes = self.classes
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
        from tfaudit.audits.chance.chart import chance_chart

        return chance_chart(self.frame(), self.distribution())

    @property
    def models_needed(self) -> int:
        """Return the smallest number of models on each side for which the smallest p is at most alpha.

        Pairs have 2^n assignments, independent members (2n over n); swapping the sides leaves the count as it is.
        """
        sizes = itertools.count(2)
        return next(
            n for n in sizes if self.alpha * (2**n if self.paired else math.comb(2 * n, n)) >= 2
        )

    def _nulls(self) -> dict[str, CountNull]:
        return {PIES: self.pies} | ({} if self.classes is None else {CLASSES: self.classes})


def count_verdict(null: CountNull, alpha: float) -> str:
    """Return the verdict on a count: "more than expected by chance", "cannot tell", or "consistent with chance".

    A p-value above alpha alone proves nothing: with few members it cannot be small. A count is consistent with chance
    only if it is at most the lower end of the central 95 % of the counts by chance, so that no excess is plausible.

    Example:
        >>> null = assign(4, 4).null(np.arange(70))
        >>> count_verdict(null, alpha=0.05), count_verdict(assign(1, 1).null(np.array([3, 3])), alpha=0.05)
        ('consistent with chance', 'cannot tell')
    """
    if null.p <= alpha:
        return MORE
    return CONSISTENT if null.smallest_p <= alpha and null.observed <= null.low else CANNOT_TELL


def chance(
    baseline: Predictions,
    compressed: Predictions,
    *,
    permutations: int = 1000,
    seed: int = 0,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Chance:
    """Test whether there are more PIEs, and more significant classes, than between two equal populations.

    Even two halves of one population disagree on some modal labels. Under the null hypothesis, compressed members
    differ from baseline members no more than these differ from each other, so all K1 + K2 members are exchangeable:
    they are reassigned to groups of K1 and K2, and everything is counted again. If there are at most `permutations`
    assignments, all are counted, otherwise random ones; p is the share that reaches the observed count.

    A member and its parent are more alike than others. Free reassignment would often put both into one group and make
    the null distribution too wide, so pairs are exchanged only within themselves. The null hypothesis is then that
    the members of a pair can be exchanged, not that they are equal.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        permutations: maximum number of assignments to count, 1000 by default.
        seed: seed of the random assignments.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests per class: a class is significant if p <= alpha.

    Raises:
        InputError: different examples, an invalid option, or pairs that do not hold every member once.

    Example:
        >>> labels = [0, 0, 1, 1]
        >>> before = Predictions.from_top1(labels, [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
        >>> after = Predictions.from_top1(labels, [[0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]])
        >>> chance(before, after).frame()[["count", "observed", "expected", "p", "permutations"]]
                         count  observed  expected    p  permutations
        0                 PIEs         1       0.4  0.4            20
        1  significant classes         0       0.0  1.0            20
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    populations = (baseline, compressed)
    pairs = comparison.partners
    order = _order(*populations, pairs)
    first = baseline.num_members
    second = compressed.num_members
    assignments = assign(
        first, second, permutations=permutations, seed=seed, paired=pairs is not None
    )
    changed = count_changed_modes(assignments.first, *_all_members(populations, order))
    pies = assignments.null(changed)
    classes = None
    if min(first, second) > 1:
        published = [population.by_argmax() for population in populations]
        recall = np.concatenate([population.recall() for population in published])
        accuracy = np.concatenate([population.accuracy() for population in published])
        values = np.round(recall - accuracy[:, None], 12)[order]
        classes = assignments.null(count_significant(assignments.first, values, alpha=alpha))
    notes = []
    if pies.smallest_p > alpha:
        few = f"So few members have only {pies.permutations} assignments"
        notes.append(f"{few}: p cannot be below {pies.smallest_p:.3g}, whatever compression does.")
    if classes is None:
        notes.append("Significant classes need two members or more in both populations.")
    return Chance(pies, classes, pairs is not None, alpha, tuple(notes))


def _order(
    baseline: Predictions, compressed: Predictions, pairs: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray:
    """Return positions of all members, the baseline's first; with pairs, compressed members are in the same order."""
    members = baseline.num_members, compressed.num_members
    if pairs is None:
        return np.arange(sum(members))
    if not len(np.unique(pairs[0])) == members[0] == members[1]:
        got = f"members made from {listed([baseline.members[i] for i in pairs[0]])}"
        raise InputError(
            "paired", got, f"one made from each of the baseline's, {listed(baseline.members)}"
        )
    return np.concatenate([pairs[0], members[0] + pairs[1]])


def _all_members(
    populations: tuple[Predictions, Predictions], order: np.ndarray
) -> tuple[np.ndarray, Ties]:
    """Return the best classes `(K1 + K2, N)` of all members, and their ties."""
    everyone = [
        population.best(i) for population in populations for i in range(len(population.top1))
    ]
    members = [everyone[i] for i in order]
    tied = Ties.joined([best.ties for best in members], [populations[0].num_examples] * len(order))
    return np.stack([best.first for best in members]), tied
