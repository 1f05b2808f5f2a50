"""Training batches that depend on the seed and the step alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfaudit.datasets.augmentation import augmentation as find_augmentation
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["split_validation", "training_batches"]

SHUFFLE_BYTES = 256 * 2**20
"""A streaming set shuffles within a buffer of this many decoded bytes."""

ORDER, AUGMENT = 0, 1


def training_batches(dataset: Dataset, *, batch_size: int, seed: int, augmentation: str = "none") -> tf.data.Dataset:
    """Shuffled batches without end; the batch of a step follows from the seed and the step, bit for bit.

    An epoch shows every example once and ends with a short batch where `batch_size` does not divide N, so it takes
    `ceil(N / batch_size)` steps. Sets in memory are permuted anew per epoch; streaming ones pass through a shuffle
    buffer of 256 MB in the fixed order of their files. The `element_spec` is the same for all seeds, so a train
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
    epochs = _epochs_in_memory if dataset.in_memory else _epochs_streaming
    batches = epochs(dataset, batch_size, tf.random.fold_in(root, ORDER))
    seeds = tf.random.fold_in(root, AUGMENT)

    def finish(step: tf.Tensor, batch: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        images, labels = batch
        return tf.cast(augment(images, tf.random.fold_in(seeds, step)), tf.float32), labels

    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    options = tf.data.Options()
    options.deterministic = True
    return batches.enumerate().map(finish).apply(endless).with_options(options).prefetch(2)


def split_validation(dataset: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Set a share of a training set aside for validation, by seed and stratified by class ([P] takes 20 %).

    Args:
        dataset: A set in memory.
        fraction: Share of the validation part, between 0 and 1.
        seed: Seed of scikit-learn's `train_test_split`.

    Returns:
        The training part and the validation part (split name `"validation"`), each in the order of `dataset`.

    Raises:
        InputError: A fraction outside (0, 1) or too small for the classes, or a streaming set.
    """
    from sklearn.model_selection import train_test_split

    if not 0 < fraction < 1:
        raise InputError(f"fraction is {fraction}; it must lie between 0 and 1, both excluded")
    if not dataset.in_memory:
        raise InputError(
            f"data set {dataset.name!r} streams; take its validation part by slices, load_dataset(name, 'train[80%:]')"
        )
    positions = np.arange(dataset.num_examples)
    try:
        train, held_out = train_test_split(positions, test_size=fraction, random_state=seed, stratify=dataset.labels)
    except ValueError as error:
        raise InputError(
            f"fraction {fraction} of {dataset.num_examples} examples cannot be stratified: {error}"
        ) from None
    return (
        dataset.select(np.sort(train), split=dataset.split),
        dataset.select(np.sort(held_out), split="validation"),
    )


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


def _epochs_streaming(dataset: Dataset, batch_size: int, seed: tf.Tensor) -> tf.data.Dataset:
    import tensorflow as tf

    examples = dataset.examples()
    example_bytes = int(np.prod(dataset.image_shape))  # type: ignore[arg-type]
    buffer = min(dataset.num_examples, max(batch_size, SHUFFLE_BYTES // example_bytes))

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        # Of this graph alone: else the process' global seed would count as well, and a seed of 0 fail.
        tf.random.set_seed(1)
        order = tf.random.stateless_uniform([], tf.random.fold_in(seed, number), 0, 2**31, tf.int64)
        return examples.shuffle(buffer, seed=order, reshuffle_each_iteration=False).batch(batch_size)

    return tf.data.Dataset.counter().flat_map(epoch)
