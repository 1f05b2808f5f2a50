"""The corruptions as others wrote them, one image at a time, to compare with.

Most are TensorFlow Datasets'. Its motion blur and snow call ImageMagick and its pixelate takes Pillow's default filter,
so these three are written out after imagecorruptions 1.1.2 (Apache-2.0), the fork of ImageNet-C's code.
"""

import warnings
from functools import partial

import cv2
import numpy as np
from PIL import Image

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # pkg_resources, where it is there
    from tensorflow_datasets.image_classification import corruptions as tfds


def reference(name):
    """A function of an image, a severity."""
    return {"motion_blur": motion_blur, "snow": snow, "pixelate": pixelate}.get(name) or partial(
        quiet, name
    )


def quiet(name, image, severity):
    with warnings.catch_warnings():
        # TensorFlow Datasets takes `map_coordinates` from a name that SciPy will remove.
        warnings.filterwarnings("ignore", "Please import `map_coordinates`", DeprecationWarning)
        return getattr(tfds, name)(image, severity)


def pixelate(image, severity):
    share = (0.6, 0.5, 0.4, 0.3, 0.25)[severity - 1]
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize(
        (int(width * share), int(height * share)), Image.Resampling.BOX
    )
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


def shifted(image, right, down):
    """Moved, what moves in repeats the edge."""
    rows, columns = (np.arange(size) for size in image.shape[:2])
    return image[np.clip(rows - down, 0, len(rows) - 1)][
        :, np.clip(columns - right, 0, len(columns) - 1)
    ]


def streak(image, radius, sigma, degrees):
    width = 2 * radius + 1
    weights = np.exp(-(np.arange(width) ** 2) / (2 * sigma**2))
    angle = np.deg2rad(degrees)
    blurred = np.zeros(image.shape)
    for step, weight in enumerate(weights / weights.sum()):
        down, right = -np.ceil(step * np.sin(angle) - 0.5), -np.ceil(step * np.cos(angle) - 0.5)
        blurred += weight * shifted(image, int(right), int(down))
    return blurred


def motion_blur(image, severity):
    radius, sigma = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))[severity - 1]
    blurred = streak(image.astype(float), radius, sigma, np.random.uniform(-45, 45))  # noqa: NPY002
    return np.around(blurred).clip(0, 255).astype(np.uint8)


def snow(image, severity):
    mean, deviation, factor, threshold, radius, sigma, weight = (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    )[severity - 1]
    # imagecorruptions alone keeps the upper left of the enlarged layer, not its middle.
    flakes = np.random.normal(mean, deviation, (*image.shape[:2], 1))  # noqa: NPY002
    layer = tfds.clipped_zoom(flakes, factor)[..., 0]
    layer[layer < threshold] = 0
    layer = streak(layer.clip(0, 1), radius, sigma, np.random.uniform(-135, -45))  # noqa: NPY002
    pixels = image.astype(np.float32) / 255
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)[..., np.newaxis]
    pixels = weight * pixels + (1 - weight) * np.maximum(pixels, grey * 1.5 + 0.5)
    layer = layer[..., np.newaxis]
    return np.around((pixels + layer + np.rot90(layer, 2)).clip(0, 1) * 255).astype(np.uint8)
