"""Small convolutional networks: one trains on the bundled digits in seconds, one on CIFAR-10 in minutes."""

from collections.abc import Sequence

from keras import KerasTensor, layers

from tfaudit.models.blocks import batch_norm, convolution, scaled_width


def digits_convnet(
    images: KerasTensor, *, filters: Sequence[int] = (16, 32), units: int = 64, width: float = 1.0
) -> KerasTensor:
    """Build blocks of 3x3 convolution, ReLU and 2x2 pooling, then one dense layer; 13,706 parameters for the digits."""
    x = images
    for i, count in enumerate(filters, start=1):
        x = layers.Conv2D(
            scaled_width(count, width), 3, padding="same", activation="relu", name=f"conv{i}"
        )(x)
        x = layers.MaxPooling2D(name=f"pool{i}")(x)
    x = layers.Flatten(name="flatten")(x)
    return layers.Dense(scaled_width(units, width), activation="relu", name="dense1")(x)


def cifar_convnet(
    images: KerasTensor,
    *,
    filters: Sequence[int] = (16, 32, 64, 128),
    width: float = 1.0,
) -> KerasTensor:
    """Build 3x3 convolutions with BatchNormalization and ReLU, then global average pooling.

    2x2 pooling follows each of the first three convolutions.
    """
    x = images
    for i, count in enumerate(filters, start=1):
        x = convolution(x, scaled_width(count, width), 3, name=f"conv{i}")
        x = layers.ReLU(name=f"relu{i}")(batch_norm(x, name=f"bn{i}"))
        if i <= 3:
            x = layers.MaxPooling2D(name=f"pool{i}")(x)
    return layers.GlobalAveragePooling2D(name="mean")(x)
