"""LeNet-5, in the versions of two papers."""

from keras import KerasTensor, layers

from tfaudit.models.blocks import scaled_width


def lenet_r(images: KerasTensor, *, width: float = 1.0) -> KerasTensor:
    """Build the LeNet-5 of [R]: 5x5 kernels, the first with padding; 61,706 parameters for 28x28x1 and 10 classes."""
    return _lenet(images, kernel=5, padding="same", width=width)


def lenet_p(images: KerasTensor, *, width: float = 1.0) -> KerasTensor:
    """Build the LeNet-5 of [P] appendix C: 3x3 kernels; 60,074 parameters for 28x28x1 and 10 classes."""
    return _lenet(images, kernel=3, padding="valid", width=width)


def _lenet(images: KerasTensor, kernel: int, padding: str, width: float) -> KerasTensor:
    x = layers.Conv2D(
        scaled_width(6, width), kernel, padding=padding, activation="relu", name="conv1"
    )(images)
    x = layers.MaxPooling2D(name="pool1")(x)
    x = layers.Conv2D(scaled_width(16, width), kernel, activation="relu", name="conv2")(x)
    x = layers.MaxPooling2D(name="pool2")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(scaled_width(120, width), activation="relu", name="dense1")(x)
    return layers.Dense(scaled_width(84, width), activation="relu", name="dense2")(x)
