"""A small convolutional network that trains on the embedded digits in seconds."""

from collections.abc import Sequence

import keras
from keras import layers

from tfaudit.models.blocks import scaled_width

__all__ = ["digits_convnet"]


def digits_convnet(
    images: keras.KerasTensor, *, filters: Sequence[int] = (16, 32), units: int = 64, width: float = 1.0
) -> keras.KerasTensor:
    """Build blocks of 3x3 convolution, ReLU and 2x2 pooling, then one dense layer; 13,706 parameters for the digits.

    Args:
        images: normalised images `(B, H, W, C)`.
        filters: filters of the two convolutions.
        units: units of the dense layer.
        width: multiple of both.
    """
    x = images
    for i, count in enumerate(filters, start=1):
        x = layers.Conv2D(scaled_width(count, width), 3, padding="same", activation="relu", name=f"conv{i}")(x)
        x = layers.MaxPooling2D(name=f"pool{i}")(x)
    x = layers.Flatten(name="flatten")(x)
    return layers.Dense(scaled_width(units, width), activation="relu", name="dense1")(x)
