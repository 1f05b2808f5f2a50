"""Residual networks for CIFAR (He et al. 2016, section 4.2)."""

from collections.abc import Sequence
from functools import partial

import keras
from keras import KerasTensor, layers

from tfaudit.errors import require_one_of
from tfaudit.models.blocks import conv_bn, residual_stages, scaled_width

WIDTHS = (16, 32, 64)
SHORTCUTS = ("identity", "projection")


def resnet(
    images: KerasTensor,
    *,
    depth: int,
    width: float = 1.0,
    blocks: Sequence[int] | None = None,
    shortcuts: str = "identity",
) -> KerasTensor:
    """Build a residual network with `depth = 6 n + 2` layers: three stages of n blocks with 16, 32 and 64 filters.

    Shortcuts are He et al.'s option A, without parameters: they take every other pixel and pad channels with zeros.
    Trainable parameters for 32x32x3 and 10 classes, depths 20, 32, 44, 56, 110: 269,722, 464,154, 658,586, 853,018
    and 1,727,962. `shortcuts="projection"` is option B, a 1x1 convolution with BatchNormalization where the number of
    channels changes: 855,770 for depth 56. Weights start from He's normal distribution.
    `blocks` replaces n by a number of blocks per stage, for trials.
    """
    require_one_of("shortcuts", shortcuts, SHORTCUTS)
    widths = [scaled_width(filters, width) for filters in WIDTHS]
    counts = blocks or [(depth - 2) // 6] * len(WIDTHS)
    block = partial(_block, project=shortcuts == "projection")
    x = layers.ReLU(name="relu1")(conv_bn(images, widths[0], 3, name="conv1"))
    x = residual_stages(x, block, widths, counts)
    return layers.GlobalAveragePooling2D(name="pool")(x)


def _block(x: KerasTensor, filters: int, stride: int, name: str, *, project: bool) -> KerasTensor:
    y = layers.ReLU(name=f"{name}_relu1")(conv_bn(x, filters, 3, stride, name=f"{name}_conv1"))
    y = conv_bn(y, filters, 3, name=f"{name}_conv2")
    if stride > 1 and project:
        x = conv_bn(x, filters, 1, stride, name=f"{name}_shortcut")
    elif stride > 1:
        x = layers.AveragePooling2D(1, strides=stride, name=f"{name}_subsample")(x)
        added = filters - x.shape[-1]
        x = keras.ops.pad(x, [[0, 0], [0, 0], [0, 0], [added // 2, added - added // 2]])
    return layers.ReLU(name=f"{name}_relu2")(layers.Add(name=f"{name}_add")([x, y]))
