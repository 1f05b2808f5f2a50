"""Residual networks for ImageNet (He et al. 2016, section 4.1)."""

from collections.abc import Sequence
from functools import partial

from keras import KerasTensor, layers

from tfaudit.models.blocks import Block, conv_bn, residual_stages, scaled_width

WIDTHS = (64, 128, 256, 512)


def resnet18(
    images: KerasTensor,
    *,
    small: bool = False,
    width: float = 1.0,
    blocks: Sequence[int] = (2, 2, 2, 2),
) -> KerasTensor:
    """Build ResNet-18 ([F] for CelebA, [P]): four stages of two blocks of 3x3 convolutions.

    11,689,512 trainable parameters for 1,000 classes, as in torchvision. With `small`, the stem is one 3x3
    convolution without stride or pooling: 11,173,962 parameters for 32x32x3 and 10 classes.
    `blocks` is the number of blocks in each stage.
    """
    return _network(images, _basic_block, blocks, small, width)


def resnet50(
    images: KerasTensor, *, width: float = 1.0, blocks: Sequence[int] = (3, 4, 6, 3)
) -> KerasTensor:
    """Build ResNet-50 ([F] for ImageNet): four stages of 3, 4, 6 and 3 bottleneck blocks.

    As in the released code of [F], the strides are in the 3x3 convolutions, and there are no biases. 25,557,032
    trainable parameters for 1,000 classes, as in torchvision. ResNet-101 has 3, 4, 23 and 3 blocks.
    """
    return _network(images, _bottleneck_block, blocks, False, width)


def _network(
    images: KerasTensor, block: Block, counts: Sequence[int], small: bool, width: float
) -> KerasTensor:
    widths = [scaled_width(filters, width) for filters in WIDTHS]
    x = _conv_bn(images, widths[0], 3 if small else 7, 1 if small else 2, name="conv1")
    x = layers.ReLU(name="relu1")(x)
    if not small:
        x = layers.MaxPooling2D(3, 2, padding="same", name="pool1")(x)
    x = residual_stages(x, block, widths, counts)
    return layers.GlobalAveragePooling2D(name="pool")(x)


def _basic_block(x: KerasTensor, filters: int, stride: int, name: str) -> KerasTensor:
    return _block(x, stride, name, [(filters, 3, stride), (filters, 3, 1)])


def _bottleneck_block(x: KerasTensor, filters: int, stride: int, name: str) -> KerasTensor:
    convolutions = [(filters, 1, 1), (filters, 3, stride), (4 * filters, 1, 1)]
    return _block(x, stride, name, convolutions)


def _block(
    x: KerasTensor, stride: int, name: str, convolutions: Sequence[tuple[int, int, int]]
) -> KerasTensor:
    """Apply convolutions (filters, kernel, stride) and add the shortcut, projected if the shapes differ.

    The last normalisation starts with gamma 0, so that a block starts as its shortcut.
    """
    y = x
    last = len(convolutions)
    for number, (filters, kernel, own_stride) in enumerate(convolutions, start=1):
        gamma = "zeros" if number == last else "ones"
        y = _conv_bn(y, filters, kernel, own_stride, name=f"{name}_conv{number}", gamma=gamma)
        if number < last:
            y = layers.ReLU(name=f"{name}_relu{number}")(y)
    if stride > 1 or x.shape[-1] != y.shape[-1]:
        x = _conv_bn(x, y.shape[-1], 1, stride, name=f"{name}_shortcut")
    return layers.ReLU(name=f"{name}_relu{last}")(layers.Add(name=f"{name}_add")([x, y]))


# The released code's initializer: a normal distribution truncated at two standard deviations, variance 1 / fan-in.
_conv_bn = partial(conv_bn, initializer="lecun_normal")
