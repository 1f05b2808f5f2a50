"""Masks from scores, in NumPy. `tf_masks` computes the same masks, bit for bit, inside a compiled training step."""

from collections.abc import Mapping

import numpy as np

SCOPES = ("layer", "global")
"""`layer`: each kernel reaches the sparsity. `global`: the weights of all kernels are ranked together."""


def keep_count(size: int, sparsity: float) -> int:
    """Return how many of `size` weights stay: `max(round(size * (1 - sparsity)), 1)`, in float32 as TF-MOT does.

    >>> keep_count(10, 0.75), keep_count(3, 0.99)
    (2, 1)
    """
    count = np.rint(np.float32(size) * (np.float32(1) - np.float32(sparsity)))
    return min(max(int(count), 1), size)


def masks(
    scores: Mapping[str, np.ndarray], sparsity: float, *, scope: str = "layer"
) -> dict[str, np.ndarray]:
    """Keep the weights with the highest scores, exactly `keep_count` of them.

    Of equal scores, the first stays: the lower position in its kernel (row-major), and with `scope="global"` the
    earlier kernel.

    Scores are >= 0 and compared as float32; NaN counts as the highest. `scope` is one of `SCOPES`. The masks are bool
    arrays of the kernels' shapes, True where the weight stays.

    >>> masks({"a": np.array([3.0, 1.0]), "b": np.array([2.0, 2.0])}, 0.5, scope="global")
    {'a': array([ True, False]), 'b': array([ True, False])}
    """
    if scope == "layer":
        return {
            name: _highest(values.ravel(), sparsity).reshape(values.shape)
            for name, values in scores.items()
        }
    highest = _highest(np.concatenate([values.ravel() for values in scores.values()]), sparsity)
    parts = np.split(highest, np.cumsum([values.size for values in scores.values()])[:-1])
    return {
        name: part.reshape(values.shape)
        for (name, values), part in zip(scores.items(), parts, strict=True)
    }


def _highest(scores: np.ndarray, sparsity: float) -> np.ndarray:
    # Floats >= 0 have the order of their bits, in which NaN has a place too.
    rank = scores.astype(np.float32).view(np.int32)
    count = keep_count(rank.size, sparsity)
    threshold = np.partition(rank, rank.size - count)[rank.size - count]
    mask = rank > threshold
    mask[np.flatnonzero(rank == threshold)[: count - np.count_nonzero(mask)]] = True
    return mask
