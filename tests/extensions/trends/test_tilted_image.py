"""The image that shows how the tilt is measured."""

import io

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from tfaudit.extensions.trends.audits import tilted_image
from tfaudit.stats import tilt


def png_of(levels):
    file = io.BytesIO()
    Image.fromarray(levels).save(file, "PNG")
    return file.getvalue()


def test_the_example_is_more_tilted_than_most():
    images = (load_digits().images[:50] / 16 * 255).astype(np.uint8)
    image = tilted_image([png_of(levels) for levels in images])
    tilts = np.abs(tilt(images))
    assert 0.85 <= (tilts <= abs(tilt(image[None])[0])).mean() <= 0.95
    assert (images == image).all(axis=(1, 2)).any()
    assert tilted_image([b"", b"a text"]) is None
