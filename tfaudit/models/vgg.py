"""VGG-11 (Simonyan and Zisserman 2015, configuration A)."""

from keras import KerasTensor, layers

from tfaudit.models.blocks import scaled_width

STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))
UNITS = 4096


def vgg11(images: KerasTensor, *, width: float = 1.0) -> KerasTensor:
    """Build eight 3x3 convolutions in five pooled stages, then two dense layers with dropout; no batch normalisation.

    132,863,336 parameters for 224x224x3 and 1,000 classes, as in torchvision; 28,144,010 for 32x32x3 and 10 classes.
    Pools keep the last odd row and column, so images of 28 pixels pass through five of them.
    """
    x, number = images, 0
    for stage, widths in enumerate(STAGES, start=1):
        for filters in widths:
            number += 1
            settings = {"activation": "relu", "kernel_initializer": "he_normal", "name": f"conv{number}"}
            x = layers.Conv2D(scaled_width(filters, width), 3, padding="same", **settings)(x)
        x = layers.MaxPooling2D(2, padding="same", name=f"pool{stage}")(x)
    x = layers.Flatten(name="flatten")(x)
    for i in (1, 2):
        x = layers.Dense(scaled_width(UNITS, width), "relu", kernel_initializer="he_normal", name=f"dense{i}")(x)
        x = layers.Dropout(0.5, name=f"dropout{i}")(x)
    return x
