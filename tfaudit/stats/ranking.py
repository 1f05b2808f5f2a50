"""Ranked classes of examples, and how scores are ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tfaudit.errors import InputError, require, require_one_of
from tfaudit.stats.ties import Ties

TOLERANCE = 0.001
"""How far probabilities may lie outside [0, 1], and their sum from 1: rounding, in float16 too."""

_SURELY_LOGIT = -0.1
"""A score below is no probability, however far it was calibrated or rounded away from one."""

SCORE_KINDS = {"auto": None, "probabilities": True, "logits": False}
"""Kinds of scores, and whether they are probabilities; None means that their values decide."""


class _ClassesAndProbabilities(NamedTuple):
    """Classes and probabilities, which callers unpack from `RankedClasses`."""

    classes: np.ndarray
    probabilities: np.ndarray | None


class RankedClasses(_ClassesAndProbabilities):
    """The best classes of N examples, best first: `(N, k)` integers, and probabilities in [0, 1], None if unknown.

    It is a pair, so that `classes, probabilities = tfaudit.predict(...)` works, with two more attributes.

    Attributes:
        ties: the examples whose best score several classes share; `classes` lists the lower class number first.
        contents: hash of each example, `(N,)` bytes, by which `Predictions` knows exact copies; None if unknown.
    """

    ties: Ties
    contents: np.ndarray | None

    def __new__(
        cls,
        classes: np.ndarray,
        probabilities: np.ndarray | None = None,
        ties: Ties | None = None,
        contents: np.ndarray | None = None,
    ) -> RankedClasses:
        """Join the parts; no ties by default."""
        ranked = super().__new__(cls, classes, probabilities)
        ranked.ties = Ties.none() if ties is None else ties
        ranked.contents = contents
        return ranked

    @classmethod
    def joined(cls, parts: Sequence[RankedClasses]) -> RankedClasses:
        """Join tables of equally many classes, one below the other; probabilities are kept if all have them.

        Example:
            >>> RankedClasses.joined([RankedClasses(np.array([[1, 0]])), RankedClasses(np.array([[0, 1]]))]).classes
            array([[1, 0],
                   [0, 1]])
        """
        known = [part.probabilities for part in parts if part.probabilities is not None]
        hashed = [part.contents for part in parts if part.contents is not None]
        ties = Ties.joined([part.ties for part in parts], [len(part.classes) for part in parts])
        return cls(
            np.concatenate([part.classes for part in parts]),
            np.concatenate(known) if len(known) == len(parts) else None,
            ties,
            np.concatenate(hashed) if len(hashed) == len(parts) else None,
        )

    def take(self, rows: np.ndarray) -> RankedClasses:
        """Return the given examples, in the given order."""
        probabilities = None if self.probabilities is None else self.probabilities[rows]
        contents = None if self.contents is None else self.contents[rows]
        return RankedClasses(self.classes[rows], probabilities, self.ties.take(rows), contents)


def surely_ranked(ranked: RankedClasses, num_classes: int) -> np.ndarray:
    """Return which stored classes are among the best however the classes are numbered, `(N, k)` booleans.

    Where scores tie, as those of int8 do, a class at the last stored probability may share it with one that is not
    stored, and which of them is stored is a matter of their numbers. If no stored scores tie, none is taken to do so.

    Example:
        >>> ranked = rank_scores([np.array([[0.5, 0.125, 0.125, 0.125, 0.125], [0.4, 0.3, 0.2, 0.1, 0]])], k=3)
        >>> surely_ranked(ranked, 5).tolist()
        [[True, False, False], [True, True, False]]
    """
    classes, probabilities = ranked
    if classes.shape[1] >= num_classes or probabilities is None:
        return np.ones(classes.shape, bool)
    if not ranked.ties and not (probabilities[:, 1:] == probabilities[:, :-1]).any():
        return np.ones(classes.shape, bool)
    sure = probabilities > probabilities[:, -1:]
    sure[:, 0] |= (
        ranked.ties.counts(len(classes)) == 1
    )  # all classes that tie for the first place are known
    return sure


def stated_kind(scores_are: str) -> bool | None:
    """Return whether a word of `SCORE_KINDS` means probabilities, None for "auto"; other words raise `InputError`.

    Example:
        >>> stated_kind("logits")
        False
    """
    require_one_of("scores_are", scores_are, SCORE_KINDS)
    return SCORE_KINDS[scores_are]


def scores_of_both(
    scores: np.ndarray, probabilities: bool | None = None
) -> tuple[np.ndarray, bool]:
    """Return the scores `(..., 2)` of two classes from those of class 1, and whether they are probabilities.

    Args:
        scores: numbers of any shape.
        probabilities: whether scores are probabilities, not logits. By default they are if all lie in [0, 1] within
            0.001, and logits if they have both signs.

    Raises:
        InputError: scores that are not finite, or that may be either, such as percentages.

    Example:
        >>> scores_of_both(np.array([0.75, 0.5])), scores_of_both(np.array([-3.0, 2.0]))
        ((array([[0.25, 0.75],
               [0.5 , 0.5 ]]), True), (array([[ 0., -3.],
               [ 0.,  2.]]), False))
    """
    scores = np.asarray(scores, np.result_type(scores, np.float32))
    if not np.isfinite(scores).all():
        row = tuple(int(place) for place in np.argwhere(~np.isfinite(scores))[0])
        raise InputError("scores", f"{scores[row]} in row {row[-1]}", "finite numbers")
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    if probabilities is None:
        probabilities = are_probabilities(low, high)
        if not probabilities and not (low < _SURELY_LOGIT and high > 0):
            expected = "numbers in [0, 1], logits of both signs, or scores_are (--scores-are) set"
            raise InputError("scores", f"one score per example, {low:.4g} to {high:.4g}", expected)
    first = 1 - scores if probabilities else np.zeros_like(scores)
    return np.stack([first, scores], axis=-1), probabilities


def are_probabilities(low: float, high: float) -> bool:
    """Return whether numbers from `low` to `high` lie in [0, 1], within `TOLERANCE`.

    Example:
        >>> are_probabilities(-1e-16, 1.0000001), are_probabilities(-3, 2)
        (True, False)
    """
    return bool(low >= -TOLERANCE and high <= 1 + TOLERANCE)


def sum_to_one(blocks: Iterable[np.ndarray]) -> bool:
    """Return whether all rows of blocks `(rows, C)` are probabilities that sum to 1, within `TOLERANCE`.

    Example:
        >>> sum_to_one([np.array([[0.25, 0.75]])]), sum_to_one([np.array([[0.25, 0.75], [0.5, 0.75]])])
        (True, False)
    """
    return all(
        are_probabilities(block.min(), block.max())
        and bool((abs(block.sum(1) - 1) <= TOLERANCE).all())
        for block in blocks
        if block.size
    )


def rank_scores(
    blocks: Iterable[np.ndarray],
    *,
    k: int = 5,
    probabilities: bool | None = None,
    classes: np.ndarray | None = None,
) -> RankedClasses:
    """Rank the classes of each example, the lower of equals first; logits are put through softmax.

    Args:
        blocks: blocks of examples, `(rows, C)` numbers each; only one block is in memory at a time.
        k: number of ranks, 5 by default; at most C are returned.
        probabilities: whether scores are probabilities, not logits. By default they are if all lie in [0, 1] and all
            rows sum to 1, within 0.001, and logits if any lies outside [0, 1].
        classes: the only classes to rank, in rising order; their probabilities are renormalized to sum to 1, and are
            equal if all of them are 0. All classes by default.

    Returns:
        Classes in the smallest integer type, probabilities in the type of the scores, float32 or wider, and the
        examples whose largest score several classes share exactly, before any softmax.

    Raises:
        InputError: no examples, a score that is not finite, an unknown class, probabilities outside [0, 1], or scores
            that may be either: all in [0, 1], but rows do not sum to 1; nearly in [0, 1], and rows do; or percentages.

    Example:
        >>> ranked = rank_scores([np.array([[0.25, 0.5, 0.25]]), np.array([[0.0, 0.0, 1.0]])], k=2)
        >>> ranked.classes.tolist(), ranked.probabilities.tolist()
        ([[1, 0], [2, 0]], [[0.5, 0.25], [1.0, 0.0]])
    """
    rows = 0
    scale = _Scale(probabilities)
    parts = []
    for block in blocks:
        scores = np.array(block, np.result_type(block, np.float32))
        if scores.size:
            scale.add(scores, rows)
            rows += len(scores)
            parts.append(_RankedBlock.of(scores, k, classes))
    if not rows:
        raise InputError("scores", "no examples", "at least one")
    best = np.concatenate([part.best for part in parts])
    sums = np.concatenate([part.sums for part in parts])
    if not scale.are_probabilities():
        with np.errstate(over="ignore", under="ignore"):
            exponentials = np.concatenate([part.exponentials for part in parts])
            top = np.exp(best - best[:, :1]) / exponentials
    elif classes is None:
        top = best.clip(0, 1)
    else:
        top = np.where(sums > 0, best.clip(0, 1), 1 / len(classes)) / np.where(sums > 0, sums, 1)
    tied = Ties.joined([part.ties for part in parts], [len(part.classes) for part in parts])
    ranked = np.concatenate([part.classes for part in parts])
    return RankedClasses(ranked, top.astype(best.dtype, copy=False), tied)


class _Scale:
    """Whether scores are probabilities: as stated, or if nothing is stated, by the values of all blocks."""

    def __init__(self, stated: bool | None) -> None:
        self._stated, self._in_range = stated, True
        self._least_sum, self._largest_sum = np.inf, -np.inf
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, scores: np.ndarray, first_row: int) -> None:
        """Look at a block; raise `InputError` if scores are not finite, or not probabilities although stated."""
        for row, column in np.argwhere(~np.isfinite(scores)):
            place = f"row {first_row + row}, class {column}"
            raise InputError("scores", f"{scores[row, column]} in {place}", "finite numbers")
        low, high = scores.min(), scores.max()
        self._lowest = min(self._lowest, low)
        self._highest = max(self._highest, high)
        self._in_range &= are_probabilities(low, high)
        if self._stated and not self._in_range:
            raise InputError("scores", f"{low:.4g} to {high:.4g}", "probabilities in [0, 1]")
        sums = scores.sum(1)
        self._least_sum = min(self._least_sum, float(sums.min()))
        self._largest_sum = max(self._largest_sum, float(sums.max()))

    def are_probabilities(self) -> bool:
        """Return whether the scores are probabilities; raise `InputError` if they may be either."""
        if self._stated is not None:
            return self._stated
        stated = "or scores_are (--scores-are) set to probabilities or logits"
        sums_to = {total: self._sums_to(total) for total in (1, 100)}
        if self._in_range and not sums_to[1]:
            got = f"scores in [0, 1] with row sums of {self._least_sum:.4g} to {self._largest_sum:.4g}"
            raise InputError("scores", got, f"sums of 1, {stated}")
        if sums_to[1] and not self._in_range and self._lowest >= _SURELY_LOGIT:
            got = f"rows that sum to 1, of scores from {self._lowest:.4g} to {self._highest:.4g}"
            raise InputError("scores", got, f"scores in [0, 1], {stated}")
        if self._lowest >= -100 * TOLERANCE and sums_to[100]:
            got = "percentages: each row sums to 100"
            raise InputError("scores", got, "probabilities in [0, 1], the scores divided by 100")
        return self._in_range

    def _sums_to(self, total: int) -> bool:
        ends = np.array([self._least_sum, self._largest_sum])
        return bool((abs(ends / total - 1) <= TOLERANCE).all())


class _RankedBlock(NamedTuple):
    """The best classes of a block of examples, and the sums from which their probabilities follow.

    Attributes:
        classes, best: `(rows, k)` classes and their scores.
        ties: examples whose best score several classes share.
        exponentials: `(rows, 1)` sums of exponentials of the scores less the largest.
        sums: `(rows, 1)` sums of the scores as probabilities.
    """

    classes: np.ndarray
    best: np.ndarray
    ties: Ties
    exponentials: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, k: int, classes: np.ndarray | None) -> _RankedBlock:
        """Rank a block, among `classes` only if given. Overwrites the scores."""
        if classes is not None:
            most = scores.shape[1] - 1
            require(classes[-1] <= most, "classes", int(classes[-1]), f"classes from 0 to {most}")
            scores = scores[:, classes]
        # A difference beyond the largest float becomes exp(-inf).
        with np.errstate(over="ignore", under="ignore"):
            exponentials = np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True)
        sums = scores.clip(0, 1).sum(1, keepdims=True)
        ties = Ties.of_scores(scores)
        positions, best = _best(scores, min(k, scores.shape[1]))
        if classes is not None:
            positions = classes[positions]
            ties = Ties(ties.rows, classes[ties.classes])
        return cls(positions, best, ties, exponentials, sums)


def _best(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values of the k largest scores of each row. Overwrites the scores."""
    positions = np.empty((len(scores), k), np.min_scalar_type(scores.shape[1] - 1))
    if k > 16:
        positions[:] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return positions, np.take_along_axis(scores, positions.astype(np.intp), 1)
    values = np.empty((len(scores), k), scores.dtype)
    row = np.arange(len(scores))
    # A few passes are faster than a sort, and stable where a partition is not.
    for rank in range(k):
        positions[:, rank] = scores.argmax(1)
        values[:, rank] = scores[row, positions[:, rank]]
        scores[row, positions[:, rank]] = -np.inf
    return positions, values
