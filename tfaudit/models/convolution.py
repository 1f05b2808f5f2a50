"""Convolutions of residual networks: no bias, padded alike on all sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

__all__ = ["batch_norm", "convolution"]


def convolution(
    x: keras.KerasTensor, filters: int, kernel: int, stride: int = 1, *, initializer: str, name: str
) -> keras.KerasTensor:
    """A convolution padded by half its kernel.

    TensorFlow's "same" centres strided kernels one pixel off where PyTorch's, Caffe's and He et al.'s sit, and off the
    pixels that a strided shortcut keeps.
    """
    from keras import layers

    padding = "same"
    if stride > 1 and kernel > 1:
        x, padding = layers.ZeroPadding2D(kernel // 2, name=f"{name}_pad")(x), "valid"
    return layers.Conv2D(filters, kernel, stride, padding, use_bias=False, kernel_initializer=initializer, name=name)(x)


def batch_norm(x: keras.KerasTensor, *, name: str, gamma: str = "ones") -> keras.KerasTensor:
    """Batch normalisation with momentum .9 and epsilon 1e-5, as all the papers' residual networks."""
    from keras import layers

    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, gamma_initializer=gamma, name=name)(x)
