"""Permutation tests of counts: members are reassigned to two groups, and the counts give the null distribution."""

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from tfaudit.errors import require
from tfaudit.stats.t_tests import welch_from_moments

COUNTS_AT_ONCE, TESTS_AT_ONCE = 2**20, 2**18
"""(assignments, examples) and (assignments, classes) cells of a block: its arrays fit the processor's cache."""


@dataclasses.dataclass(frozen=True)
class CountNull:
    """A count and its null distribution, under which the two groups are exchangeable.

    Attributes:
        observed: the count for the groups as they are.
        mean: its mean over the assignments: expected by chance.
        low, high: 2.5 % and 97.5 % quantile over the assignments.
        p: one-sided p-value. Exact: the share of all assignments, the observed one among them, that reach the observed
            count; Monte Carlo: (1 + b) / (1 + n), where b of n random assignments reach it.
        permutations: number of assignments counted.
        exact: whether these are all assignments.
        smallest_p: p of the most extreme count; 2 / n if swapping the groups, which changes no count, is an assignment.
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
        observed, mean = int(counts[0]), float(drawn.mean())
        p = float((counts >= observed).mean())  # row 0 is the 1 of (1 + b) / (1 + n)
        smallest_p = (1 + mirrored * self.exact) / len(counts)
        return CountNull(observed, mean, float(low), float(high), p, len(drawn), self.exact, smallest_p, drawn)


def assign(first: int, second: int, *, permutations: int = 1000, seed: int = 0, paired: bool = False) -> Assignments:
    """Return all assignments of members to two groups of these sizes, or random ones where there are too many.

    Args:
        first: size of the first group, K1; it holds the members that come first.
        second: size of the second group, K2.
        permutations: number of assignments to draw where there are more; else all are listed.
        seed: seed of the draw.
        paired: whether members i of both groups stay in different groups: 2^K assignments, not K1 + K2 over K1.

    Raises:
        InputError: an empty group, no permutations, or pairs of groups that differ in size.

    Example:
        >>> assign(1, 2).first.astype(int).tolist(), assign(30, 30).exact
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], False)
    """
    require(first >= 1, "first", first, "1 member or more")
    require(second >= 1, "second", second, "1 member or more")
    require(permutations >= 1, "permutations", permutations, "1 or more")
    require(not paired or first == second, "second", second, f"{first} members, as many as the first group, for pairs")
    members = first + second
    rng = np.random.default_rng(seed)
    exact = (2**first if paired else math.comb(members, first)) <= permutations
    if paired:
        if exact:
            swapped = np.array(list(itertools.product((False, True), repeat=first)))
        else:
            swapped = np.concatenate([np.zeros((1, first), bool), rng.random((permutations, first)) < 0.5])
        rows = np.concatenate([~swapped, swapped], axis=1)
    elif exact:
        chosen = np.array(list(itertools.combinations(range(members), first)))
        rows = (chosen[:, :, None] == np.arange(members)).any(1)
    else:
        rows = np.tile(np.arange(members) < first, (1 + permutations, 1))
        rng.permuted(rows[1:], axis=1, out=rows[1:])
    return Assignments(rows, exact)


def count_changed_modes(
    first: np.ndarray, ranked: np.ndarray, probabilities: np.ndarray | None = None, *, ties: str = "lowest"
) -> np.ndarray:
    """Count the examples whose modal label differs between the first group and the other members, `(P,)` int64.

    Votes are counted by matrix products of assignments with top-1 classes. Classes that can be the mode of neither
    group under any assignment are skipped, and so are examples with one such class left; the counts stay exact.

    Args:
        first: `(P, n)` booleans, true for members of the first group, of the same size >= 1 in all rows.
        ranked: `(n, N, k)` integers, the members' classes, best first; only ties="confidence" needs k > 1.
        probabilities: `(n, N, k)` floats in [0, 1], for ties="confidence".
        ties: which of the most frequent classes is the mode: "lowest", "highest", or "confidence", the highest sum of
            probabilities over the group's members and stored ranks, to about 13 digits.

    Example:
        >>> count_changed_modes(np.array([[True, True, False]]), np.array([[[3], [7]], [[3], [7]], [[3], [8]]]))
        array([1])
    """
    group = first.astype(np.float64 if ties == "confidence" else np.float32)
    smallest = int(min(first[0].sum(), (~first[0]).sum()))
    changed = np.zeros(len(first), np.int64)
    step = max(1, COUNTS_AT_ONCE // len(first))
    for examples, candidates in _contested(ranked[:, :, 0], smallest):
        for part in (slice(start, start + step) for start in range(0, len(examples), step)):
            likely = None if ties != "confidence" or probabilities is None else probabilities[:, examples[part]]
            rows = ranked[:, examples[part]]
            changed += _count_block(group, rows, candidates[part], likely, highest=ties == "highest")
    return changed


def _contested(top1: np.ndarray, smallest: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each m the positions `(E,)` of examples with m classes that can win, and those `(E, m)`, ascending.

    A class with v of the n votes can be the mode of a group of K only if the members can fill the group without giving
    any class more than v votes: if the sum over classes of min(votes, v) is at least K.
    """
    split = np.flatnonzero((top1 != top1[0]).any(0))
    span = int(top1.max()) + 1
    pairs, votes = np.unique(np.arange(len(split)) * span + top1[:, split], return_counts=True)
    example = pairs // span
    order = np.lexsort((votes, example))
    example, votes, pairs = example[order], votes[order], pairs[order]
    bounds = np.searchsorted(example, np.arange(len(split) + 1))
    fewer = np.cumsum(votes) - np.r_[0, np.cumsum(votes)][bounds[example]]  # votes up to here, within the example
    fills = fewer + votes * (bounds[example + 1] - 1 - np.arange(len(votes)))
    pairs = np.sort(pairs[fills >= smallest])
    example, choice = np.divmod(pairs, span)
    rivals = np.bincount(example, minlength=len(split))
    for m in np.unique(rivals[rivals > 1]):
        yield split[rivals == m], choice[rivals[example] == m].reshape(-1, m)


def _count_block(
    group: np.ndarray, ranked: np.ndarray, candidates: np.ndarray, likely: np.ndarray | None, *, highest: bool
) -> np.ndarray:
    """Return the number `(P,)` of examples of a block whose winners differ; ascending candidates settle ties."""
    winner = np.zeros((2, len(group), len(candidates)), np.int8)
    best = np.full(winner.shape, -1, group.dtype)
    for j, choice in enumerate(candidates.T):
        vote = _votes(ranked, choice, likely).astype(group.dtype)
        votes = group @ vote
        for now, leader, top in zip((votes, vote.sum(0) - votes), winner, best, strict=True):
            wins = now >= top if highest else now > top
            np.copyto(leader, j, where=wins)
            np.copyto(top, now, where=wins)
    return (winner[0] != winner[1]).sum(1)


def _votes(ranked: np.ndarray, choice: np.ndarray, likely: np.ndarray | None) -> np.ndarray:
    """Return `(n, E)` votes of each member for one class per example; probabilities, below one vote, break ties."""
    voted = ranked[:, :, 0] == choice
    if likely is None:
        return voted
    members = len(ranked)
    # Multiples of a power of two, so coarse that no sum is rounded: equal sums are equal in any order of summation.
    grain = 2.0 ** (np.ceil(2 * np.log2(members + 2)) - 52)
    mass = np.where(ranked == choice[:, None], likely, 0).sum(-1, dtype=np.float64)
    return voted * (members + 1.0) + np.round(mass / grain) * grain


def count_significant(
    first: np.ndarray, values: np.ndarray, shift: np.ndarray | None = None, *, alpha: float = 0.05
) -> np.ndarray:
    """Count the columns with p <= alpha for every assignment: `(P,)` int64. Arguments as in `permuted_welch`.

    Example:
        >>> values = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [2.0, 7.0], [4.0, 8.0], [6.0, 9.0]])
        >>> count_significant(np.array([[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0]], bool), values)
        array([1, 0])
    """
    step = max(1, TESTS_AT_ONCE // values.shape[1])
    blocks = (first[start : start + step] for start in range(0, len(first), step))
    return np.concatenate([(permuted_welch(block, values, shift) <= alpha).sum(1) for block in blocks])


def permuted_welch(first: np.ndarray, values: np.ndarray, shift: np.ndarray | None = None) -> np.ndarray:
    """Compute two-sided p-values of Welch's tests between the members in the first group and the others, `(P, C)`.

    The moments of all groups are matrix products of the assignments with the values and their squares.

    Args:
        first: `(P, n)` booleans, true for members of the first group, of the same size >= 2 in all rows.
        values: `(n, C)` floats, shares; means that differ by less than 1e-12 count as equal. NaN in a column gives NaN.
        shift: `(n,)` floats, by default 0; their mean over a group is subtracted from its mean, not from its variance.

    Example:
        >>> values = np.array([[1.0], [2.0], [3.0], [2.0], [4.0], [6.0]])
        >>> permuted_welch(np.array([[1, 1, 1, 0, 0, 0]], bool), values).round(4)
        array([[0.2209]])
    """
    shift = np.zeros(len(values)) if shift is None else shift - shift.mean()
    # Centred, so that the variance is not a small difference of large numbers; exactly 0 where all members are equal.
    values = values - np.where(values.min(0) == values.max(0), values[0], values.mean(0))
    # Rounding must not decide whether a group is constant: the ranks of the values are exact.
    ranks = stats.rankdata(values, method="dense", axis=0)
    means, errors, free = [], [], []
    for group in (first, ~first):
        size = int(group[0].sum())
        members = group.astype(np.float64)
        mean = members @ values / size
        variance = np.maximum(members @ values**2 - size * mean**2, 0) / (size - 1)
        constant = size * (members @ ranks**2) == (members @ ranks) ** 2
        errors.append(np.where(constant, 0.0, variance / size))
        means.append(mean - (members @ shift / size)[:, None])
        free.append(size - 1)
    return welch_from_moments(np.round(means[0] - means[1], 12), errors[0], free[0], errors[1], free[1])[2]
