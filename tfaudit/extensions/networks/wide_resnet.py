"""Wide residual networks (Zagoruyko and Komodakis 2016)."""

from keras import KerasTensor, layers

from tfaudit.errors import require, require_least
from tfaudit.models.blocks import batch_norm, convolution, residual_stages, scaled_width

WIDTHS = (16, 32, 64)


def wide_resnet(
    images: KerasTensor, *, depth: int = 28, widening: int = 10, width: float = 1.0
) -> KerasTensor:
    """Build a wide residual network, WRN-28-10 by default ([F] uses one for CIFAR-10 without naming its widths).

    Each of the three stages has `(depth - 4) / 6` blocks, which apply batch normalisation, ReLU and a 3x3 convolution
    twice. 36,479,194 trainable parameters for 32x32x3 and 10 classes.

    `depth` is the number of layers with weights: 10, 16, 22, 28, ...; `widening` is the factor k of the paper.
    """
    require(
        depth >= 10 and (depth - 4) % 6 == 0, "depth", depth, "6 n + 4, such as 10, 16, 22 or 28"
    )
    require_least(1, widening=widening)
    widths = [scaled_width(widening * filters, width) for filters in WIDTHS]
    x = convolution(images, scaled_width(WIDTHS[0], width), 3, name="conv1")
    x = residual_stages(x, _block, widths, [(depth - 4) // 6] * len(WIDTHS))
    return layers.GlobalAveragePooling2D(name="pool")(_active(x, name="final"))


def _block(x: KerasTensor, filters: int, stride: int, name: str) -> KerasTensor:
    active = _active(x, name=f"{name}_conv1")
    y = convolution(active, filters, 3, stride, name=f"{name}_conv1")
    y = convolution(_active(y, name=f"{name}_conv2"), filters, 3, name=f"{name}_conv2")
    if stride > 1 or x.shape[-1] != filters:
        x = convolution(active, filters, 1, stride, name=f"{name}_shortcut")
    return layers.Add(name=f"{name}_add")([x, y])


def _active(x: KerasTensor, name: str) -> KerasTensor:
    return layers.ReLU(name=f"{name}_relu")(batch_norm(x, name=f"{name}_bn"))
