"""The input pipeline of training: batches that depend on the seed and the step only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfaudit.datasets.augmentation import CROPPED_ENCODED, find_augmentation
from tfaudit.datasets.dataset import Dataset, ImageStream, pipeline_options
from tfaudit.datasets.structure import mapped
from tfaudit.errors import require, require_least

if TYPE_CHECKING:
    import tensorflow as tf

SHUFFLE_BYTES = 256 * 2**20
"""Size of the shuffle buffer of a stream."""

ORDER, AUGMENT = 0, 1


def training_batches(
    dataset: Dataset,
    *,
    batch_size: int,
    seed: int,
    augmentation: str = "none",
    targets: bool = False,
    weights: bool = False,
    across_epochs: bool = False,
    start: int = 0,
) -> tf.data.Dataset:
    """Return an infinite dataset of shuffled batches; seed and step determine every batch bit for bit.

    An epoch shows every example once and ends with a short batch if `batch_size` does not divide N, so it takes
    `ceil(N / batch_size)` steps; with `across_epochs`, the next epoch fills this batch. A data set in memory is
    permuted in every epoch. A stream is read from 16 files at a time, in another order of the files in every epoch; its
    encoded images pass through a shuffle buffer of 256 MB and are decoded in parallel. Random crops are taken from the
    whole image, not from the square that evaluation sees. The `element_spec` is the same for all seeds, so a train
    function is traced once for a whole population.

    Args:
        dataset: the training set; images have one size.
        batch_size: examples per step, at least 1.
        seed: seed of order and augmentation, 0 to 2**31 - 1.
        augmentation: name of the augmentation, one of `tfaudit.datasets.augmentation.AUGMENTATIONS`.
        targets: whether to yield the labels as the user's function returned them, such as one-hot.
        weights: whether to yield the weights of the examples, float32 `(B,)`, as a third element, if they have any.
        across_epochs: whether batches continue across the ends of epochs, so that none is short.
        start: number of batches to leave out at the beginning, without decoding their images; none by default.

    Returns:
        An infinite `tf.data.Dataset` of float32 pixels 0..255 `(B, H, W, C)` and int64 labels `(B,)`. Examples that
        are not images keep the structure and types of their inputs.

    Raises:
        InputError: an argument is not as described.

    Example:
        >>> from tfaudit.datasets.loading import load_dataset
        >>> images, labels = next(iter(training_batches(load_dataset("digits", "train"), batch_size=128, seed=0)))
        >>> images.shape, images.dtype.name
        (TensorShape([128, 8, 8, 1]), 'float32')
    """
    import tensorflow as tf

    require_least(1, batch_size=batch_size)
    require(0 <= seed < 2**31, "seed", seed, f"0 to {2**31 - 1}")
    augment = find_augmentation(augmentation)
    if augmentation != "none":
        dataset.fixed_shape()  # images only
    root = tf.constant([seed, 0])
    order = tf.random.fold_in(root, ORDER)
    seeds = tf.random.fold_in(root, AUGMENT)
    if dataset.in_memory:
        held = dataset.tensors(targets=targets, weights=weights)
        batches = _epochs_in_memory(dataset, held, batch_size, order, across_epochs, start)
    else:
        crop, augment = CROPPED_ENCODED.get(augmentation, (None, augment))
        batches = _epochs_streaming(dataset, batch_size, order, crop, seeds, across_epochs, start)

    def finish(step: tf.Tensor, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        inputs, *others = batch
        if dataset.has_images:
            inputs = augment(inputs, tf.random.fold_in(seeds, step))
        return dataset.as_floats(inputs), *others

    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    return (
        batches.enumerate(start)
        .map(finish)
        .apply(endless)
        .with_options(pipeline_options())
        .prefetch(2)
    )


def full_batches(
    dataset: Dataset,
    batch_size: int,
    seed: int,
    *,
    augmentation: str = "none",
    across_epochs: bool = False,
) -> tf.data.Dataset:
    """Return the `training_batches` without the short ones at the ends of epochs, whose statistics mislead.

    If there are fewer than `batch_size` examples, every batch has all of them.

    Example:
        >>> from tfaudit.datasets.loading import load_dataset
        >>> batches = full_batches(load_dataset("digits", "train").take(300), 128, seed=0)
        >>> [len(labels) for _, labels in batches.take(4)]
        [128, 128, 128, 128]
    """
    import tensorflow as tf

    size = min(batch_size, dataset.num_examples)
    batches = training_batches(
        dataset,
        batch_size=size,
        seed=seed,
        augmentation=augmentation,
        across_epochs=across_epochs,
    )
    whole = batches.filter(lambda _, labels: tf.shape(labels)[0] == size)
    return whole.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def _start_in_epoch(
    start: int, batch_size: int, count: int, across_epochs: bool
) -> tuple[int, int]:
    """Return the epoch in which a step starts, and how many of its `count` examples earlier steps have seen."""
    if across_epochs:
        return divmod(start * batch_size, count)
    epoch, batches = divmod(start, -(-count // batch_size))
    return epoch, batches * batch_size


def _epochs_in_memory(
    dataset: Dataset,
    held: tuple[Any, ...],
    batch_size: int,
    seed: tf.Tensor,
    across_epochs: bool,
    start: int,
) -> tf.data.Dataset:
    import tensorflow as tf

    count = dataset.num_examples
    first, passed = _start_in_epoch(start, batch_size, count, across_epochs)

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        order = tf.random.experimental.stateless_shuffle(
            tf.range(count), tf.random.fold_in(seed, number)
        )
        rest = tf.data.Dataset.from_tensors(order[tf.where(number == first, passed, 0) :])
        return rest if across_epochs else rest.rebatch(batch_size)

    orders = tf.data.Dataset.counter(first).flat_map(epoch)
    if across_epochs:
        orders = orders.rebatch(batch_size)
    return orders.map(lambda order: mapped(lambda values: tf.gather(values, order), held))


def _epochs_streaming(
    dataset: Dataset,
    batch_size: int,
    seed: tf.Tensor,
    crop: Callable[..., tf.Tensor] | None,
    crop_seed: tf.Tensor,
    across_epochs: bool,
    start: int,
) -> tf.data.Dataset:
    import tensorflow as tf

    shape = dataset.fixed_shape()
    stream: ImageStream = dataset.stream  # type: ignore[assignment]
    count = dataset.num_examples
    first, passed = _start_in_epoch(start, batch_size, count, across_epochs)
    buffer = min(count, max(batch_size, SHUFFLE_BYTES // stream.example_bytes))

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        # The seed of this graph: otherwise the global seed of the process would matter too, and a seed of 0 fail.
        tf.random.set_seed(1)
        order = tf.random.stateless_uniform([], tf.random.fold_in(seed, number), 0, 2**31, tf.int64)
        examples = stream.read(order)
        epoch_seed = tf.random.fold_in(crop_seed, number)
        shuffled = examples.shuffle(buffer, seed=order, reshuffle_each_iteration=False)

        def decoded(
            position: tf.Tensor, example: tuple[tf.Tensor, ...]
        ) -> tuple[tf.Tensor, tf.Tensor]:
            content, label, _ = example
            if crop is None:
                return stream.decode(content), label
            image_seed = tf.random.fold_in(epoch_seed, position)
            return crop(content, *shape, image_seed), label

        images = (
            shuffled.enumerate()
            .skip(tf.where(number == first, tf.constant(passed, tf.int64), 0))
            .map(decoded, tf.data.AUTOTUNE, deterministic=True)
        )
        return images if across_epochs else images.batch(batch_size)

    epochs = tf.data.Dataset.counter(first).flat_map(epoch)
    return epochs.batch(batch_size) if across_epochs else epochs
