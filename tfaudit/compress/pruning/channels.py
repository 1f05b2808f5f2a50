"""Channels of a kernel: which entries belong to one, how large they are, and a mask of channels as a mask of weights.

Axis -2 means what a kernel takes from one input channel ([P]), axis -1 what it gives to one output channel:

- Conv, Dense, a pointwise kernel: `(..., inputs, outputs)`, so the slices along that very axis;
- Conv*Transpose: `(..., outputs, inputs)`, the slices along the other axis;
- DepthwiseConv and the depthwise kernel of SeparableConv: `(..., inputs, multiplier)`. Every input channel has outputs
  of its own, one for each multiplier: an output channel is one filter, of one input channel and one multiplier;
- any other kernel, such as those of EinsumDense and of recurrent cells: the slices along that axis, whatever it means.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.kernels import owners

__all__ = ["AXES", "channel_axes", "channel_count", "norm", "slices", "spread"]

AXES = (-2, -1)
"""-2: input channels; -1: output channels."""

_DEPTHWISE = (keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D)
_TRANSPOSED = (keras.layers.Conv1DTranspose, keras.layers.Conv2DTranspose, keras.layers.Conv3DTranspose)


def channel_axes(model: keras.Model, kernels: Mapping[str, keras.Variable], axis: int) -> dict[str, tuple[int, ...]]:
    """Which axes of each kernel number its channels, counted from the end.

    Args:
        model: the model of the kernels.
        kernels: by name.
        axis: one of `AXES`.

    >>> model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.DepthwiseConv2D(3, name="depthwise")])
    >>> channel_axes(model, {"k": model.layers[0].kernel}, -1)
    {'k': (-2, -1)}
    """
    layers = owners(model, kernels)

    def axes(name: str) -> tuple[int, ...]:
        if isinstance(layers[name], _DEPTHWISE) or kernels[name].name == "depthwise_kernel":
            return (-2,) if axis == -2 else (-2, -1)
        return (-3 - axis,) if isinstance(layers[name], _TRANSPOSED) else (axis,)

    return {name: axes(name) for name in kernels}


def channel_count(shape: Sequence[int], axes: Sequence[int]) -> int:
    """How many channels a kernel has.

    >>> channel_count((3, 3, 16, 2), (-2, -1))
    32
    """
    return int(np.prod([shape[axis] for axis in axes]))


def slices(kernel: Any, axes: Sequence[int]) -> Any:
    """A kernel as a matrix: a row of weights for each channel.

    >>> np.asarray(slices(np.arange(6).reshape(2, 3), (-1,))).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    rows = keras.ops.moveaxis(kernel, list(axes), list(range(len(axes))))
    return keras.ops.reshape(rows, (channel_count(kernel.shape, axes), -1))


def norm(kernel: Any, axes: Sequence[int], order: float) -> Any:
    """The norm of each channel's weights, float32.

    It is summed in float64: where two channels hold the same weights in another order, neither wins by rounding.

    >>> np.asarray(norm(np.array([[3.0, 1.0], [-4.0, 0.0]]), (-1,), 2)).tolist()
    [5.0, 1.0]
    """
    rows = keras.ops.cast(slices(kernel, axes), "float64")
    return keras.ops.cast(keras.ops.norm(rows, order, axis=1), "float32")


def spread(mask: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """A mask of channels in the shape of the kernel.

    >>> np.asarray(spread(np.array([True, False]), (2, 3), (-2,))).tolist()
    [[True, True, True], [False, False, False]]
    """
    kept = {axis % len(shape) for axis in axes}
    return keras.ops.broadcast_to(
        keras.ops.reshape(mask, [size if axis in kept else 1 for axis, size in enumerate(shape)]), tuple(shape)
    )
