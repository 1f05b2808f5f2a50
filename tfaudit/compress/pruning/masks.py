"""From scores to masks: which weights stay. `ranking` does the same inside a compiled training step."""

from collections.abc import Mapping

import numpy as np

__all__ = ["SCOPES", "keep_count", "masks"]

SCOPES = ("layer", "global")
"""`layer`: every kernel reaches the sparsity by itself. `global`: the weights of all kernels are ranked together."""


def keep_count(size: int, sparsity: float) -> int:
    """How many of `size` weights stay: `max(round(size * (1 - sparsity)), 1)`, in float32 as TF-MOT computes it.

    >>> keep_count(10, 0.75), keep_count(3, 0.99)
    (2, 1)
    """
    kept = np.rint(np.float32(size) * (np.float32(1) - np.float32(sparsity)))
    return min(max(int(kept), 1), size)


def masks(scores: Mapping[str, np.ndarray], sparsity: float, *, scope: str = "layer") -> dict[str, np.ndarray]:
    """Keep the weights with the highest scores, exactly `keep_count` of them.

    Among equal scores the weight that comes first stays: the lower position in its kernel (row-major), and with
    `scope="global"` the earlier kernel.

    Args:
        scores: per kernel an array of scores >= 0, compared as float32; a NaN counts as the highest.
        sparsity: the share of weights to prune, in [0, 1).
        scope: one of `SCOPES`.

    Returns:
        Per kernel a bool array of its shape: True where the weight stays.

    >>> masks({"a": np.array([3.0, 1.0]), "b": np.array([2.0, 2.0])}, 0.5, scope="global")
    {'a': array([ True, False]), 'b': array([ True, False])}
    """
    if scope == "layer":
        return {name: _highest(values.ravel(), sparsity).reshape(values.shape) for name, values in scores.items()}
    kept = _highest(np.concatenate([values.ravel() for values in scores.values()]), sparsity)
    ends = np.cumsum([values.size for values in scores.values()])
    parts = np.split(kept, ends[:-1])
    return {name: part.reshape(values.shape) for (name, values), part in zip(scores.items(), parts, strict=True)}


def _highest(scores: np.ndarray, sparsity: float) -> np.ndarray:
    # Floats >= 0 are in the order of their bits, where NaN has a place too.
    rank = scores.astype(np.float32).view(np.int32)
    count = keep_count(rank.size, sparsity)
    threshold = np.partition(rank, rank.size - count)[rank.size - count]
    kept = rank > threshold
    kept[np.flatnonzero(rank == threshold)[: count - np.count_nonzero(kept)]] = True
    return kept
