"""Ranked classes of examples, and how scores are ranked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tfaudit.errors import InputError, require
from tfaudit.stats.ties import Ties

TOLERANCE = 0.001
"""How far the probabilities of an example may sum to more or less than 1, in float16 too."""

SCORE_KINDS = {"auto": None, "probabilities": True, "logits": False}
"""What scores may be said to be, and whether they are probabilities: None is decided by their values."""


class _ClassesAndProbabilities(NamedTuple):
    """What callers unpack of `RankedClasses`."""

    classes: np.ndarray
    probabilities: np.ndarray | None


class RankedClasses(_ClassesAndProbabilities):
    """The best classes of N examples, best first: `(N, k)` integers, and probabilities in [0, 1], None if unknown.

    A pair, so that `classes, probabilities = tfaudit.predict(...)` works, with an attribute beside it.

    Attributes:
        ties: the examples whose best score several classes share; `classes` has the lower one of equals first.
    """

    ties: Ties

    def __new__(
        cls, classes: np.ndarray, probabilities: np.ndarray | None = None, ties: Ties | None = None
    ) -> RankedClasses:
        """Join the parts; no ties by default."""
        ranked = super().__new__(cls, classes, probabilities)
        ranked.ties = Ties.none() if ties is None else ties
        return ranked

    def take(self, rows: np.ndarray) -> RankedClasses:
        """Return the given examples, in the given order."""
        probabilities = None if self.probabilities is None else self.probabilities[rows]
        return RankedClasses(
            self.classes[rows], probabilities, self.ties.take(rows, len(self.classes))
        )


def stated_kind(scores_are: str) -> bool | None:
    """Return whether scores are probabilities, of `SCORE_KINDS`; other words raise `InputError`.

    Example:
        >>> stated_kind("logits")
        False
    """
    require(scores_are in SCORE_KINDS, "scores_are", scores_are, ", ".join(SCORE_KINDS))
    return SCORE_KINDS[scores_are]


def scores_of_both(
    scores: np.ndarray, probabilities: bool | None = None
) -> tuple[np.ndarray, bool]:
    """Return the scores `(..., 2)` of two classes from those of class 1, and whether they are probabilities.

    Args:
        scores: numbers of any shape.
        probabilities: whether they are probabilities, not logits; by default they are if all lie in [0, 1].

    Example:
        >>> scores_of_both(np.array([0.75, 0.5])), scores_of_both(np.array([-3.0]))
        ((array([[0.25, 0.75],
               [0.5 , 0.5 ]]), True), (array([[ 0., -3.]]), False))
    """
    if probabilities is None:
        probabilities = bool((scores >= 0).all() and (scores <= 1).all())
    return np.stack(
        [1 - scores if probabilities else np.zeros_like(scores), scores], axis=-1
    ), probabilities


def rank_scores(
    blocks: Iterable[np.ndarray],
    *,
    k: int = 5,
    probabilities: bool | None = None,
    classes: np.ndarray | None = None,
) -> RankedClasses:
    """Rank the classes of each example, the lower of equals first; logits are put through softmax.

    Args:
        blocks: `(rows, C)` numbers, one block of examples after the other; only one is in memory.
        k: number of ranks; at most C are returned.
        probabilities: whether scores are probabilities, not logits. By default they are if all lie in [0, 1] and all
            rows sum to 1 within 0.001, and logits if any lies outside [0, 1].
        classes: the only classes to rank, in rising order; their probabilities are renormalized to sum to 1, and are
            equal where all of them are 0. All classes by default.

    Returns:
        Classes in the smallest integer type, probabilities in the type of the scores, float32 or wider, and the
        examples whose largest score several classes share exactly, before any softmax.

    Raises:
        InputError: no examples, a score that is not finite, an unknown class, probabilities outside [0, 1], or scores
            that may be either: all in [0, 1], but rows do not sum to 1.

    Example:
        >>> ranked = rank_scores([np.array([[0.25, 0.5, 0.25]]), np.array([[0.0, 0.0, 1.0]])], k=2)
        >>> ranked.classes.tolist(), ranked.probabilities.tolist()
        ([[1, 0], [2, 0]], [[0.5, 0.25], [1.0, 0.0]])
    """
    ranked, best, ties, exponentials, sums = [], [], [], [], []
    rows, in_range, least, most = 0, True, np.inf, -np.inf
    for block in blocks:
        scores = np.array(block, np.result_type(block, np.float32))
        if not scores.size:
            continue
        for row, column in np.argwhere(~np.isfinite(scores)):
            place = f"row {rows + row}, class {column}"
            raise InputError("scores", f"{scores[row, column]} in {place}", "finite numbers")
        rows += len(scores)
        in_range = in_range and scores.min() >= 0 and scores.max() <= 1 + TOLERANCE
        if probabilities and not in_range:
            raise InputError(
                "scores", f"{scores.min():.4g} to {scores.max():.4g}", "probabilities in [0, 1]"
            )
        if probabilities is None and in_range:
            totals = scores.sum(1)
            least, most = min(least, float(totals.min())), max(most, float(totals.max()))
        if classes is not None:
            if classes[-1] >= scores.shape[1]:
                raise InputError(
                    "classes", str(classes[-1]), f"classes from 0 to {scores.shape[1] - 1}"
                )
            scores = scores[:, classes]
            sums.append(scores.clip(0, 1).sum(1, keepdims=True))
        if probabilities is not True:
            with np.errstate(
                over="ignore", under="ignore"
            ):  # a difference beyond the largest float becomes exp(-inf)
                exponentials.append(
                    np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True)
                )
        tied = Ties.of_scores(scores)
        ties.append(tied if classes is None else Ties(tied.rows, classes[tied.classes]))
        positions, values = _best(scores, min(k, scores.shape[1]))
        ranked.append(positions if classes is None else classes[positions])
        best.append(values)
    if not rows:
        raise InputError("scores", "no examples", "at least one")
    if probabilities is None and in_range and max(1 - least, most - 1) > TOLERANCE:
        got = f"scores in [0, 1] with row sums of {least:.4g} to {most:.4g}"
        raise InputError(
            "scores", got, "sums of 1, or scores_are (--scores-are) set to probabilities or logits"
        )
    top = np.concatenate(best)
    if not (in_range if probabilities is None else probabilities):
        with np.errstate(over="ignore", under="ignore"):
            top = np.exp(top - top[:, :1]) / np.concatenate(exponentials)
    elif classes is None:
        top = top.clip(0, 1)
    else:
        total = np.concatenate(sums)
        top = np.where(total > 0, top.clip(0, 1), 1 / len(classes)) / np.where(total > 0, total, 1)
    tied = Ties.joined(ties, [len(part) for part in ranked])
    return RankedClasses(np.concatenate(ranked), top.astype(best[0].dtype, copy=False), tied)


def _best(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values of the k largest scores of each row. Overwrites the scores."""
    positions = np.empty((len(scores), k), np.min_scalar_type(scores.shape[1] - 1))
    if k > 16:
        positions[:] = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return positions, np.take_along_axis(scores, positions.astype(np.intp), 1)
    values = np.empty((len(scores), k), scores.dtype)
    row = np.arange(len(scores))
    for rank in range(
        k
    ):  # a few passes are faster than a sort, and stable where a partition is not
        positions[:, rank] = scores.argmax(1)
        values[:, rank] = scores[row, positions[:, rank]]
        scores[row, positions[:, rank]] = -np.inf
    return positions, values
