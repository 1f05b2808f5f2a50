"""Convolutions of residual networks: without bias, with equal padding on all sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

__all__ = ["batch_norm", "convolution"]


def convolution(
    x: keras.KerasTensor, filters: int, kernel: int, stride: int = 1, *, initializer: str, name: str
) -> keras.KerasTensor:
    """Apply a convolution padded by half its kernel.

    With "same" padding, TensorFlow centres strided kernels one pixel away from those of PyTorch, Caffe and He et al.,
    and from the pixels that a strided shortcut selects.
    """
    from keras import layers

    padding = "same"
    if stride > 1 and kernel > 1:
        x, padding = layers.ZeroPadding2D(kernel // 2, name=f"{name}_pad")(x), "valid"
    return layers.Conv2D(filters, kernel, stride, padding, use_bias=False, kernel_initializer=initializer, name=name)(x)


def batch_norm(x: keras.KerasTensor, *, name: str, gamma: str = "ones") -> keras.KerasTensor:
    """Apply batch normalisation with momentum 0.9 and epsilon 1e-5, as in the residual networks of all papers."""
    from keras import layers

    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, gamma_initializer=gamma, name=name)(x)
