"""Images of any size to one size: the same square for evaluation, a random one for training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["middle_square", "random_crop", "random_crop_encoded", "scaled_within"]

AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
ATTEMPTS = 10


def middle_square(image_size: int | None, crop: int | None) -> Callable[[tf.Tensor], tf.Tensor]:
    """The function that scales an image's shorter side and takes the middle square.

    Args:
        image_size: Pixels that the shorter side is scaled to; `None` does not scale.
        crop: Edge of the square in pixels; `image_size` by default. ImageNet's evaluation is 256 and 224.

    Returns:
        A function of a uint8 image `(H, W, C)` to uint8 `(crop, crop, C)`, or to the image where neither is given.
        What a small image lacks of `crop` is zero.
    """
    import tensorflow as tf

    edge = crop or image_size

    def cut(image: tf.Tensor) -> tf.Tensor:
        if edge is None:
            return image
        if image_size is not None:
            size = tf.cast(tf.shape(image)[:2], tf.float32)
            scaled = tf.cast(tf.round(size * (image_size / tf.reduce_min(size))), tf.int32)
            image = _resized(image, tf.maximum(scaled, image_size))
        return tf.image.resize_with_crop_or_pad(image, edge, edge)

    return cut


def random_crop(image: tf.Tensor, height: int, width: int, seed: tf.Tensor) -> tf.Tensor:
    """A random rectangle of an image, scaled: 8 % to 100 % of its area, sides at 3:4 to 4:3 (Inception's crop).

    Args:
        image: uint8 `(H, W, C)`.
        height: Of the result, in pixels.
        width: The same.
        seed: int `(2,)`.

    Returns:
        uint8 `(height, width, C)`.
    """
    import tensorflow as tf

    top, left, rows, columns = tf.unstack(_box(tf.shape(image), seed))
    return _resized(image[top : top + rows, left : left + columns], (height, width))


def random_crop_encoded(encoded: tf.Tensor, height: int, width: int, channels: int, seed: tf.Tensor) -> tf.Tensor:
    """`random_crop` of an encoded image; of a JPEG only the rectangle is decoded."""
    import tensorflow as tf

    def part_of_jpeg() -> tf.Tensor:
        box = _box(tf.image.extract_jpeg_shape(encoded), seed)
        return _resized(tf.image.decode_and_crop_jpeg(encoded, box, channels=channels), (height, width))

    def part() -> tf.Tensor:
        image = tf.io.decode_image(encoded, channels=channels, expand_animations=False)
        return random_crop(image, height, width, seed)

    return tf.ensure_shape(tf.cond(tf.io.is_jpeg(encoded), part_of_jpeg, part), (height, width, channels))


def scaled_within(image: tf.Tensor, edge: int) -> tf.Tensor:
    """The whole uint8 image, its longer side scaled down to `edge` pixels; smaller ones stay."""
    import tensorflow as tf

    size = tf.cast(tf.shape(image)[:2], tf.float32)
    scale = tf.minimum(edge / tf.reduce_max(size), 1.0)
    return _resized(image, tf.maximum(tf.cast(tf.round(size * scale), tf.int32), 1))


def _box(shape: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Top, left, height and width, int32 `(4,)`; the whole image where no attempt fits."""
    import tensorflow as tf

    begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        shape,
        tf.zeros([1, 0, 4]),
        seed,
        min_object_covered=0.0,
        aspect_ratio_range=RATIO,
        area_range=AREA,
        max_attempts=ATTEMPTS,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.concat([begin[:2], size[:2]], axis=0)


def _resized(image: tf.Tensor, size: tf.Tensor | tuple[int, int]) -> tf.Tensor:
    """Bilinear with anti-aliasing, as Pillow and torchvision scale, back to uint8."""
    import tensorflow as tf

    pixels = tf.image.resize(image, size, antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(pixels), 0, 255), tf.uint8)
