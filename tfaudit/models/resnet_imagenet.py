"""Residual networks for ImageNet (He et al. 2016, section 4.1)."""

from collections.abc import Callable, Sequence

from keras import KerasTensor, layers

from tfaudit.models.blocks import batch_norm, convolution, scaled_width

WIDTHS = (64, 128, 256, 512)

Block = Callable[[KerasTensor, int, int, str], KerasTensor]


def resnet18(
    images: KerasTensor,
    *,
    small: bool = False,
    width: float = 1.0,
    blocks: Sequence[int] = (2, 2, 2, 2),
) -> KerasTensor:
    """Build ResNet-18 ([F] for CelebA, [P]): four stages of two blocks of 3x3 convolutions.

    11,689,512 trainable parameters for 1,000 classes, as in torchvision. For small images the stem is one 3x3
    convolution without stride or pooling: 11,173,962 parameters for 32x32x3 and 10 classes.
    `blocks` has the number of blocks of each stage.
    """
    return _stages(images, _basic_block, blocks, small, width)


def resnet50(
    images: KerasTensor, *, width: float = 1.0, blocks: Sequence[int] = (3, 4, 6, 3)
) -> KerasTensor:
    """Build ResNet-50 ([F] for ImageNet): four stages of 3, 4, 6 and 3 bottleneck blocks.

    As in the released code of [F]: strides in the 3x3 convolution, no biases. 25,557,032 trainable parameters for 1,000
    classes, as in torchvision. ResNet-101 has 3, 4, 23 and 3 blocks.
    """
    return _stages(images, _bottleneck_block, blocks, False, width)


def _stages(
    images: KerasTensor, block: Block, counts: Sequence[int], small: bool, width: float
) -> KerasTensor:
    widths = [scaled_width(filters, width) for filters in WIDTHS]
    x = _conv_bn(images, widths[0], 3 if small else 7, 1 if small else 2, name="conv1")
    x = layers.ReLU(name="relu1")(x)
    if not small:
        x = layers.MaxPooling2D(3, 2, padding="same", name="pool1")(x)
    for stage, (filters, count) in enumerate(zip(widths, counts, strict=True), start=1):
        for number in range(1, count + 1):
            stride = 2 if stage > 1 and number == 1 else 1
            x = block(x, filters, stride, f"stage{stage}_block{number}")
    return layers.GlobalAveragePooling2D(name="pool")(x)


def _basic_block(x: KerasTensor, filters: int, stride: int, name: str) -> KerasTensor:
    y = layers.ReLU(name=f"{name}_relu1")(_conv_bn(x, filters, 3, stride, name=f"{name}_conv1"))
    return _add(
        x, _conv_bn(y, filters, 3, name=f"{name}_conv2", gamma="zeros"), stride, name, "relu2"
    )


def _bottleneck_block(x: KerasTensor, filters: int, stride: int, name: str) -> KerasTensor:
    y = layers.ReLU(name=f"{name}_relu1")(_conv_bn(x, filters, 1, name=f"{name}_conv1"))
    y = layers.ReLU(name=f"{name}_relu2")(_conv_bn(y, filters, 3, stride, name=f"{name}_conv2"))
    return _add(
        x, _conv_bn(y, 4 * filters, 1, name=f"{name}_conv3", gamma="zeros"), stride, name, "relu3"
    )


def _add(x: KerasTensor, y: KerasTensor, stride: int, name: str, relu: str) -> KerasTensor:
    """Add the shortcut, projected if the shapes differ. As `y` starts with gamma 0, a block starts as its shortcut."""
    if stride > 1 or x.shape[-1] != y.shape[-1]:
        x = _conv_bn(x, y.shape[-1], 1, stride, name=f"{name}_shortcut")
    return layers.ReLU(name=f"{name}_{relu}")(layers.Add(name=f"{name}_add")([x, y]))


def _conv_bn(
    x: KerasTensor, filters: int, kernel: int, stride: int = 1, *, name: str, gamma: str = "ones"
) -> KerasTensor:
    # The released code's initializer: a normal distribution truncated at two deviations, of variance 1 / fan-in.
    x = convolution(x, filters, kernel, stride, initializer="lecun_normal", name=name)
    return batch_norm(x, name=f"{name}_bn", gamma=gamma)
