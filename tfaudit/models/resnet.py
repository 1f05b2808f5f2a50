"""The residual networks for CIFAR of He et al. 2016, section 4.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

__all__ = ["resnet"]

WIDTHS = (16, 32, 64)


def resnet(images: keras.KerasTensor, *, depth: int) -> keras.KerasTensor:
    """A residual network of `depth = 6 n + 2` layers: three stages of n blocks, 16, 32 and 64 filters wide.

    Shortcuts are He et al.'s option A, free of parameters: every other pixel, and zeros for the added channels.
    Trainable parameters on 32x32x3 and 10 classes, depths 20, 32, 44, 56, 110: 269,722, 464,154, 658,586, 853,018
    and 1,727,962. Weights start from He's normal distribution.

    Args:
        images: Normalised, `(B, H, W, C)`.
        depth: Layers with weights.
    """
    from keras import layers

    x = layers.ReLU(name="relu1")(_conv_bn(images, WIDTHS[0], stride=1, name="conv1"))
    for stage, width in enumerate(WIDTHS, start=1):
        for block in range(1, (depth - 2) // 6 + 1):
            stride = 2 if stage > 1 and block == 1 else 1
            x = _block(x, width, stride, name=f"stage{stage}_block{block}")
    return layers.GlobalAveragePooling2D(name="pool")(x)


def _block(x: keras.KerasTensor, width: int, stride: int, name: str) -> keras.KerasTensor:
    import keras
    from keras import layers

    y = layers.ReLU(name=f"{name}_relu1")(_conv_bn(x, width, stride, name=f"{name}_conv1"))
    y = _conv_bn(y, width, stride=1, name=f"{name}_conv2")
    if stride > 1:
        x = layers.AveragePooling2D(1, strides=stride, name=f"{name}_subsample")(x)
        added = width - x.shape[-1]
        x = keras.ops.pad(x, [[0, 0], [0, 0], [0, 0], [added // 2, added - added // 2]])
    return layers.ReLU(name=f"{name}_relu2")(layers.Add(name=f"{name}_add")([x, y]))


def _conv_bn(x: keras.KerasTensor, width: int, stride: int, name: str) -> keras.KerasTensor:
    from keras import layers

    padding = "same"
    if stride > 1:
        # TensorFlow's "same" centres strided kernels one pixel off the pixels that the shortcut keeps; this does not.
        x, padding = layers.ZeroPadding2D(1, name=f"{name}_pad")(x), "valid"
    x = layers.Conv2D(width, 3, stride, padding, use_bias=False, kernel_initializer="he_normal", name=name)(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name=f"{name}_bn")(x)
