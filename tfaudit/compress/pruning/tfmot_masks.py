"""Masks as TF-MOT computes them: `>=` thresholds, blocks, m-by-n."""

import dataclasses
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.masks import rank_masks
from tfaudit.errors import InputError, require, require_one_of


@dataclasses.dataclass(frozen=True)
class TFMOT:
    """Rule by which `tfmot.sparsity.keras.prune_low_magnitude` chooses weights, with that function's arguments.

    All weights with equal magnitudes at the threshold stay, so the sparsity may be lower than requested. Kernels are
    ranked separately.

    Args:
        block_size: rows and columns of blocks that stay or go as one, by default (1, 1); others are for kernels with 2
            dimensions only. If a block is cut off at the edge, TF-MOT pools a window that begins earlier by half of the
            missing rows, and so does this class.
        block_pooling_type: "AVG" or "MAX", how the magnitudes of a block give its score.
        sparsity_m_by_n: pair (m, n): the m lowest of every n consecutive weights along the input channels (axis -2) are
            pruned. The sparsity is then m / n, and position decides ties. None, the default, does not use it.

    Raises:
        InputError: a setting cannot be used.

    >>> TFMOT(sparsity_m_by_n=(2, 4)).mask(np.array([[1.0], [-4.0], [3.0], [2.0]]), 0.5).numpy().ravel().tolist()
    [False, True, True, False]
    """

    block_size: tuple[int, int] = (1, 1)
    block_pooling_type: str = "AVG"
    sparsity_m_by_n: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self._make_pair("block_size")
        pooling = self.block_pooling_type
        require_one_of("block_pooling_type", pooling, ("AVG", "MAX"))
        if self.sparsity_m_by_n is not None:
            self._make_pair("sparsity_m_by_n")
            zeros, size = self.sparsity_m_by_n
            require(zeros < size, "sparsity_m_by_n", self.sparsity_m_by_n, "m below n")
            single = self.block_size == (1, 1)
            require(single, "block_size", self.block_size, "(1, 1) with sparsity_m_by_n")

    def _make_pair(self, argument: str) -> None:
        """Convert a list to a tuple; raise an `InputError` unless it holds two integers above 0."""
        value = getattr(self, argument)
        sizes = tuple(value) if isinstance(value, tuple | list) else ()
        valid = len(sizes) == 2 and all(type(size) is int and size >= 1 for size in sizes)
        require(valid, argument, value, "two integers >= 1")
        object.__setattr__(self, argument, sizes)

    def mask(self, weights: Any, sparsity: Any, *, xla: bool = False) -> Any:
        """Compute the mask of one kernel: a bool tensor in its shape, True where the weight stays.

        The weights are floats of static shape with at least 2 dimensions; `xla` says whether XLA compiles the function.
        """
        magnitudes = keras.ops.abs(keras.ops.convert_to_tensor(weights))
        if self.sparsity_m_by_n is not None:
            return self._m_by_n(magnitudes)
        if self.block_size == (1, 1):
            return _reaching_threshold(magnitudes, sparsity, xla)
        blocks = _reaching_threshold(self._pooled(magnitudes), sparsity, xla)
        rows, columns = self.block_size
        whole = keras.ops.repeat(keras.ops.repeat(blocks, rows, axis=0), columns, axis=1)
        return whole[: magnitudes.shape[0], : magnitudes.shape[1]]

    def check(self, name: str, shape: tuple[int, ...], sparsity: float | None) -> None:
        """Raise an `InputError` if these settings do not suit a kernel or its sparsity (None if not known yet)."""
        if self.block_size != (1, 1) and len(shape) != 2:
            got = f"blocks for {name!r} of shape {shape}"
            raise InputError("block_size", got, "kernels of 2 dimensions for blocks")
        if self.sparsity_m_by_n is not None and sparsity is not None:
            zeros, size = self.sparsity_m_by_n
            if sparsity != zeros / size:
                expected = f"{zeros / size:g}, which is {zeros} of {size} weights"
                raise InputError("sparsity", f"{sparsity:g}", expected)

    def _pooled(self, magnitudes: Any) -> Any:
        """Pool one axis after the other, as TF-MOT does, since sums in another order could make or break a tie."""
        average = self.block_pooling_type == "AVG"
        pool = keras.ops.average_pool if average else keras.ops.max_pool
        for size in self.block_size:
            settings = {"padding": "same", "data_format": "channels_last"}
            magnitudes = keras.ops.transpose(pool(magnitudes[None], size, size, **settings)[0])
        return magnitudes

    def _m_by_n(self, magnitudes: Any) -> Any:
        zeros, size = self.sparsity_m_by_n or (0, 1)
        runs = keras.ops.swapaxes(magnitudes, -1, -2)  # axis -2 last
        length = int(runs.shape[-1])
        padded = keras.ops.pad(runs, [[0, 0]] * (len(runs.shape) - 1) + [[0, -length % size]])
        groups = keras.ops.reshape(padded, (-1, size))
        ranks = keras.ops.argsort(keras.ops.argsort(-groups))
        stays = keras.ops.reshape(ranks < size - zeros, tuple(padded.shape))
        return keras.ops.swapaxes(stays[..., :length], -1, -2)


def _reaching_threshold(scores: Any, sparsity: Any, xla: bool) -> Any:
    """Return where a score is at least the lowest score that stays if position decides ties."""
    sparsity = keras.ops.cast(sparsity, "float32")
    [mask] = rank_masks([scores], sparsity, scope="layer", xla=xla)
    return scores >= keras.ops.min(keras.ops.where(mask, scores, np.inf))
