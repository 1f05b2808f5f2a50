"""Wide residual networks (Zagoruyko and Komodakis 2016)."""

from keras import KerasTensor, layers

from tfaudit.errors import require
from tfaudit.models.blocks import batch_norm, convolution, scaled_width

WIDTHS = (16, 32, 64)


def wide_resnet(
    images: KerasTensor, *, depth: int = 28, widening: int = 10, width: float = 1.0
) -> KerasTensor:
    """Build a wide residual network, WRN-28-10 by default ([F] for CIFAR-10, which does not name its widths).

    Three stages of `(depth - 4) / 6` blocks of batch normalisation, ReLU and 3x3 convolution, twice each. 36,479,194
    trainable parameters for 32x32x3 and 10 classes.

    `depth` is the number of layers with weights: 10, 16, 22, 28, ...; `widening` is the factor k of the paper.
    """
    require(
        depth >= 10 and (depth - 4) % 6 == 0, "depth", depth, "6 n + 4, such as 10, 16, 22 or 28"
    )
    require(widening >= 1, "widening", widening, "1 or more")
    x = _conv(images, scaled_width(WIDTHS[0], width), name="conv1")
    for stage, filters in enumerate(WIDTHS, start=1):
        for block in range(1, (depth - 4) // 6 + 1):
            stride = 2 if stage > 1 and block == 1 else 1
            x = _block(
                x,
                scaled_width(widening * filters, width),
                stride,
                name=f"stage{stage}_block{block}",
            )
    return layers.GlobalAveragePooling2D(name="pool")(_active(x, name="final"))


def _block(x: KerasTensor, filters: int, stride: int, name: str) -> KerasTensor:
    active = _active(x, name=f"{name}_conv1")
    y = _conv(active, filters, stride=stride, name=f"{name}_conv1")
    y = _conv(_active(y, name=f"{name}_conv2"), filters, name=f"{name}_conv2")
    if stride > 1 or x.shape[-1] != filters:
        x = _conv(active, filters, kernel=1, stride=stride, name=f"{name}_shortcut")
    return layers.Add(name=f"{name}_add")([x, y])


def _active(x: KerasTensor, name: str) -> KerasTensor:
    return layers.ReLU(name=f"{name}_relu")(batch_norm(x, name=f"{name}_bn"))


def _conv(
    x: KerasTensor, filters: int, *, kernel: int = 3, stride: int = 1, name: str
) -> KerasTensor:
    return convolution(x, filters, kernel, stride, initializer="he_normal", name=name)
