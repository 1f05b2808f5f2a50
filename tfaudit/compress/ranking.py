"""`masks` once more, as TensorFlow operations for a compiled training step: the same weights stay, bit for bit.

A sort would move every weight and `top_k` wants a static k under XLA. Scores are >= 0, so they are in the order of
their bits as integers, and the threshold is found bit by bit, from the highest: 31 counts, whatever the size. Kernels
that are ranked together add up their counts, so nothing is concatenated.
"""

from collections.abc import Sequence

import tensorflow as tf

__all__ = ["rank_masks"]

_BITS = 31


def rank_masks(scores: Sequence[tf.Tensor], sparsity: tf.Tensor, *, scope: str) -> list[tf.Tensor]:
    """The masks of `tfaudit.compress.masks.masks`, for tensors.

    Args:
        scores: per kernel a tensor of static shape with scores >= 0.
        sparsity: float32 scalar in [0, 1).
        scope: "layer" or "global".

    Returns:
        Per kernel a bool tensor of its shape: True where the weight stays.
    """
    together = scope == "global"
    ranks = [tf.reshape(tf.bitcast(tf.cast(each, tf.float32), tf.int32), [-1]) for each in scores]
    sizes = [int(rank.shape[0]) for rank in ranks]
    kept = _keep_counts([sum(sizes)] if together else sizes, sparsity)

    def grouped(counts: list[tf.Tensor]) -> tf.Tensor:
        return tf.stack([tf.add_n(counts)] if together else counts)

    def one_bit(bit: tf.Tensor, thresholds: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        trial = thresholds | tf.bitwise.left_shift(1, bit)
        enough = grouped([_count(rank >= trial[0 if together else i]) for i, rank in enumerate(ranks)]) >= kept
        return bit - 1, tf.where(enough, trial, thresholds)

    start = (tf.constant(_BITS - 1), tf.zeros_like(kept))
    _, thresholds = tf.while_loop(lambda bit, _: bit >= 0, one_bit, start, maximum_iterations=_BITS)

    above, equal = [], []
    for i, rank in enumerate(ranks):
        threshold = thresholds[0 if together else i]
        above.append(rank > threshold)
        equal.append(rank == threshold)
    room = kept - grouped([_count(each) for each in above])  # for how many of the equal ones

    masks = []
    for i, score in enumerate(scores):
        left = room[0 if together else i]
        first = equal[i] & (tf.cumsum(tf.cast(equal[i], tf.int32)) <= left)
        masks.append(tf.reshape(above[i] | first, score.shape))
        if together:
            room -= tf.minimum(left, _count(equal[i]))
    return masks


def _keep_counts(sizes: list[int], sparsity: tf.Tensor) -> tf.Tensor:
    """`keep_count`: `tf.round` rounds a half to the even neighbour, as `np.rint` does."""
    kept = tf.cast(tf.round(tf.cast(sizes, tf.float32) * (1 - sparsity)), tf.int32)
    return tf.minimum(tf.maximum(kept, 1), sizes)


def _count(mask: tf.Tensor) -> tf.Tensor:
    return tf.math.count_nonzero(mask, dtype=tf.int32)
