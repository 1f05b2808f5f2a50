"""Masks as TF-MOT computes them: `>=` thresholds, blocks, m-by-n; its argument names, its results."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.tf_masks import rank_masks
from tfaudit.errors import InputError

__all__ = ["TFMOT"]


@dataclasses.dataclass(frozen=True)
class TFMOT:
    """How `tfmot.sparsity.keras.prune_low_magnitude` chooses weights, with the arguments of that function.

    Among equal magnitudes at the threshold all stay, so that fewer weights go than were asked for. Each kernel is
    ranked by itself.

    Args:
        block_size: rows and columns of the blocks that stay or go as one; other than (1, 1) for kernels of 2
            dimensions only. A block at the edge may be cut off; TF-MOT then pools windows that begin half of the
            missing rows earlier than the block does, and so does this.
        block_pooling_type: "AVG" or "MAX": of the magnitudes in a block, its score.
        sparsity_m_by_n: (m, n): of n weights that follow one another along the input channels (axis -2) the m lowest
            go, whatever the rest. The sparsity is m / n then, and ties go by position.

    Raises:
        InputError: a setting that cannot be used.

    >>> TFMOT(sparsity_m_by_n=(2, 4)).mask(np.array([[1.0], [-4.0], [3.0], [2.0]]), 0.5).numpy().ravel().tolist()
    [False, True, True, False]
    """

    block_size: tuple[int, int] = (1, 1)
    block_pooling_type: str = "AVG"
    sparsity_m_by_n: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for argument in ("block_size", "sparsity_m_by_n"):
            value = getattr(self, argument)
            if value is None and argument == "sparsity_m_by_n":
                continue
            sizes = tuple(value) if isinstance(value, tuple | list) else ()
            if len(sizes) != 2 or not all(type(size) is int and size >= 1 for size in sizes):
                raise InputError(f"{argument}: expected two integers >= 1, came {value!r}")
            object.__setattr__(self, argument, sizes)
        if self.block_pooling_type not in ("AVG", "MAX"):
            raise InputError(f"block_pooling_type: expected 'AVG' or 'MAX', came {self.block_pooling_type!r}")
        if self.sparsity_m_by_n is not None:
            zeros, size = self.sparsity_m_by_n
            if zeros >= size:
                raise InputError(f"sparsity_m_by_n: expected m below n, came {self.sparsity_m_by_n}")
            if self.block_size != (1, 1):
                raise InputError(f"block_size: expected (1, 1) with sparsity_m_by_n, came {self.block_size}")

    def mask(self, weights: Any, sparsity: Any, *, xla: bool = False) -> tf.Tensor:
        """The mask of one kernel.

        Args:
            weights: floats of static shape, at least 2 dimensions.
            sparsity: in [0, 1).
            xla: whether XLA will compile this.

        Returns:
            A bool tensor of the kernel's shape: True where the weight stays.
        """
        magnitudes = tf.abs(tf.convert_to_tensor(weights))
        if self.sparsity_m_by_n is not None:
            return self._m_by_n(magnitudes)
        if self.block_size == (1, 1):
            return _reaching_threshold(magnitudes, sparsity, xla)
        kept = _reaching_threshold(self._pooled(magnitudes), sparsity, xla)
        rows, columns = self.block_size
        whole = tf.repeat(tf.repeat(kept, rows, axis=0), columns, axis=1)
        return whole[: magnitudes.shape[0], : magnitudes.shape[1]]

    def check(self, name: str, shape: tuple[int, ...], sparsity: float | None) -> None:
        """Refuse a kernel, or a sparsity (None: not known yet), that this cannot be used with.

        Raises:
            InputError: as said.
        """
        if self.block_size != (1, 1) and len(shape) != 2:
            raise InputError(f"block_size: blocks are for kernels of 2 dimensions, {name!r} has shape {shape}")
        if self.sparsity_m_by_n is not None and sparsity is not None:
            zeros, size = self.sparsity_m_by_n
            if sparsity != zeros / size:
                raise InputError(f"sparsity: {zeros} of {size} weights are {zeros / size:g}, came {sparsity:g}")

    def _pooled(self, magnitudes: tf.Tensor) -> tf.Tensor:
        """One axis after the other, as TF-MOT does it: sums in another order could make or break a tie."""
        for size in self.block_size:
            pooled = tf.nn.pool(
                magnitudes[None], [size], self.block_pooling_type, strides=[size], padding="SAME", data_format="NWC"
            )
            magnitudes = tf.transpose(pooled[0])
        return magnitudes

    def _m_by_n(self, magnitudes: tf.Tensor) -> tf.Tensor:
        zeros, size = self.sparsity_m_by_n or (0, 1)
        runs = tf.linalg.matrix_transpose(magnitudes)  # axis -2 last
        length = int(runs.shape[-1])
        padded = tf.pad(runs, [[0, 0]] * (len(runs.shape) - 1) + [[0, -length % size]])
        groups = tf.reshape(padded, (-1, size))
        stays = tf.reduce_any(tf.one_hot(tf.math.top_k(groups, size - zeros).indices, size, True, False), axis=1)
        return tf.linalg.matrix_transpose(tf.reshape(stays, padded.shape)[..., :length])


def _reaching_threshold(scores: tf.Tensor, sparsity: Any, xla: bool) -> tf.Tensor:
    """All scores that are at least the lowest of those that stay when ties go by position."""
    [kept] = rank_masks([scores], tf.cast(sparsity, tf.float32), scope="layer", xla=xla)
    return scores >= tf.reduce_min(tf.where(kept, scores, np.inf))
