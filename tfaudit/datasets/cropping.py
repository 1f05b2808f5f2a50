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

    The function maps a uint8 image `(H, W, C)` to uint8 `(crop, crop, C)`, padded with zeros if it is smaller, or to
    float32 if the scaling is bicubic. If nothing is scaled, it returns the image as it is.
    """
    import tensorflow as tf

    edge = scaling.edge
    image_size = scaling.image_size

    def resized(image: tf.Tensor) -> tf.Tensor:
        if edge is None:
            return image
        if scaling.bicubic and image_size is not None:
            return _centre(_cover(image, image_size, image_size), edge, edge)
        if image_size is not None:
            size = tf.cast(tf.shape(image)[:2], tf.float32)
            scaled = tf.cast(tf.round(size * (image_size / tf.reduce_min(size))), tf.int32)
            image = _resize(image, tf.maximum(scaled, image_size))
        return tf.image.resize_with_crop_or_pad(image, edge, edge)

    return resized


def random_crop(
    image: tf.Tensor, height: int, width: int, seed: tf.Tensor, *, single: bool = False
) -> tf.Tensor:
    """Crop a random rectangle and resize it: 8 % to 100 % of the area, sides at 3:4 to 4:3 (Inception's crop).

    Maps a uint8 image `(H, W, C)` and a seed, int `(2,)`, to uint8 `(height, width, C)`; the whole image is taken if
    none of ten rectangles fits.

    With `single`, as in [F]'s released code, to float32: of a single rectangle, which must cover 10 % of the image, or
    else of the centre of the image, scaled to cover the result; bicubic as `Scaling(bicubic=True)`.
    """
    import tensorflow as tf

    box = _random_box(tf.shape(image), seed, single)
    top, left, rows, columns = tf.unstack(box)
    part = image[top : top + rows, left : left + columns]
    if not single:
        return _resize(part, (height, width))
    return _resize_single(part, tf.shape(image), height, width)


def random_crop_encoded(
    encoded: tf.Tensor,
    height: int,
    width: int,
    channels: int,
    seed: tf.Tensor,
    *,
    single: bool = False,
) -> tf.Tensor:
    """Apply `random_crop` to an encoded image; of a JPEG only the rectangle is decoded."""
    import tensorflow as tf

    def crop_jpeg() -> tf.Tensor:
        shape = tf.image.extract_jpeg_shape(encoded)
        box = _random_box(shape, seed, single)
        part = tf.image.decode_and_crop_jpeg(encoded, box, channels=channels)
        if not single:
            return _resize(part, (height, width))
        return _resize_single(part, shape, height, width)

    def crop_other() -> tf.Tensor:
        image = tf.io.decode_image(encoded, channels=channels, expand_animations=False)
        return random_crop(image, height, width, seed, single=single)

    return tf.ensure_shape(
        tf.cond(tf.io.is_jpeg(encoded), crop_jpeg, crop_other), (height, width, channels)
    )


def as_pixels(image: tf.Tensor) -> tf.Tensor:
    """Round an image to uint8; values beyond 0 and 255, which bicubic interpolation gives, become these."""
    import tensorflow as tf

    return image if image.dtype == tf.uint8 else tf.saturate_cast(tf.round(image), tf.uint8)


def fit_within(image: tf.Tensor, edge: int) -> tf.Tensor:
    """Scale an image down, to uint8, so that its longer side has `edge` pixels; smaller images stay as they are."""
    import tensorflow as tf

    image = as_pixels(image)
    size = tf.cast(tf.shape(image)[:2], tf.float32)
    scale = tf.minimum(edge / tf.reduce_max(size), 1.0)
    return _resize(image, tf.maximum(tf.cast(tf.round(size * scale), tf.int32), 1))


def _random_box(shape: tf.Tensor, seed: tf.Tensor, single: bool) -> tf.Tensor:
    """Return top, left, height and width, int32 `(4,)`; the whole image if no attempt fits."""
    import tensorflow as tf

    begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        shape,
        tf.constant([[[0.0, 0.0, 1.0, 1.0]]]) if single else tf.zeros([1, 0, 4]),
        seed,
        use_image_if_no_bounding_boxes=True,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=1 if single else 10,
        min_object_covered=0.1 if single else 0.0,
    )
    return tf.concat([begin[:2], size[:2]], axis=0)


def _resize_single(part: tf.Tensor, shape: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Resize a rectangle of an image; if it is the whole image, take its centre."""
    import tensorflow as tf

    return tf.cond(
        tf.reduce_all(tf.shape(part)[:2] == shape[:2]),
        lambda: _centre(_cover(part, height, width), height, width),
        lambda: _resize_bicubic(part, (height, width)),
    )


def _cover(image: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Scale an image, which keeps its ratio, to cover a rectangle; its longer side is rounded down."""
    import tensorflow as tf

    rows, columns = tf.unstack(tf.cast(tf.shape(image)[:2], tf.float32))
    size = tf.cond(
        rows / columns > height / width,
        lambda: tf.stack([tf.cast(rows / columns * width, tf.int32), width]),
        lambda: tf.stack([height, tf.cast(columns / rows * height, tf.int32)]),
    )
    return _resize_bicubic(image, size)


def _centre(image: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Crop the centre of an image; an odd margin is larger at the top and on the left."""
    import tensorflow as tf

    rows, columns, channels = tf.unstack(tf.shape(image))
    top, left = (rows - height + 1) // 2, (columns - width + 1) // 2
    centre = tf.slice(image, [top, left, 0], [height, width, channels])
    return tf.ensure_shape(centre, (height, width, image.shape[2]))


def _resize_bicubic(image: tf.Tensor, size: tf.Tensor | tuple[int, int]) -> tf.Tensor:
    """Resize as TensorFlow 1 does by default: corners of pixels aligned, a cubic kernel of a = -.75; float32."""
    import tensorflow as tf

    # Not `tf.compat.v1.image.resize_bicubic`, which logs that it is deprecated.
    return tf.raw_ops.ResizeBicubic(images=image[None], size=size)[0]


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
