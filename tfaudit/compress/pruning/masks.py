"""Masks from scores: the weights with the highest scores stay, in exactly the requested number.

A sort would move every weight, and `top_k` needs a static k under XLA. Scores are >= 0, so they have the order of their
bits as integers. Counting finds the threshold: a histogram of the upper 15 of 31 bits, then one of the lower 16 bits
inside the bucket of the threshold. XLA has no fast histogram (one took minutes to compile), so there the threshold is
found bit by bit, starting with the highest bit, in 31 counts. Counts of kernels that are ranked together are added, so
nothing is concatenated. Positions matter only if scores tie at the threshold.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

SCOPES = ("layer", "global")
"""`layer`: each kernel reaches the sparsity; `global`: the weights of all kernels are ranked together."""

_LOW_BITS = 16
_UPPER = 2 ** (31 - _LOW_BITS)
_LOWER = 2**_LOW_BITS


def rank_masks(
    scores: Sequence[tf.Tensor], sparsity: tf.Tensor, *, scope: str, xla: bool = False
) -> list[tf.Tensor]:
    """Keep the weights with the highest scores: exactly `max(round(n * (1 - sparsity)), 1)` of n, computed in float32.

    If scores tie, the first weight stays: the one at the lower position in its kernel (row-major) and, with
    `scope="global"`, in the earlier kernel.

    Args:
        scores: scores per kernel, >= 0 and of static shape; compared as float32, where NaN counts as the highest.
        sparsity: share of weights to prune, a float32 scalar.
        scope: whether kernels are ranked separately or together, one of `SCOPES`.
        xla: whether XLA compiles the function, which does not change the masks.

    Returns:
        A bool tensor per kernel in its shape, True where the weight stays.

    >>> scores = [tf.constant([3.0, 1.0]), tf.constant([2.0, 2.0])]
    >>> [mask.numpy().tolist() for mask in rank_masks(scores, tf.constant(0.5), scope="global")]
    [[True, False], [True, False]]
    """
    if keras.backend.backend() != "tensorflow":
        groups = [scores] if scope == "global" else [[values] for values in scores]
        return [mask for group in groups for mask in _masks_by_sorting(group, sparsity)]
    ranks = [
        tf.reshape(tf.bitcast(tf.cast(values, tf.float32), tf.int32), [-1]) for values in scores
    ]
    groups = [ranks] if scope == "global" else [[rank] for rank in ranks]
    masks = [mask for group in groups for mask in _group_masks(group, sparsity, xla)]
    return [tf.reshape(mask, values.shape) for mask, values in zip(masks, scores, strict=True)]


def _group_masks(ranks: list[tf.Tensor], sparsity: tf.Tensor, xla: bool) -> list[tf.Tensor]:
    """Compute the masks of kernels that are ranked together."""
    size = sum(int(rank.shape[0]) for rank in ranks)
    kept = tf.round(tf.cast(size, tf.float32) * (1 - sparsity))  # as TF-MOT rounds: halves to even
    count = tf.clip_by_value(tf.cast(kept, tf.int32), 1, size)
    threshold = (_threshold_by_bits if xla else _threshold_by_counts)(ranks, count)
    room = count - _count(ranks, lambda rank: rank > threshold)  # number of equal scores that stay

    def first_of_equals() -> list[tf.Tensor]:
        masks = []
        left = room
        for rank in ranks:
            equal = rank == threshold
            masks.append(
                (rank > threshold) | (equal & (_running(tf.cast(equal, tf.int32)) <= left))
            )
            left = tf.maximum(left - tf.math.count_nonzero(equal, dtype=tf.int32), 0)
        return masks

    all_stay = room == _count(ranks, lambda rank: rank == threshold)
    return tf.cond(all_stay, lambda: [rank >= threshold for rank in ranks], first_of_equals)


def _masks_by_sorting(scores: Sequence[Any], sparsity: Any) -> list[Any]:
    """Compute the masks of kernels that are ranked together, on any backend."""
    flat = keras.ops.concatenate([keras.ops.reshape(values, (-1,)) for values in scores])
    flat = keras.ops.where(keras.ops.isnan(flat), np.inf, keras.ops.cast(flat, "float32"))
    size = int(flat.shape[0])
    kept = keras.ops.round(np.float32(size) * (1 - keras.ops.cast(sparsity, "float32")))
    count = keras.ops.clip(keras.ops.cast(kept, "int32"), 1, size)
    threshold = keras.ops.take(keras.ops.sort(flat), size - count)
    above, equal = flat > threshold, flat == threshold
    room = count - keras.ops.sum(keras.ops.cast(above, "int32"))
    first = keras.ops.cumsum(keras.ops.cast(equal, "int32")) <= room
    stays = above | (equal & first)
    ends = np.cumsum([int(np.prod(values.shape)) for values in scores])
    return [
        keras.ops.reshape(stays[end - int(np.prod(values.shape)) : end], tuple(values.shape))
        for values, end in zip(scores, ends.tolist(), strict=True)
    ]


def _threshold_by_counts(ranks: list[tf.Tensor], count: tf.Tensor) -> tf.Tensor:
    """Return the `count`-th highest value of all."""

    def nth_highest(
        values: list[tf.Tensor], size: int, n: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the n-th highest of integers below `size`, and the number of higher ones."""
        # Like `tf.math.bincount`, which would first search for the largest value. Values >= `size` are not counted.
        none = tf.constant([], tf.int32)
        counts = tf.add_n(
            [tf.raw_ops.DenseBincount(input=part, size=size, weights=none) for part in values]
        )
        from_top = tf.cumsum(counts, reverse=True)
        value = tf.math.count_nonzero(from_top >= n, dtype=tf.int32) - 1
        return value, from_top[value] - counts[value]

    upper = [tf.bitwise.right_shift(rank, _LOW_BITS) for rank in ranks]
    bucket, above = nth_highest(upper, _UPPER, count)
    lower = [tf.bitwise.bitwise_and(rank, _LOWER - 1) for rank in ranks]
    inside = [tf.where(high == bucket, low, _LOWER) for high, low in zip(upper, lower, strict=True)]
    return bucket * _LOWER + nth_highest(inside, _LOWER, count - above)[0]


def _threshold_by_bits(ranks: list[tf.Tensor], count: tf.Tensor) -> tf.Tensor:
    """Return the `count`-th highest value of all."""

    def one_bit(bit: tf.Tensor, threshold: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        trial = threshold | tf.bitwise.left_shift(1, bit)
        return bit - 1, tf.where(
            _count(ranks, lambda rank: rank >= trial) >= count, trial, threshold
        )

    start = (tf.constant(30), tf.zeros_like(count))
    return tf.while_loop(lambda bit, _: bit >= 0, one_bit, start, maximum_iterations=31)[1]


def _count(ranks: list[tf.Tensor], where: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    return tf.add_n([tf.math.count_nonzero(where(rank), dtype=tf.int32) for rank in ranks])


def _running(values: tf.Tensor, row: int = 256) -> tf.Tensor:
    """Compute `tf.cumsum` of a vector row by row, since XLA on a CPU adds n^2 numbers for a vector of length n."""
    size = int(values.shape[0])
    if size <= row:
        return tf.cumsum(values)
    rows = tf.reshape(tf.pad(values, [[0, -size % row]]), (-1, row))
    totals = tf.reduce_sum(rows, axis=1)
    return tf.reshape(tf.cumsum(rows, axis=1) + (_running(totals) - totals)[:, None], [-1])[:size]


def masked(values: Any, mask: Any) -> Any:
    """Return the values of a kernel, with 0 where its mask is False."""
    values, mask = map(keras.ops.convert_to_tensor, (values, mask))
    return keras.ops.where(mask, values, keras.ops.zeros((), values.dtype))


def pruned_share(masks: Iterable[np.ndarray]) -> float:
    """Return the share of all kernels' weights that their masks prune.

    >>> pruned_share([np.array([True, False]), np.array([[True, True]])])
    0.25
    """
    return float(1 - np.concatenate([mask.ravel() for mask in masks]).mean())
