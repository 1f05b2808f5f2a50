"""VGG-11 and VGG-16 (Simonyan and Zisserman 2015, configurations A and D)."""

import itertools

from keras import KerasTensor, layers

from tfaudit.models.blocks import batch_norm, scaled_width

STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))
UNITS = 4096


def vgg11(images: KerasTensor, *, width: float = 1.0) -> KerasTensor:
    """Build eight 3x3 convolutions in five pooled stages, then two dense layers with dropout; no batch normalisation.

    132,863,336 parameters for 224x224x3 and 1,000 classes, as in torchvision; 28,144,010 for 32x32x3 and 10 classes.
    Pooling keeps the last odd row and column, so images of 28 pixels pass through all five stages.
    """
    x = images
    numbers = itertools.count(1)
    for stage, widths in enumerate(STAGES, start=1):
        for filters in widths:
            x = _convolution(x, scaled_width(filters, width), f"conv{next(numbers)}", "relu")
        x = layers.MaxPooling2D(2, padding="same", name=f"pool{stage}")(x)
    x = layers.Flatten(name="flatten")(x)
    for i in (1, 2):
        x = layers.Dense(
            scaled_width(UNITS, width), "relu", kernel_initializer="he_normal", name=f"dense{i}"
        )(x)
        x = layers.Dropout(0.5, name=f"dropout{i}")(x)
    return x


def vgg16_cifar(images: KerasTensor, *, width: float = 1.0) -> KerasTensor:
    """Build VGG-16 for CIFAR (Liu and Deng 2015): BatchNormalization and dropout, one dense layer of 512 units.

    14,991,946 trainable parameters for 32x32x3 and 10 classes.
    """
    x = images
    number = 0
    for stage, count in enumerate((2, 2, 3, 3, 3), start=1):
        filters = scaled_width(64 * 2 ** min(stage - 1, 3), width)
        for i in range(1, count + 1):
            number += 1
            x = _convolution(x, filters, f"conv{number}")
            x = layers.ReLU(name=f"relu{number}")(batch_norm(x, name=f"bn{number}"))
            if i < count:
                x = layers.Dropout(0.3 if number == 1 else 0.4, name=f"dropout{number}")(x)
        x = layers.MaxPooling2D(2, name=f"pool{stage}")(x)
    x = layers.Dropout(0.5, name="dropout_flat")(layers.Flatten(name="flatten")(x))
    x = layers.Dense(scaled_width(512, width), kernel_initializer="he_normal", name="dense1")(x)
    x = layers.ReLU(name="relu_dense")(batch_norm(x, name="bn_dense"))
    return layers.Dropout(0.5, name="dropout_dense")(x)


def _convolution(
    x: KerasTensor, filters: int, name: str, activation: str | None = None
) -> KerasTensor:
    return layers.Conv2D(
        filters, 3, padding="same", activation=activation, kernel_initializer="he_normal", name=name
    )(x)
