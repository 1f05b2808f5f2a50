"""Cropping and resizing: the central square for evaluation, a random rectangle for training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tfaudit.datasets.scaling import Scaling
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf


def centre_crop(images: np.ndarray, size: int | None) -> np.ndarray:
    """Return the central square of images `(..., H, W, C)`, `size` pixels wide; for None, the images as they are.

    Raises:
        InputError: the images are smaller than the square.

    Example:
        >>> centre_crop(np.arange(16).reshape(4, 4, 1), 2)[..., 0]
        array([[ 5,  6],
               [ 9, 10]])
    """
    if size is None:
        return images
    height, width = images.shape[-3:-1]
    if size > min(height, width):
        expected = f"at most {min(height, width)}, as an image has {height} x {width}"
        raise InputError("crop", f"{size} pixels", expected)
    top = (height - size) // 2
    left = (width - size) // 2
    return images[..., top : top + size, left : left + size, :]


def resize_and_crop(scaling: Scaling) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return the `tf.data` function that scales an image's shorter side and crops the central square.

    The function maps a uint8 image `(H, W, C)` to uint8 `(crop, crop, C)`, padded with zeros if it is smaller. If
    nothing is scaled, it returns the image as it is.
    """
    import tensorflow as tf

    edge = scaling.edge
    image_size = scaling.image_size

    def resized(image: tf.Tensor) -> tf.Tensor:
        if edge is None:
            return image
        if image_size is not None:
            size = tf.cast(tf.shape(image)[:2], tf.float32)
            scaled = tf.cast(tf.round(size * (image_size / tf.reduce_min(size))), tf.int32)
            image = _resize(image, tf.maximum(scaled, image_size))
        return tf.image.resize_with_crop_or_pad(image, edge, edge)

    return resized


def random_crop(image: tf.Tensor, height: int, width: int, seed: tf.Tensor) -> tf.Tensor:
    """Crop a random rectangle and resize it: 8 % to 100 % of the area, sides at 3:4 to 4:3 (Inception's crop).

    Maps a uint8 image `(H, W, C)` and a seed, int `(2,)`, to uint8 `(height, width, C)`.
    """
    import tensorflow as tf

    top, left, rows, columns = tf.unstack(_random_box(tf.shape(image), seed))
    return _resize(image[top : top + rows, left : left + columns], (height, width))


def random_crop_encoded(
    encoded: tf.Tensor, height: int, width: int, channels: int, seed: tf.Tensor
) -> tf.Tensor:
    """Apply `random_crop` to an encoded image; of a JPEG only the rectangle is decoded."""
    import tensorflow as tf

    def crop_jpeg() -> tf.Tensor:
        box = _random_box(tf.image.extract_jpeg_shape(encoded), seed)
        return _resize(
            tf.image.decode_and_crop_jpeg(encoded, box, channels=channels), (height, width)
        )

    def crop_other() -> tf.Tensor:
        image = tf.io.decode_image(encoded, channels=channels, expand_animations=False)
        return random_crop(image, height, width, seed)

    return tf.ensure_shape(
        tf.cond(tf.io.is_jpeg(encoded), crop_jpeg, crop_other), (height, width, channels)
    )


def fit_within(image: tf.Tensor, edge: int) -> tf.Tensor:
    """Scale a uint8 image down so that its longer side has `edge` pixels; smaller images stay as they are."""
    import tensorflow as tf

    size = tf.cast(tf.shape(image)[:2], tf.float32)
    scale = tf.minimum(edge / tf.reduce_max(size), 1.0)
    return _resize(image, tf.maximum(tf.cast(tf.round(size * scale), tf.int32), 1))


def _random_box(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Return top, left, height and width, int32 `(4,)`; the whole image if no attempt fits."""
    import tensorflow as tf

    begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        shape,
        tf.zeros([1, 0, 4]),
        seed,
        use_image_if_no_bounding_boxes=True,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10,
        min_object_covered=0.0,
    )
    return tf.concat([begin[:2], size[:2]], axis=0)


def _resize(image: tf.Tensor, size: tf.Tensor | tuple[int, int]) -> tf.Tensor:
    """Resize bilinearly with anti-aliasing, as Pillow and torchvision do, and round to uint8.

    An image of which neither side shrinks needs no anti-aliasing, without which TensorFlow takes a third of the time.
    """
    import tensorflow as tf

    resized = tf.cond(
        tf.reduce_all(tf.shape(image)[:2] <= size),
        lambda: tf.image.resize(image, size),
        lambda: tf.image.resize(image, size, antialias=True),
    )
    # Weights of pixels sum to 1, so nothing lies beyond 0 and 255; a cast cuts off fractions.
    return tf.cast(resized + 0.5, tf.uint8)
