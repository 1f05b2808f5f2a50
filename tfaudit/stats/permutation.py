"""Permutation tests of counts: members reassigned at random to two groups, and what the counts say about chance."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from tfaudit.errors import require

__all__ = ["Assignments", "CountNull", "assign"]


@dataclasses.dataclass(frozen=True)
class CountNull:
    """A count, and what it would be if the two groups were exchangeable.

    Attributes:
        observed: the count for the groups as they are.
        mean: its mean over the assignments: what to expect by chance.
        low: 2.5 % quantile over the assignments.
        high: 97.5 % quantile.
        p: one-sided: how likely chance gives at least the observed count. Exact: the share of all assignments, the
            observed one among them; Monte Carlo: (1 + b) / (1 + n) where b of n random assignments do.
        permutations: how many assignments were counted.
        exact: are they all that there are?
        smallest_p: the p-value that the most extreme count would have; 2 / n where swapping the groups is an
            assignment too, since it changes no count.
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
    """Ways to divide n members into two groups.

    Attributes:
        first: `(1 + P, n)` booleans: is the member in the first group? The first row is the observed assignment.
        exact: are these all assignments? Then the observed one is not repeated in the P others.
    """

    first: np.ndarray
    exact: bool

    def null(self, counts: np.ndarray) -> CountNull:
        """The null distribution from the `(1 + P,)` counts, one for each row of `first`."""
        drawn = counts if self.exact else counts[1:]
        low, high = np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")  # counts that occur
        members = self.first.shape[1]
        mirrored = 2 * self.first[0].sum() == members
        return CountNull(
            observed=int(counts[0]),
            mean=float(drawn.mean()),
            low=float(low),
            high=float(high),
            p=float((counts >= counts[0]).mean()),  # row 0 is the 1 of (1 + b) / (1 + n)
            permutations=len(drawn),
            exact=self.exact,
            smallest_p=(1 + mirrored * self.exact) / len(counts),
            counts=drawn,
        )


def assign(first: int, second: int, *, permutations: int = 1000, seed: int = 0, paired: bool = False) -> Assignments:
    """All ways to divide `first + second` members into groups of these sizes, or random ones where there are too many.

    Args:
        first: size of the first group; it holds the members that come first.
        second: size of the second group.
        permutations: all assignments are listed if they are at most so many; else so many are drawn.
        seed: of the draw.
        paired: member i of the first and member i of the second group stay in different groups: 2^K assignments
            instead of K1 + K2 over K1.

    Raises:
        InputError: an empty group, no permutations, or pairs of groups that differ in size.

    Example:
        >>> assign(1, 2).first.astype(int)
        array([[1, 0, 0],
               [0, 1, 0],
               [0, 0, 1]])
        >>> assign(30, 30).exact
        False
    """
    require(first >= 1, "first", first, "1 member or more")
    require(second >= 1, "second", second, "1 member or more")
    require(permutations >= 1, "permutations", permutations, "1 or more")
    require(not paired or first == second, "second", second, f"{first} members, as many as the first group, for pairs")
    members = first + second
    rng = np.random.default_rng(seed)
    exact = (2**first if paired else math.comb(members, first)) <= permutations
    if paired:
        ways = itertools.product((False, True), repeat=first)
        drawn = rng.random((permutations, first)) < 0.5
        swapped = np.array(list(ways)) if exact else np.concatenate([np.zeros((1, first), bool), drawn])
        return Assignments(np.concatenate([~swapped, swapped], axis=1), exact)
    if exact:
        chosen = np.array(list(itertools.combinations(range(members), first)))
        rows = np.zeros((len(chosen), members), bool)
        np.put_along_axis(rows, chosen, True, axis=1)
        return Assignments(rows, exact)
    rows = np.tile(np.arange(members) < first, (1 + permutations, 1))
    rng.permuted(rows[1:], axis=1, out=rows[1:])
    return Assignments(rows, exact)
