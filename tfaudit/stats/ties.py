"""Exact ties for the first place: predictions whose best score several classes share, as the 256 steps of int8 cause.

A tie counts as its expectation under random settlement: each of the m classes is the prediction with probability 1/m.
If ties were settled by class number, as `argmax` does, the same classes would win in every member, and no number of
images or members would reveal it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Ties:
    """The classes of the predictions that tie, T in all. Predictions are rows of a table; most are in no tie.

    Attributes:
        rows: `(T,)` integers, the row of each class, ascending.
        classes: `(T,)` integers, the classes of a row ascending; two or more in each row.
    """

    rows: np.ndarray
    classes: np.ndarray

    @classmethod
    def none(cls) -> Ties:
        """Return no ties."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @classmethod
    def of_scores(cls, scores: np.ndarray) -> Ties:
        """Return the ties of scores `(N, C)`: the rows in which more than one class has exactly the largest score.

        Example:
            >>> Ties.of_scores(np.array([[1, 3, 3], [2, 1, 0]])).classes
            array([1, 2])
        """
        best = scores == scores.max(1, keepdims=True)
        rows, classes = np.nonzero(best & (best.sum(1, keepdims=True) > 1))
        return cls(rows, classes)

    @classmethod
    def joined(cls, parts: Sequence[Ties], rows: Sequence[int]) -> Ties:
        """Join the ties of tables that are stacked one below the other; `rows` holds the number of rows of each."""
        starts = np.cumsum([0, *rows])
        shifted = [part.rows + start for part, start in zip(parts, starts, strict=False)]
        return cls(np.concatenate(shifted), np.concatenate([part.classes for part in parts]))

    def __bool__(self) -> bool:
        return len(self.rows) > 0

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """Return the number of classes in the tie of each entry, `(T,)` integers."""
        _, place, sizes = np.unique(self.rows, return_inverse=True, return_counts=True)
        return sizes[place]

    def counts(self, rows: int) -> np.ndarray:
        """Return how many classes share the first place in each of `rows` rows, `(R,)` integers; 1 without a tie."""
        return np.maximum(np.bincount(self.rows, minlength=rows), 1)

    def block(self, number: int, rows: int) -> Ties:
        """Return the ties of one table, from tables of `rows` rows each that `joined` has stacked."""
        if not self:
            return self
        part = slice(*np.searchsorted(self.rows, [number * rows, (number + 1) * rows]))
        return Ties(self.rows[part] - number * rows, self.classes[part])

    def take(self, rows: np.ndarray) -> Ties:
        """Return the ties of some rows, in the given order."""
        if not self:
            return self
        starts, ends = (np.searchsorted(self.rows, rows, side) for side in ("left", "right"))
        lengths = ends - starts
        new = np.repeat(np.arange(len(lengths)), lengths)
        within = np.arange(len(new)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Ties(new, self.classes[np.repeat(starts, lengths) + within])


@dataclasses.dataclass(frozen=True)
class BestClasses:
    """The best class of each of R predictions, or several that tie.

    Attributes:
        first: `(R,)` integers, the best class; in a tie the one with the lowest number.
        ties: all classes of the predictions that tie.
    """

    first: np.ndarray
    ties: Ties

    def among_best(self, classes: np.ndarray) -> np.ndarray:
        """Return the probability that `classes` `(R,)` are the predictions, `(R,)` in [0, 1].

        Example:
            >>> best = BestClasses(np.array([1, 0]), Ties(np.array([0, 0]), np.array([1, 2])))
            >>> best.among_best(np.array([2, 0]))
            array([0.5, 1. ])
        """
        shares = (self.first == classes).astype(float)
        settle_ties(shares, self.ties, classes)
        return shares

    def votes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the row, the class and the vote of every best class: 1, or 1/m for each of m that tie."""
        if not self.ties:
            return np.arange(len(self.first)), self.first, np.ones(len(self.first))
        alone = np.ones(len(self.first), bool)
        alone[self.ties.rows] = False
        rows = np.flatnonzero(alone)
        return (
            np.concatenate([rows, self.ties.rows]),
            np.concatenate([self.first[rows], self.ties.classes]),
            np.concatenate([np.ones(len(rows)), 1 / self.ties.sizes]),
        )

    def agreement(self, other: BestClasses) -> np.ndarray:
        """Return the probability that both predictions of a row are the same class, `(R,)` in [0, 1].

        If m and n classes tie, c of them on both sides, it is c / max(m, n): a tie is settled alike on both sides as
        far as possible, so predictions that tie in the same way do not differ.

        Example:
            >>> tie = BestClasses(np.array([1]), Ties(np.array([0, 0]), np.array([1, 2])))
            >>> tie.agreement(BestClasses(np.array([2]), Ties.none()))
            array([0.5])
            >>> tie.agreement(tie)
            array([1.])
        """
        same = (self.first == other.first).astype(float)
        tied = np.union1d(self.ties.rows, other.ties.rows)
        if not len(tied):
            return same
        sides = self.first, other.first, self.ties.classes, other.ties.classes
        span = 1 + max(int(classes.max(initial=0)) for classes in sides)
        own_keys, own_votes = self._votes_in(tied, span)
        other_keys, other_votes = other._votes_in(tied, span)
        keys, own, others = np.intersect1d(
            own_keys, other_keys, assume_unique=True, return_indices=True
        )
        common = np.minimum(own_votes[own], other_votes[others])
        same[tied] = np.bincount(keys // span, common, len(tied))
        return same

    def differences(self, other: BestClasses) -> float:
        """Return the expected number of rows whose predictions differ; see `agreement`."""
        if not self.ties and not other.ties:  # counting is faster
            return float(np.count_nonzero(self.first != other.first))
        return float((1 - self.agreement(other)).sum())

    def names(self, class_names: Sequence[str]) -> np.ndarray:
        """Return the names of the predictions, `(R,)` strings; a tie gives all its names in alphabetical order.

        Example:
            >>> BestClasses(np.array([0]), Ties(np.array([0, 0]), np.array([0, 1]))).names(["dog", "cat"])[0]
            'cat or dog'
        """
        texts = np.array(class_names, object)[self.first]
        rows, starts = np.unique(self.ties.rows, return_index=True)
        for row, classes in zip(rows, np.split(self.ties.classes, starts[1:]), strict=False):
            texts[row] = " or ".join(sorted(class_names[i] for i in classes))
        return texts

    def _votes_in(self, rows: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the votes of some rows, ascending, and their keys: position of the row times `span` plus class."""
        position, classes, votes = BestClasses(self.first[rows], self.ties.take(rows)).votes()
        return position * span + classes, votes


def settle_ties(shares: np.ndarray, ties: Ties, classes: np.ndarray, k: int = 1) -> None:
    """Set the shares of predictions in ties of more than k classes to their chance of being among the k best, in place.

    Args:
        shares: `(R,)` floats, modified in place.
        ties: ties of the same rows.
        classes: `(R,)` integers, the class of each row whose chance is wanted.
        k: number of places, 1 by default.
    """
    wide = ties.sizes > k
    shares[ties.rows[wide]] = 0.0
    hit = wide & (ties.classes == classes[ties.rows])
    shares[ties.rows[hit]] = k / ties.sizes[hit]
