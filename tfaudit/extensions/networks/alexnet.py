"""AlexNet (Krizhevsky 2014), as in torchvision and as a version for small images."""

from keras import KerasTensor, layers

from tfaudit.models.blocks import scaled_width

FILTERS = (64, 192, 384, 256, 256)
UNITS = 4096


def alexnet(images: KerasTensor, *, small: bool = False, width: float = 1.0) -> KerasTensor:
    """Build five convolutions, three with pooling, then two dense layers with dropout; `small` adapts to small images.

    61,100,840 parameters for 224x224x3 and 1,000 classes, as in torchvision. For small images the kernels are 3x3, the
    first stride is 2 and the pools are 2x2, as in common CIFAR versions ([P] resizes the images instead): 23,272,266
    parameters for 32x32x3 and 10 classes.
    """
    kernels = (3, 3, 3, 3, 3) if small else (11, 5, 3, 3, 3)
    strides = (2 if small else 4, 1, 1, 1, 1)
    x = images
    for i, (filters, kernel, stride) in enumerate(
        zip(FILTERS, kernels, strides, strict=True), start=1
    ):
        padding = "same"
        if stride > 1:  # places strided kernels as PyTorch does
            x = layers.ZeroPadding2D(1 if small else 2, name=f"conv{i}_pad")(x)
            padding = "valid"
        x = layers.Conv2D(
            scaled_width(filters, width),
            kernel,
            stride,
            padding,
            activation="relu",
            kernel_initializer="he_normal",
            name=f"conv{i}",
        )(x)
        if i in (1, 2, 5):
            x = layers.MaxPooling2D(2 if small else 3, 2, name=f"pool{i}")(x)
    x = layers.Flatten(name="flatten")(x)
    for i in (1, 2):
        x = layers.Dropout(0.5, name=f"dropout{i}")(x)
        x = layers.Dense(
            scaled_width(UNITS, width), "relu", kernel_initializer="he_normal", name=f"dense{i}"
        )(x)
    return x
