"""Augmentation: random changes of batches of training images, determined by a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfaudit.datasets.cropping import as_pixels, random_crop, random_crop_encoded
from tfaudit.errors import require_one_of

if TYPE_CHECKING:
    import tensorflow as tf

Augmentation = Callable[["tf.Tensor", "tf.Tensor"], "tf.Tensor"]


def find_augmentation(name: str) -> Augmentation:
    """Return the function that maps images `(B, H, W, C)` and a seed, int `(2,)`, to images of that shape and dtype."""
    require_one_of("augmentation", name, AUGMENTATIONS)
    return AUGMENTATIONS[name]


def none(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Return the images as they are."""
    return images


def flip(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Mirror every image left to right with probability 1/2."""
    import tensorflow as tf

    mirrored = tf.random.stateless_uniform([tf.shape(images)[0], 1], seed) < 0.5
    # Moving columns takes a fifth of the time of choosing between whole images.
    columns = tf.range(tf.shape(images)[2])[None]
    order = tf.where(mirrored, columns[:, ::-1], columns)
    return tf.ensure_shape(tf.gather(images, order, axis=2, batch_dims=1), images.shape)


def shift(images: tf.Tensor, seed: tf.Tensor, pixels: int = 1) -> tf.Tensor:
    """Pad every side with `pixels` zeros and crop every image at a random place to its original size."""
    import tensorflow as tf

    count, height, width, _ = tf.unstack(tf.shape(images))
    padded = tf.pad(images, [[0, 0], [pixels, pixels], [pixels, pixels], [0, 0]])
    corner = tf.random.stateless_uniform([count, 2], seed, 0, 2 * pixels + 1, tf.int32)
    rows = corner[:, :1] + tf.range(height)
    columns = corner[:, 1:] + tf.range(width)
    cropped = tf.gather(tf.gather(padded, rows, batch_dims=1), columns, axis=2, batch_dims=1)
    return tf.ensure_shape(cropped, images.shape)


def crop_flip(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Pad by 4, crop at random and mirror half of the images: CIFAR's usual augmentation (He et al. 2016, 4.2).

    [P] E crops and mirrors the images of all its data sets, even digits.
    """
    import tensorflow as tf

    crop_seed, flip_seed = tf.unstack(tf.random.split(seed, 2))
    return flip(shift(images, crop_seed, pixels=4), flip_seed)


def resized_crop_flip(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Apply `random_crop`, resize to the original size and mirror half of the images: ImageNet's usual augmentation.

    The crop's area (8 % to 100 %) and aspect ratio (3:4 to 4:3) are also those of [F]'s released code.
    """
    return _cropped(images, seed, single=False)


def single_crop_flip(images: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Apply `random_crop` with a single attempt, as [F]'s released code does, and mirror half of the images.

    The pixels of a stream keep fractions and overshoot; those of uint8 images in memory are rounded.
    """
    return _cropped(images, seed, single=True)


def _cropped(images: tf.Tensor, seed: tf.Tensor, *, single: bool) -> tf.Tensor:
    import tensorflow as tf

    crop_seed, flip_seed = tf.unstack(tf.random.split(seed, 2))
    _, height, width, _ = images.shape

    def crop(numbered: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        image, number = numbered
        image_seed = tf.random.fold_in(crop_seed, number)
        part = random_crop(image, height, width, image_seed, single=single)
        return tf.cast(as_pixels(part) if images.dtype == tf.uint8 else part, images.dtype)

    crops = tf.map_fn(
        crop, (images, tf.range(tf.shape(images)[0])), fn_output_signature=images.dtype
    )
    return flip(tf.ensure_shape(crops, images.shape), flip_seed)


AUGMENTATIONS: dict[str, Augmentation] = {
    function.__name__: function
    for function in (none, flip, shift, crop_flip, resized_crop_flip, single_crop_flip)
}


def _single_crop_flip_encoded(
    encoded: tf.Tensor, height: int, width: int, channels: int, seed: tf.Tensor
) -> tf.Tensor:
    """Apply `single_crop_flip` to one encoded image: to mirror a batch of floats takes longer than to resize it."""
    import tensorflow as tf

    crop_seed, flip_seed = tf.unstack(tf.random.split(seed, 2))
    image = random_crop_encoded(encoded, height, width, channels, crop_seed, single=True)
    mirrored = tf.random.stateless_uniform([], flip_seed) < 0.5
    return tf.cond(mirrored, lambda: tf.reverse(image, [1]), lambda: image)


CROPPED_ENCODED: dict[str, tuple[Callable[..., tf.Tensor], Augmentation]] = {
    "resized_crop_flip": (random_crop_encoded, flip),
    "single_crop_flip": (_single_crop_flip_encoded, none),
}
"""How augmentations that begin with `random_crop` crop an encoded image, and what remains of them for the batch."""
