"""Building blocks of architectures: scaled widths, convolutions and stages of residual networks."""

from collections.abc import Callable, Sequence

from keras import KerasTensor, layers

from tfaudit.errors import require

Block = Callable[[KerasTensor, int, int, str], KerasTensor]


def scaled_width(units: int, width: float) -> int:
    """Return `width` times the published filters or units of a layer, at least 1; trials use a `width` below 1.

    >>> scaled_width(64, 0.125), scaled_width(6, 0.01)
    (8, 1)
    """
    require(0 < width < float("inf"), "width", width, "a positive number, 1.0 as published")
    return max(round(units * width), 1)


def convolution(
    x: KerasTensor,
    filters: int,
    kernel: int,
    stride: int = 1,
    *,
    name: str,
    initializer: str = "he_normal",
) -> KerasTensor:
    """Apply a convolution padded by half its kernel.

    With "same" padding, TensorFlow centres strided kernels one pixel away from those of PyTorch, Caffe and He et al.,
    and from the pixels that a strided shortcut selects.
    """
    padding = "same"
    if stride > 1 and kernel > 1:
        x = layers.ZeroPadding2D(kernel // 2, name=f"{name}_pad")(x)
        padding = "valid"
    return layers.Conv2D(
        filters, kernel, stride, padding, use_bias=False, kernel_initializer=initializer, name=name
    )(x)


def batch_norm(x: KerasTensor, *, name: str, gamma: str = "ones") -> KerasTensor:
    """Apply batch normalisation with momentum 0.9 and epsilon 1e-5, as in the papers' residual networks."""
    return layers.BatchNormalization(
        momentum=0.9, epsilon=1e-5, gamma_initializer=gamma, name=name
    )(x)


def conv_bn(
    x: KerasTensor,
    filters: int,
    kernel: int,
    stride: int = 1,
    *,
    name: str,
    initializer: str = "he_normal",
    gamma: str = "ones",
) -> KerasTensor:
    """Apply a convolution, then batch normalisation."""
    x = convolution(x, filters, kernel, stride, name=name, initializer=initializer)
    return batch_norm(x, name=f"{name}_bn", gamma=gamma)


def residual_stages(
    x: KerasTensor, block: Block, widths: Sequence[int], counts: Sequence[int]
) -> KerasTensor:
    """Apply stages of residual blocks; every stage but the first begins with stride 2.

    Args:
        x: input of the first block.
        block: function of the images, the filters, the stride and the name of a block.
        widths: number of filters per stage.
        counts: number of blocks per stage.
    """
    for stage, (filters, count) in enumerate(zip(widths, counts, strict=True), start=1):
        for number in range(1, count + 1):
            stride = 2 if stage > 1 and number == 1 else 1
            x = block(x, filters, stride, f"stage{stage}_block{number}")
    return x
