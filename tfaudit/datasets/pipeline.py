"""Training batches that depend on the seed and the step alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfaudit.datasets.augmentation import CROPPED_ENCODED
from tfaudit.datasets.augmentation import augmentation as find_augmentation
from tfaudit.datasets.cropping import random_crop_encoded
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["training_batches"]

SHUFFLE_BYTES = 256 * 2**20
"""A streaming set shuffles within a buffer of this size."""

ORDER, AUGMENT = 0, 1


def training_batches(dataset: Dataset, *, batch_size: int, seed: int, augmentation: str = "none") -> tf.data.Dataset:
    """Shuffled batches without end; the batch of a step follows from the seed and the step, bit for bit.

    An epoch shows every example once and ends with a short batch where `batch_size` does not divide N, so it takes
    `ceil(N / batch_size)` steps. Sets in memory are permuted anew per epoch. Streaming ones are read from 16 files at a
    time, the files in an order anew per epoch, and their encoded images pass through a shuffle buffer of 256 MB; then
    several are decoded at a time. Random crops see the whole image, not what evaluation sees of it. The
    `element_spec` is the same for all seeds, so a train
    function traced once serves a whole population.

    Args:
        dataset: The training set.
        batch_size: Examples a step.
        seed: Not negative.
        augmentation: A name in `AUGMENTATIONS`.

    Returns:
        An infinite `tf.data.Dataset` of float32 pixels 0..255 `(B, H, W, C)` and int64 labels `(B,)`.

    Raises:
        InputError: A batch size below 1, a negative seed, an unknown augmentation, or images that vary in size.

    Example:
        >>> from tfaudit.datasets.catalogue import load_dataset
        >>> batches = training_batches(load_dataset("digits", "train"), batch_size=128, seed=0)
        >>> images, labels = next(iter(batches))
        >>> images.shape, images.dtype.name
        (TensorShape([128, 8, 8, 1]), 'float32')
    """
    import tensorflow as tf

    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}; it must be at least 1")
    if not 0 <= seed < 2**31:
        raise InputError(f"seed is {seed}; allowed are 0 to {2**31 - 1}")
    augment = find_augmentation(augmentation)
    root = tf.constant([seed, 0])
    order, seeds = tf.random.fold_in(root, ORDER), tf.random.fold_in(root, AUGMENT)
    if dataset.in_memory:
        batches = _epochs_in_memory(dataset, batch_size, order)
    elif dataset.encoded is not None and augmentation in CROPPED_ENCODED:
        augment = CROPPED_ENCODED[augmentation]
        batches = _epochs_streaming(dataset, batch_size, order, seeds)
    else:
        batches = _epochs_streaming(dataset, batch_size, order, None)

    def finish(step: tf.Tensor, batch: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        images, labels = batch
        return tf.cast(augment(images, tf.random.fold_in(seeds, step)), tf.float32), labels

    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    options = tf.data.Options()
    options.deterministic = True
    return batches.enumerate().map(finish).apply(endless).with_options(options).prefetch(2)


def _epochs_in_memory(dataset: Dataset, batch_size: int, seed: tf.Tensor) -> tf.data.Dataset:
    import tensorflow as tf

    with tf.device("CPU:0"):  # tf.data runs there, also where there is a GPU
        images, labels = tf.constant(dataset.images), tf.constant(dataset.labels)
    count = dataset.num_examples

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        order = tf.random.experimental.stateless_shuffle(tf.range(count), tf.random.fold_in(seed, number))
        return tf.data.Dataset.range(0, count, batch_size).map(lambda start: order[start : start + batch_size])

    orders = tf.data.Dataset.counter().flat_map(epoch)
    return orders.map(lambda order: (tf.gather(images, order), tf.gather(labels, order)))


def _epochs_streaming(
    dataset: Dataset, batch_size: int, seed: tf.Tensor, crop_seed: tf.Tensor | None
) -> tf.data.Dataset:
    import tensorflow as tf

    height, width, channels = dataset.fixed_shape()
    encoded = dataset.encoded
    example_bytes = height * width * channels if encoded is None else max(encoded.example_bytes, 1)
    buffer = min(dataset.num_examples, max(batch_size, SHUFFLE_BYTES // example_bytes))

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        # Of this graph alone: else the process' global seed would count as well, and a seed of 0 fail.
        tf.random.set_seed(1)
        order = tf.random.stateless_uniform([], tf.random.fold_in(seed, number), 0, 2**31, tf.int64)
        examples = dataset.examples() if encoded is None else encoded.read(order)
        shuffled = examples.shuffle(buffer, seed=order, reshuffle_each_iteration=False)
        if encoded is None:
            return shuffled.batch(batch_size)

        def decoded(place: tf.Tensor, example: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, tf.Tensor]:
            content, label, _ = example
            if crop_seed is None:
                return encoded.decode(content), label
            own_seed = tf.random.fold_in(tf.random.fold_in(crop_seed, number), place)
            return random_crop_encoded(content, height, width, channels, own_seed), label

        return shuffled.enumerate().map(decoded, tf.data.AUTOTUNE, deterministic=True).batch(batch_size)

    return tf.data.Dataset.counter().flat_map(epoch)
