"""`masks` once more, as TensorFlow operations for a compiled training step: the same weights stay, bit for bit.

A sort would move every weight and `top_k` wants a static k under XLA. Scores are >= 0, so they are in the order of
their bits as integers, and the threshold is found in two counts: how often each value of the upper 15 of 31 bits comes,
and in the bucket where the threshold lies each value of the lower 16. Kernels that are ranked together add up their
counts, so nothing is concatenated. Positions are looked at only where scores tie across the threshold.
"""

from collections.abc import Sequence

import tensorflow as tf

__all__ = ["rank_masks"]

_LOW_BITS = 16
_UPPER, _LOWER = 2 ** (31 - _LOW_BITS), 2**_LOW_BITS


def rank_masks(scores: Sequence[tf.Tensor], sparsity: tf.Tensor, *, scope: str, xla: bool = False) -> list[tf.Tensor]:
    """The masks of `tfaudit.compress.masks.masks`, for tensors.

    Args:
        scores: per kernel a tensor of static shape with scores >= 0.
        sparsity: float32 scalar in [0, 1).
        scope: "layer" or "global".
        xla: whether this is traced for XLA. It gives the same masks; what is fast here is slow there, and conversely.

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
    upper = [tf.bitwise.right_shift(rank, _LOW_BITS) for rank in ranks]
    bucket, above = _place(tf.add_n([_counts(each, _UPPER, xla) for each in upper]), kept)
    lower = [  # what is not in the bucket is counted beyond the end
        tf.where(each == bucket, tf.bitwise.bitwise_and(rank, _LOWER - 1), _LOWER)
        for each, rank in zip(upper, ranks, strict=True)
    ]
    counts = tf.add_n([_counts(each, _LOWER + 1, xla) for each in lower])[:_LOWER]
    rest, above_in_bucket = _place(counts, kept - above)
    threshold = bucket * _LOWER + rest
    room = kept - above - above_in_bucket  # for how many of the equal ones

    def first_of_equals() -> list[tf.Tensor]:
        masks, left = [], room
        for rank in ranks:
            equal = rank == threshold
            masks.append((rank > threshold) | (equal & (_running(tf.cast(equal, tf.int32)) <= left)))
            left = tf.maximum(left - tf.math.count_nonzero(equal, dtype=tf.int32), 0)
        return masks

    return tf.cond(room == counts[rest], lambda: [rank >= threshold for rank in ranks], first_of_equals)


def _place(counts: tf.Tensor, kept: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Where the `kept`-th highest value is, and how many are above that place.

    Args:
        counts: how often each value comes.
        kept: at least 1, at most their sum.
    """
    from_top = _running(counts[::-1])[::-1]
    place = tf.math.count_nonzero(from_top >= kept, dtype=tf.int32) - 1
    return place, from_top[place] - counts[place]


def _running(values: tf.Tensor, row: int = 256) -> tf.Tensor:
    """`tf.cumsum` of a vector, row by row: on a CPU XLA adds up n^2 numbers for one of length n."""
    size = int(values.shape[0])
    if size <= row:
        return tf.cumsum(values)
    rows = tf.reshape(tf.pad(values, [[0, -size % row]]), (-1, row))
    totals = tf.reduce_sum(rows, axis=1)
    return tf.reshape(tf.cumsum(rows, axis=1) + (_running(totals) - totals)[:, None], [-1])[:size]


def _counts(values: tf.Tensor, size: int, xla: bool) -> tf.Tensor:
    """How often each integer below `size` comes.

    Measured: five million values take 11 ms as a bincount and 77 ms as a segment sum; compiled by XLA minutes and 3 ms.
    """
    if xla:
        return tf.math.unsorted_segment_sum(tf.ones_like(values), values, size)
    return tf.raw_ops.DenseBincount(input=values, size=size, weights=tf.constant([], tf.int32), binary_output=False)


def _keep_count(size: int, sparsity: tf.Tensor) -> tf.Tensor:
    """`keep_count`: `tf.round` rounds a half to the even neighbour, as `np.rint` does."""
    kept = tf.cast(tf.round(tf.cast(size, tf.float32) * (1 - sparsity)), tf.int32)
    return tf.minimum(tf.maximum(kept, 1), size)
