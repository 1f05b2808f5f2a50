"""Modal labels: the class that most members of a group predict, and how often two groups disagree on it."""

from collections.abc import Iterator

import numpy as np

TIES = ("lowest", "highest", "confidence")
"""Which of the most frequent classes is the mode: of lowest or highest index, or of the highest mean probability."""

COUNTS_AT_ONCE = 2**20
"""(groups, examples) cells of a block: its arrays fit the processor's cache."""

GRAIN, TOLERANCE = 2.0**-40, 2.0**-20
"""Probabilities are summed as multiples of the grain, so exactly in any order. Means that differ by at most the
tolerance, 1e-6, are equal: probabilities stored as float32 have no more than seven digits."""


def modal_labels(ranked: np.ndarray, probabilities: np.ndarray | None = None, *, ties: str = "lowest") -> np.ndarray:
    """Return the class that most members predict, `(N,)`, of the type of `ranked`.

    Args:
        ranked: `(n, N, k)` integers, the members' classes, best first; only ties="confidence" needs k > 1.
        probabilities: `(n, N, k)` floats in [0, 1], for ties="confidence".
        ties: of `TIES`. By "confidence" the class of the highest mean probability is the mode, the lowest of those
            whose means are equal to six digits; a class outside a member's stored ranks counts 0 for that member.

    Example:
        >>> ranked = np.array([[[4, 9]], [[9, 4]]])
        >>> modal_labels(ranked), modal_labels(ranked, np.array([[[0.7, 0.2]], [[0.8, 0.1]]]), ties="confidence")
        (array([4]), array([9]))
    """
    everyone = np.ones((1, len(ranked)), bool)
    modes = ranked[0, :, 0].copy()
    for examples, candidates in _contested(ranked[:, :, 0], len(ranked)):
        modes[examples] = candidates[:, 0]
        for block, choices, winner in _winners(everyone, ranked, probabilities, examples, candidates, ties):
            modes[block] = choices[np.arange(len(block)), winner[0, 0]]
    return modes


def count_changed_modes(
    first: np.ndarray, ranked: np.ndarray, probabilities: np.ndarray | None = None, *, ties: str = "lowest"
) -> np.ndarray:
    """Count the examples whose modal label differs between the first group and the other members, `(P,)` int64.

    Arguments but the first as in `modal_labels`, whose labels of the two groups are those that are compared.

    Args:
        first: `(P, n)` booleans, true for members of the first group, of the same size >= 1 in all rows.
        ranked: as in `modal_labels`.
        probabilities: as in `modal_labels`.
        ties: as in `modal_labels`.

    Example:
        >>> count_changed_modes(np.array([[True, True, False]]), np.array([[[3], [7]], [[3], [7]], [[3], [8]]]))
        array([1])
    """
    smallest = int(min(first[0].sum(), (~first[0]).sum()))
    changed = np.zeros(len(first), np.int64)
    for examples, candidates in _contested(ranked[:, :, 0], smallest):
        for _, _, winner in _winners(first, ranked, probabilities, examples, candidates, ties):
            changed += (winner[0] != winner[1]).sum(1)
    return changed


def _winners(
    first: np.ndarray,
    ranked: np.ndarray,
    probabilities: np.ndarray | None,
    examples: np.ndarray,
    candidates: np.ndarray,
    ties: str,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield blocks of examples `(E,)`, their candidates `(E, m)`, and which of them wins in both groups, `(2, P, E)`.

    Votes are counted by matrix products of groups with top-1 classes. A single candidate needs no count.
    """
    likely = probabilities if ties == "confidence" else None
    rivals = candidates.shape[1]
    step = max(1, COUNTS_AT_ONCE // (len(first) * (rivals if likely is not None else 1)))
    for part in (slice(start, start + step) for start in range(0, len(examples) * (rivals > 1), step)):
        block, choices = examples[part], candidates[part]
        if likely is not None:
            yield block, choices, _by_confidence(first, ranked[:, block], choices, likely[:, block])
        else:
            yield block, choices, _by_index(first, ranked[:, block, 0], choices, highest=ties == "highest")


def _contested(top1: np.ndarray, smallest: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each m the positions `(E,)` of examples with m classes that can win, and those `(E, m)`, ascending.

    Examples that all members predict alike are left out.

    A class with v of the n votes can be the mode of a group of K only if the members can fill the group without giving
    any class more than v votes: if the sum over classes of min(votes, v) is at least K. Of all members as one group,
    K = n, only the most frequent classes can.
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
    for m in np.unique(rivals):
        yield split[rivals == m], choice[rivals[example] == m].reshape(-1, m)


def _by_index(first: np.ndarray, top1: np.ndarray, candidates: np.ndarray, *, highest: bool) -> np.ndarray:
    """Return the winners of both groups; ascending candidates settle ties."""
    group = first.astype(np.float32)
    winner = np.zeros((2, len(group), len(candidates)), np.int8)
    best = np.full(winner.shape, -1, group.dtype)
    for j, choice in enumerate(candidates.T):
        voted = (top1 == choice).astype(group.dtype)
        votes = group @ voted
        for now, leader, top in zip((votes, voted.sum(0) - votes), winner, best, strict=True):
            wins = now >= top if highest else now > top
            np.copyto(leader, j, where=wins)
            np.copyto(top, now, where=wins)
    return winner


def _by_confidence(first: np.ndarray, ranked: np.ndarray, candidates: np.ndarray, likely: np.ndarray) -> np.ndarray:
    """Return the winners of both groups; probabilities settle ties, then ascending candidates."""
    groups = np.stack([first, ~first]).astype(np.float64)
    sizes = groups.sum(2)[..., None]
    votes, mass = [], []
    for choice in candidates.T:
        votes.append(groups @ (ranked[:, :, 0] == choice).astype(np.float64))
        own = np.where(ranked == choice[:, None], likely, 0).sum(-1, dtype=np.float64)  # a class has one rank at most
        mass.append(groups @ (np.round(own / GRAIN) * GRAIN))
    leads = np.stack(votes) == np.max(votes, axis=0)
    tied = np.where(leads, mass, -1.0)
    return (tied >= tied.max(0) - TOLERANCE * sizes).argmax(0)
