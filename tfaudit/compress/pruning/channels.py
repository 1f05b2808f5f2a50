"""Channels of a kernel: their weights, their norms, and channel masks as weight masks.

Axis -2 stands for input channels ([P]), axis -1 for output channels:

- Conv, Dense, a pointwise kernel: `(..., inputs, outputs)`; the slices along that axis.
- Conv*Transpose: `(..., outputs, inputs)`; the slices along the other axis.
- DepthwiseConv and the depthwise kernel of SeparableConv: `(..., inputs, multiplier)`. Every input channel has its own
  outputs, one per multiplier: an output channel is the filter for one input channel and one multiplier.
- Any other kernel, such as those of EinsumDense and of recurrent cells: the slices along that axis.
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfaudit.compress.layer_kinds import DEPTHWISE, TRANSPOSED
from tfaudit.compress.pruning.kernels import Kernels, owners

AXES = (-2, -1)
"""-2: input channels; -1: output channels."""


def channel_axes(model: keras.Model, kernels: Kernels, axis: int) -> dict[str, tuple[int, ...]]:
    """Return the axes that index the channels of each kernel, counted from the end; `axis` is one of `AXES`.

    >>> model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.DepthwiseConv2D(3, name="depthwise")])
    >>> channel_axes(model, {"k": model.layers[0].kernel}, -1)
    {'k': (-2, -1)}
    """
    layers = owners(model, kernels)

    def axes(name: str) -> tuple[int, ...]:
        if isinstance(layers[name], DEPTHWISE) or kernels[name].name == "depthwise_kernel":
            return (-2,) if axis == -2 else (-2, -1)
        return (-3 - axis,) if isinstance(layers[name], TRANSPOSED) else (axis,)

    return {name: axes(name) for name in kernels}


def channel_count(shape: Sequence[int], axes: Sequence[int]) -> int:
    """Return the number of channels of a kernel.

    >>> channel_count((3, 3, 16, 2), (-2, -1))
    32
    """
    return int(np.prod([shape[axis] for axis in axes]))


def slices(kernel: Any, axes: Sequence[int]) -> Any:
    """Return a kernel as a matrix with one row of weights per channel.

    >>> np.asarray(slices(np.arange(6).reshape(2, 3), (-1,))).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    rows = keras.ops.moveaxis(kernel, list(axes), list(range(len(axes))))
    return keras.ops.reshape(rows, (channel_count(kernel.shape, axes), -1))


def norm(kernel: Any, axes: Sequence[int], order: float) -> Any:
    """Compute the norm of each channel's weights, float32 `(channels,)`.

    Sums are in float64, so that channels with the same weights in a different order have equal norms.

    >>> np.asarray(norm(np.array([[3.0, 1.0], [-4.0, 0.0]]), (-1,), 2)).tolist()
    [5.0, 1.0]
    """
    rows = keras.ops.cast(slices(kernel, axes), "float64")
    return keras.ops.cast(keras.ops.norm(rows, order, axis=1), "float32")


def expand_channel_mask(mask: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """Return a mask of channels as a mask of weights, in the shape of the kernel.

    >>> np.asarray(expand_channel_mask(np.array([True, False]), (2, 3), (-2,))).tolist()
    [[True, True, True], [False, False, False]]
    """
    numbered = {axis % len(shape) for axis in axes}
    sides = [size if axis in numbered else 1 for axis, size in enumerate(shape)]
    return keras.ops.broadcast_to(keras.ops.reshape(mask, sides), tuple(shape))
