"""How many modal answers differ between two groups, for many assignments of the members at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["count_changed_modes"]

BLOCK = 2**20
"""Counts held at a time: (assignments, examples) blocks of 4 MB stay near the processor."""


def count_changed_modes(
    first: np.ndarray, ranked: np.ndarray, probabilities: np.ndarray | None = None, *, ties: str = "lowest"
) -> np.ndarray:
    """Counts the examples whose modal answer differs between the members in the first group and the others.

    Votes are counted by matrix products of assignments with answers. Left out are, exactly: answers that can be the
    mode of neither group however the members are assigned, and examples of which one answer remains.

    Args:
        first: `(P, n)` booleans: is the member in the first group? Both groups have members in every row, and as many
            as in every other row.
        ranked: `(n, N, k)` integers, the answers of the members, best first; ties="confidence" alone needs k > 1.
        probabilities: `(n, N, k)` floats in [0, 1], for ties="confidence".
        ties: which of the most frequent answers is the mode: "lowest", "highest", or "confidence", the highest sum of
            probabilities over the group's members and stored ranks, here to about 13 digits.

    Returns:
        `(P,)` int64.

    Example:
        >>> count_changed_modes(np.array([[True, True, False]]), np.array([[[3], [7]], [[3], [7]], [[3], [8]]]))
        array([1])
    """
    group = first.astype(np.float64 if ties == "confidence" else np.float32)
    smallest = int(min(first[0].sum(), (~first[0]).sum()))
    changed = np.zeros(len(first), np.int64)
    step = max(1, BLOCK // len(first))
    for examples, candidates in _contested(ranked[:, :, 0], smallest):
        for start in range(0, len(examples), step):
            part = slice(start, start + step)
            rows = ranked[:, examples[part]]
            likely = None if ties != "confidence" or probabilities is None else probabilities[:, examples[part]]
            changed += _count_block(group, rows, candidates[part], likely, highest=ties == "highest")
    return changed


def _contested(top1: np.ndarray, smallest: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions `(E,)` of the examples with m answers that can win, and those answers `(E, m)`, ascending; for each m.

    An answer with v of the n votes can be the mode of a group of K only if the members can fill the group without
    giving any answer more than v votes: if the sum over answers of min(votes, v) is at least K.
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
    example, answer = np.divmod(pairs, span)
    rivals = np.bincount(example, minlength=len(split))
    for m in np.unique(rivals[rivals > 1]):
        yield split[rivals == m], answer[rivals[example] == m].reshape(-1, m)


def _count_block(
    group: np.ndarray, ranked: np.ndarray, candidates: np.ndarray, likely: np.ndarray | None, *, highest: bool
) -> np.ndarray:
    """`(P,)` examples of one block whose winners differ; candidates come in ascending order, so a tie is an order."""
    best: list[np.ndarray] = []
    winner = [np.zeros((len(group), len(candidates)), np.int8) for _ in range(2)]
    for j, answer in enumerate(candidates.T):
        said = _votes(ranked, answer, likely).astype(group.dtype)
        votes = group @ said
        both = votes, said.sum(0) - votes
        if not best:
            best = [*both]
            continue
        for now, leader, top in zip(both, winner, best, strict=True):
            wins = now >= top if highest else now > top
            np.copyto(leader, j, where=wins)
            np.copyto(top, now, where=wins)
    return (winner[0] != winner[1]).sum(1)


def _votes(ranked: np.ndarray, answer: np.ndarray, likely: np.ndarray | None) -> np.ndarray:
    """`(n, E)` the vote of each member for one answer per example; the probability breaks ties, below one vote."""
    voted = ranked[:, :, 0] == answer
    if likely is None:
        return voted
    members = len(ranked)
    # Multiples of a power of two, so coarse that no sum of them is rounded: equal sums are equal however they are made.
    grain = 2.0 ** (np.ceil(2 * np.log2(members + 2)) - 52)
    mass = np.where(ranked == answer[:, None], likely, 0).sum(-1, dtype=np.float64)
    return voted * (members + 1.0) + np.round(mass / grain) * grain
