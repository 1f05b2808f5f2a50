"""Permutation tests of counts: members are reassigned to two groups, and the counts give the null distribution."""

import dataclasses
import itertools
import math

import numpy as np
from scipy import stats

from tfaudit.errors import require, require_least, require_whole
from tfaudit.stats.t_tests import welch_from_moments

TESTS_AT_ONCE = 2**18
"""(assignments, classes) cells of a block: its arrays fit the processor's cache."""


@dataclasses.dataclass(frozen=True)
class CountNull:
    """A count and its null distribution, under which the two groups are exchangeable.

    Attributes:
        observed: the count for the groups as they are.
        mean: mean over the assignments, the count expected by chance.
        low, high: 2.5 % and 97.5 % quantiles over the assignments.
        p: one-sided p-value. Exact: the share of all assignments, including the observed one, that reach the observed
            count; Monte Carlo: (1 + b) / (1 + n) if b of n random assignments reach it.
        permutations: number of assignments counted.
        exact: whether these are all assignments.
        smallest_p: p of the most extreme count; 2 / n if swapping the groups, which leaves the count as it is, is
            possible.
        counts: `(permutations,)` int64, the count of every assignment.
    """

    observed: int
    mean: float
    low: float
    high: float
    p: float
    permutations: int
    exact: bool
    smallest_p: float
    counts: np.ndarray


@dataclasses.dataclass(frozen=True)
class Assignments:
    """Assignments of n members to two groups.

    Attributes:
        first: `(1 + P, n)` booleans, true where the member is in the first group. Row 0 is the observed assignment.
        exact: whether these are all assignments. Then the observed one is not repeated in the P others.
    """

    first: np.ndarray
    exact: bool

    def null(self, counts: np.ndarray) -> CountNull:
        """Return the null distribution from `(1 + P,)` counts, one for each row of `first`."""
        drawn = counts if self.exact else counts[1:]
        low, high = np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")  # counts that occur
        mirrored = 2 * self.first[0].sum() == self.first.shape[1]
        observed = int(counts[0])
        mean = float(drawn.mean())
        p = float((counts >= observed).mean())  # row 0 is the 1 of (1 + b) / (1 + n)
        smallest_p = (1 + mirrored * self.exact) / len(counts)
        return CountNull(
            observed, mean, float(low), float(high), p, len(drawn), self.exact, smallest_p, drawn
        )


def assign(
    first: int, second: int, *, permutations: int = 1000, seed: int = 0, paired: bool = False
) -> Assignments:
    """Return all assignments of members to two groups of these sizes, or random ones if there are too many.

    Args:
        first: size of the first group, K1; it holds the members that come first.
        second: size of the second group, K2.
        permutations: number of random assignments; if there are no more than that, all are listed.
        seed: seed of the draw.
        paired: whether member i of one group and member i of the other always stay apart: 2^K assignments, not K1 + K2
            over K1.

    Raises:
        InputError: an empty group, no permutations, or pairs of groups that differ in size.

    Example:
        >>> assign(1, 2).first.astype(int).tolist(), assign(30, 30).exact
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], False)
    """
    require_least(1, first=first, second=second)
    require_whole("permutations", permutations, 1)
    require_whole("seed", seed, 0)
    require(
        not paired or first == second,
        "second",
        second,
        f"{first} members, as many as the first group, for pairs",
    )
    members = first + second
    rng = np.random.default_rng(seed)
    exact = (2**first if paired else math.comb(members, first)) <= permutations
    if paired:
        if exact:
            swapped = np.array(list(itertools.product((False, True), repeat=first)))
        else:
            swapped = np.concatenate(
                [np.zeros((1, first), bool), rng.random((permutations, first)) < 0.5]
            )
        rows = np.concatenate([~swapped, swapped], axis=1)
    elif exact:
        chosen = np.array(list(itertools.combinations(range(members), first)))
        rows = (chosen[:, :, None] == np.arange(members)).any(1)
    else:
        rows = np.tile(np.arange(members) < first, (1 + permutations, 1))
        rng.permuted(rows[1:], axis=1, out=rows[1:])
    return Assignments(rows, exact)


def count_significant(first: np.ndarray, values: np.ndarray, *, alpha: float) -> np.ndarray:
    """Count the columns with p <= alpha for every assignment: `(P,)` int64. Arguments are those of `permuted_welch`.

    Example:
        >>> values = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [2.0, 7.0], [4.0, 8.0], [6.0, 9.0]])
        >>> count_significant(np.array([[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0]], bool), values, alpha=0.05)
        array([1, 0])
    """
    step = max(1, TESTS_AT_ONCE // values.shape[1])
    blocks = (first[start : start + step] for start in range(0, len(first), step))
    return np.concatenate([(permuted_welch(block, values) <= alpha).sum(1) for block in blocks])


def permuted_welch(first: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Compute two-sided p-values of Welch's tests between the members in the first group and the others, `(P, C)`.

    The moments of all groups are matrix products of the assignments with the values and their squares.

    Args:
        first: `(P, n)` booleans, true for members of the first group, which has the same size >= 2 in all rows.
        values: `(n, C)` floats, shares; means that differ by less than 1e-12 count as equal. NaN in a column gives NaN.

    Example:
        >>> values = np.array([[1.0], [2.0], [3.0], [2.0], [4.0], [6.0]])
        >>> permuted_welch(np.array([[1, 1, 1, 0, 0, 0]], bool), values).round(4)
        array([[0.2209]])
    """
    # Centred, so that the variance is not a small difference of large numbers; exactly 0 where all members are equal.
    values = values - np.where(values.min(0) == values.max(0), values[0], values.mean(0))
    # Rounding must not decide whether a group is constant: the ranks of the values are exact.
    ranks = stats.rankdata(values, method="dense", axis=0)

    def moments(group: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the means, their squared errors, and the degrees of freedom."""
        size = int(group[0].sum())
        members = group.astype(np.float64)
        mean = members @ values / size
        variance = np.maximum(members @ values**2 - size * mean**2, 0) / (size - 1)
        constant = size * (members @ ranks**2) == (members @ ranks) ** 2
        error = np.where(constant, 0.0, variance / size)
        return mean, error, size - 1

    mean1, error1, free1 = moments(first)
    mean2, error2, free2 = moments(~first)
    difference = np.round(mean1 - mean2, 12)
    return welch_from_moments(difference, error1, free1, error2, free2)[2]
