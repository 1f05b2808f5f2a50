"""The best classes of scores that are too many to hold at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tfaudit.errors import InputError

__all__ = ["rank_scores"]


def rank_scores(blocks: Iterable[np.ndarray], *, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Ranks the classes of each example; memory is that of one block.

    Where all rows lie in [0, 1] and sum to 1 they are taken as probabilities; else as logits, which are put through
    softmax. Equal scores rank the lower class first.

    Args:
        blocks: `(rows, C)` numbers, one block of examples after the other.
        k: how many ranks to keep; at most C.

    Returns:
        `(N, k)` classes, best first, in the smallest integer type; `(N, k)` float32 probabilities.

    Raises:
        InputError: no examples, or a score that is not finite.

    Example:
        >>> ranked, probabilities = rank_scores([np.array([[0.25, 0.5, 0.25]]), np.array([[0.0, 0.0, 1.0]])], k=2)
        >>> ranked.tolist(), probabilities.tolist()
        ([[1, 0], [2, 0]], [[0.5, 0.25], [1.0, 0.0]])
    """
    ranked, best, masses = [], [], []
    shares, rows = True, 0
    for block in blocks:
        scores = np.array(block, np.result_type(block, np.float32))
        _require_finite(scores, rows)
        rows += len(scores)
        shares = shares and _are_shares(scores)
        highest = scores.max(1, keepdims=True)
        with np.errstate(over="ignore", under="ignore"):  # a difference beyond the largest float is a mass of 0
            masses.append(np.exp(scores - highest).sum(1, keepdims=True))
        classes, values = _best(scores, min(k, scores.shape[1]))
        ranked.append(classes)
        best.append(values)
    if not rows:
        raise InputError("scores: no examples")
    top = np.concatenate(best)
    if not shares:
        with np.errstate(over="ignore", under="ignore"):
            top = np.exp(top - top[:, :1]) / np.concatenate(masses)
    return np.concatenate(ranked), top.astype(np.float32)


def _best(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest of each row, the first of equals first. Overwrites the scores."""
    classes = np.empty((len(scores), k), np.min_scalar_type(scores.shape[1] - 1))
    values = np.empty((len(scores), k), scores.dtype)
    row = np.arange(len(scores))
    for rank in range(k):  # a few passes are faster than a sort, and stable where a partition is not
        classes[:, rank] = scores.argmax(1)
        values[:, rank] = scores[row, classes[:, rank]]
        scores[row, classes[:, rank]] = -np.inf
    return classes, values


def _are_shares(scores: np.ndarray) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1 and np.allclose(scores.sum(1), 1, atol=1e-3))


def _require_finite(scores: np.ndarray, before: int) -> None:
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise InputError(
            f"scores: {scores[row, column]} in row {before + row}, class {column}; every score must be finite"
        )
