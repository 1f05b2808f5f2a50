"""LeNet-5 as two of the papers use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfaudit.models.width import narrowed

if TYPE_CHECKING:
    import keras

__all__ = ["lenet_p", "lenet_r"]


def lenet_r(images: keras.KerasTensor, *, width: float = 1.0) -> keras.KerasTensor:
    """[R]: 5x5 kernels, the first padded to keep the size; 61,706 parameters on 28x28x1 and 10 classes."""
    return _lenet(images, kernel=5, padding="same", width=width)


def lenet_p(images: keras.KerasTensor, *, width: float = 1.0) -> keras.KerasTensor:
    """[P] appendix C: two blocks of 3x3 convolution, ReLU and pooling; 60,074 parameters on 28x28x1 and 10 classes."""
    return _lenet(images, kernel=3, padding="valid", width=width)


def _lenet(images: keras.KerasTensor, kernel: int, padding: str, width: float) -> keras.KerasTensor:
    from keras import layers

    x = layers.Conv2D(narrowed(6, width), kernel, padding=padding, activation="relu", name="conv1")(images)
    x = layers.MaxPooling2D(name="pool1")(x)
    x = layers.Conv2D(narrowed(16, width), kernel, activation="relu", name="conv2")(x)
    x = layers.MaxPooling2D(name="pool2")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(narrowed(120, width), activation="relu", name="dense1")(x)
    return layers.Dense(narrowed(84, width), activation="relu", name="dense2")(x)
