"""`masks` once more, as TensorFlow operations for a compiled training step: the same weights stay, bit for bit.

A sort would move every weight and `top_k` wants a static k under XLA. Scores are >= 0, so they are in the order of
their bits as integers, and the threshold is found by counting: how often each value of the upper 15 of 31 bits comes,
and in the bucket where the threshold lies each value of the lower 16. XLA has no quick histogram (one took minutes to
compile): there the threshold is found bit by bit, from the highest, in 31 counts. Kernels that are ranked together add
up their counts, so nothing is concatenated. Positions are looked at only where scores tie across the threshold.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

__all__ = ["rank_masks"]

_LOW_BITS = 16
_UPPER, _LOWER = 2 ** (31 - _LOW_BITS), 2**_LOW_BITS


def rank_masks(scores: Sequence[tf.Tensor], sparsity: tf.Tensor, *, scope: str, xla: bool = False) -> list[tf.Tensor]:
    """The masks of `tfaudit.compress.pruning.masks.masks`, for tensors.

    Args:
        scores: per kernel a tensor of static shape with scores >= 0.
        sparsity: float32 scalar in [0, 1).
        scope: "layer" or "global".
        xla: whether XLA will compile this; the masks are the same.

    Returns:
        Per kernel a bool tensor of its shape: True where the weight stays.
    """
    ranks = [tf.reshape(tf.bitcast(tf.cast(each, tf.float32), tf.int32), [-1]) for each in scores]
    groups = [ranks] if scope == "global" else [[rank] for rank in ranks]
    masks = [mask for group in groups for mask in _group_masks(group, sparsity, xla)]
    return [tf.reshape(mask, each.shape) for mask, each in zip(masks, scores, strict=True)]


def _group_masks(ranks: list[tf.Tensor], sparsity: tf.Tensor, xla: bool) -> list[tf.Tensor]:
    """Masks of kernels that are ranked together."""
    kept = _keep_count(sum(int(rank.shape[0]) for rank in ranks), sparsity)
    threshold = (_threshold_by_bits if xla else _threshold_by_counts)(ranks, kept)
    room = kept - _count(ranks, lambda rank: rank > threshold)  # for how many of the equal ones

    def first_of_equals() -> list[tf.Tensor]:
        masks, left = [], room
        for rank in ranks:
            equal = rank == threshold
            masks.append((rank > threshold) | (equal & (_running(tf.cast(equal, tf.int32)) <= left)))
            left = tf.maximum(left - tf.math.count_nonzero(equal, dtype=tf.int32), 0)
        return masks

    all_stay = room == _count(ranks, lambda rank: rank == threshold)
    return tf.cond(all_stay, lambda: [rank >= threshold for rank in ranks], first_of_equals)


def _threshold_by_counts(ranks: list[tf.Tensor], kept: tf.Tensor) -> tf.Tensor:
    """The `kept`-th highest value of all."""

    def place(values: list[tf.Tensor], size: int, wanted: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Which integer below `size` is the `wanted`-th highest, and how many are higher."""
        # As `tf.math.bincount`, which would look for the largest value first. What is `size` or more is not counted.
        none = tf.constant([], tf.int32)
        counts = tf.add_n([tf.raw_ops.DenseBincount(input=each, size=size, weights=none) for each in values])
        from_top = tf.cumsum(counts, reverse=True)
        found = tf.math.count_nonzero(from_top >= wanted, dtype=tf.int32) - 1
        return found, from_top[found] - counts[found]

    upper = [tf.bitwise.right_shift(rank, _LOW_BITS) for rank in ranks]
    bucket, above = place(upper, _UPPER, kept)
    inside = [
        tf.where(each == bucket, tf.bitwise.bitwise_and(rank, _LOWER - 1), _LOWER)
        for each, rank in zip(upper, ranks, strict=True)
    ]
    return bucket * _LOWER + place(inside, _LOWER, kept - above)[0]


def _threshold_by_bits(ranks: list[tf.Tensor], kept: tf.Tensor) -> tf.Tensor:
    """The `kept`-th highest value of all."""

    def one_bit(bit: tf.Tensor, threshold: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        trial = threshold | tf.bitwise.left_shift(1, bit)
        return bit - 1, tf.where(_count(ranks, lambda rank: rank >= trial) >= kept, trial, threshold)

    start = (tf.constant(30), tf.zeros_like(kept))
    return tf.while_loop(lambda bit, _: bit >= 0, one_bit, start, maximum_iterations=31)[1]


def _count(ranks: list[tf.Tensor], where: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    return tf.add_n([tf.math.count_nonzero(where(rank), dtype=tf.int32) for rank in ranks])


def _running(values: tf.Tensor, row: int = 256) -> tf.Tensor:
    """`tf.cumsum` of a vector, row by row: on a CPU XLA adds up n^2 numbers for one of length n."""
    size = int(values.shape[0])
    if size <= row:
        return tf.cumsum(values)
    rows = tf.reshape(tf.pad(values, [[0, -size % row]]), (-1, row))
    totals = tf.reduce_sum(rows, axis=1)
    return tf.reshape(tf.cumsum(rows, axis=1) + (_running(totals) - totals)[:, None], [-1])[:size]


def _keep_count(size: int, sparsity: tf.Tensor) -> tf.Tensor:
    """`keep_count`: `tf.round` rounds a half to the even neighbour, as `np.rint` does."""
    kept = tf.cast(tf.round(tf.cast(size, tf.float32) * (1 - sparsity)), tf.int32)
    return tf.minimum(tf.maximum(kept, 1), size)
