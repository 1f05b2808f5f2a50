"""Modal labels: the class that most members of a group predict, and how often two groups disagree on it.

A member whose best classes tie votes for each of them with an equal share.
"""

from collections.abc import Iterator

import numpy as np

from tfaudit.stats.ties import BestClasses, Ties

COUNTS_AT_ONCE = 2**20
"""(classes, groups, examples) cells of a block: its arrays fit the processor's cache."""

VOTES_AT_ONCE = 2**19
"""(members, examples) votes of a block, which take 100 bytes each while they are counted."""

VOTE = 720_720
"""Parts of a vote, so that sums of shares are exact in any order: 1/m of it is whole for every m up to 16."""


class _Votes:
    """Votes of n members on N examples, in parts of `VOTE`.

    `first` is `(n, N)` best classes; `tied` the predictions that tie; row k N + i is member k's prediction for example
    i.
    """

    def __init__(self, first: np.ndarray, tied: Ties | None) -> None:
        self.first = first
        tied = Ties.none() if tied is None else tied
        member, example = np.divmod(tied.rows, first.shape[1])
        order = np.lexsort((member, example))
        self._member = member[order]
        self._example = example[order]
        self._class = tied.classes[order]
        self._parts = (VOTE // tied.sizes)[order]

    def __len__(self) -> int:
        return len(self.first)

    def contested(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the examples whose votes are not unanimous, block by block, ascending, and all votes for them.

        The votes are three arrays: position among the examples of the block, class, and number of parts.
        """
        step = max(1, VOTES_AT_ONCE // len(self))
        for start in range(0, self.first.shape[1], step):
            first = self.first[:, start : start + step]
            tied = slice(*np.searchsorted(self._example, [start, start + step]))
            several = (first != first[0]).any(0)
            several[self._example[tied] - start] = True
            examples = np.flatnonzero(several)
            alone = np.ones((len(self), len(examples)), bool)
            tied_position = np.searchsorted(examples, self._example[tied] - start)
            alone[self._member[tied], tied_position] = False
            position = np.broadcast_to(np.arange(len(examples)), alone.shape)[alone]
            classes = first[:, examples][alone]
            yield (
                examples + start,
                np.concatenate([position, tied_position]),
                np.concatenate([classes.astype(np.int64), self._class[tied]]),
                np.concatenate([np.full(len(position), VOTE), self._parts[tied]]),
            )

    def of(self, choice: np.ndarray, examples: np.ndarray) -> np.ndarray:
        """Return the parts of the members' votes, `(n, E)`, for one class per example; examples are ascending."""
        votes = np.where(self.first[:, examples] == choice, float(VOTE), 0.0)
        block = slice(*np.searchsorted(self._example, [examples[0], examples[-1] + 1]))
        inside = np.isin(self._example[block], examples)
        member, example, classes, parts = (
            array[block][inside]
            for array in (self._member, self._example, self._class, self._parts)
        )
        position = np.searchsorted(examples, example)
        votes[member, position] = 0.0
        chosen = classes == choice[position]
        votes[member[chosen], position[chosen]] = parts[chosen]
        return votes


def modal_classes(first: np.ndarray, tied: Ties | None = None) -> BestClasses:
    """Return the class that most members predict for each of N examples, or several that are predicted equally often.

    Args:
        first: `(n, N)` integers, the members' best classes.
        tied: predictions whose best score several classes share; row k N + i is member k's prediction for example i.
            None by default.

    Example:
        >>> modal_classes(np.array([[4, 1], [9, 1]])).ties.classes
        array([4, 9])
    """
    votes = _Votes(first, tied)
    modes = first[0].copy()
    parts = [Ties.none()]
    for examples, candidates in _contested(votes, len(votes)):
        modes[examples] = candidates[:, 0]
        if candidates.shape[1] > 1:
            parts.append(Ties(np.repeat(examples, candidates.shape[1]), candidates.ravel()))
    ties = Ties.joined(parts, [0] * len(parts))
    order = np.argsort(ties.rows, kind="stable")
    return BestClasses(modes, Ties(ties.rows[order], ties.classes[order]))


def count_changed_modes(
    first: np.ndarray, best: np.ndarray, tied: Ties | None = None
) -> np.ndarray:
    """Count the examples on which the first group and the other members have no modal label in common, `(P,)` int64.

    Args:
        first: `(P, n)` booleans, true for members of the first group, which has the same size >= 1 in all rows.
        best: `(n, N)` integers, the members' best classes.
        tied: predictions that tie, as in `modal_classes`.

    Example:
        >>> count_changed_modes(np.array([[True, True, False]]), np.array([[3, 7], [3, 7], [3, 8]]))
        array([1])
    """
    votes = _Votes(best, tied)
    smallest = int(min(first[0].sum(), (~first[0]).sum()))
    groups = np.stack([first, ~first]).astype(float)
    changed = np.zeros(len(first), np.int64)
    for examples, candidates in _contested(votes, smallest):
        rivals = candidates.shape[1]
        if rivals == 1:
            continue
        step = max(1, COUNTS_AT_ONCE // (2 * len(first) * rivals))
        for start in range(0, len(examples), step):
            block = slice(start, start + step)
            counts = np.stack(
                [groups @ votes.of(choice, examples[block]) for choice in candidates[block].T]
            )
            leads = counts == counts.max(0)
            changed += (~(leads[:, 0] & leads[:, 1]).any(0)).sum(1)
    return changed


def _contested(votes: _Votes, smallest: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each m the positions `(E,)` of examples with m possible winners, and these classes `(E, m)`, ascending.

    Examples that all members predict alike are left out. There are several blocks of examples if there are many.

    A class with v of the n votes can be the mode of a group of K only if the members can fill the group without giving
    any class more than v votes: if the sum over classes of min(votes, v) is at least K. In one group of all members, K
    = n, only the most frequent classes can.
    """
    for split, position, classes, parts in votes.contested():
        span = int(classes.max(initial=0)) + 1
        cells = position * span + classes
        if (parts == VOTE).all():  # counting is faster than adding up
            pairs, count = np.unique(cells, return_counts=True)
            count = count * VOTE
        else:
            pairs, place = np.unique(cells, return_inverse=True)
            count = np.bincount(place.ravel(), parts, len(pairs)).astype(np.int64)
        example = pairs // span
        order = np.lexsort((count, example))
        example = example[order]
        count = count[order]
        pairs = pairs[order]
        bounds = np.searchsorted(example, np.arange(len(split) + 1))
        summed = np.r_[0, np.cumsum(count)]
        fewer = summed[1:] - summed[bounds[example]]  # votes up to here, within the example
        fills = fewer + count * (bounds[example + 1] - 1 - np.arange(len(count)))
        total = np.bincount(example, count, len(split))
        # parts of votes lost to rounding if more than 16 classes share a vote
        rounded_off = len(votes) * VOTE - total[example]
        pairs = np.sort(pairs[fills >= smallest * VOTE - rounded_off])
        example, choice = np.divmod(pairs, span)
        rivals = np.bincount(example, minlength=len(split))
        for m in np.unique(rivals):
            yield split[rivals == m], choice[rivals[example] == m].reshape(-1, m)
