"""Held-out validation: splits a share off a training set, determined by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError, one_line, require

if TYPE_CHECKING:
    import tensorflow as tf

BUCKETS = 2**40


def split_validation(
    dataset: Dataset, fraction: float, seed: int, *, strata: np.ndarray | None = None
) -> tuple[Dataset, Dataset]:
    """Hold out a share of a training set for validation ([P] E: 20 %).

    The split of a data set in memory is stratified by class. Clusters of examples stay together; the share is then
    rounded to 1/2, 1/3, 1/4 and so on, or 1 less one of these, and exact only as far as the clusters allow. In a
    stream, a hash of seed and id decides the part of each example, so the share is exact only on average; the ids are
    read once to count them.

    Args:
        dataset: the training set.
        fraction: share of the validation part, in (0, 1).
        seed: seed of the split, 0 or more.
        strata: for data in memory, `(N,)` integers by which it is stratified; by default its labels.

    Returns:
        The training part and the validation part (split name `"validation"`), each in the order of `dataset`.

    Raises:
        InputError: the fraction is outside (0, 1), or leaves a class or a part empty.

    Example:
        >>> from tfaudit.datasets.loading import load_dataset
        >>> train, validation = split_validation(load_dataset("digits", "train"), 0.2, seed=0)
        >>> train.num_examples, validation.num_examples, validation.split
        (957, 240, 'validation')
    """
    require(0 < fraction < 1, "fraction", fraction, "a number in (0, 1)")
    return (
        _stratified(dataset, fraction, seed, dataset.labels if strata is None else strata)
        if dataset.in_memory
        else _hashed(dataset, fraction, seed)
    )


def _stratified(
    dataset: Dataset, fraction: float, seed: int, strata: np.ndarray
) -> tuple[Dataset, Dataset]:
    from sklearn.model_selection import StratifiedGroupKFold, train_test_split

    positions = np.arange(dataset.num_examples)
    try:
        if dataset.clusters is None:
            train, held_out = train_test_split(
                positions, test_size=fraction, random_state=seed, stratify=strata
            )
        else:
            parts = round(1 / min(fraction, 1 - fraction))
            folds = StratifiedGroupKFold(parts, shuffle=True, random_state=seed)
            halves = next(folds.split(positions, strata, dataset.clusters))
            train, held_out = halves if fraction <= 0.5 else halves[::-1]
    except ValueError as error:
        expected = f"one that can be stratified by class: {one_line(error)}"
        raise InputError(
            "fraction", f"{fraction} of {dataset.num_examples} examples", expected
        ) from None
    return (
        dataset.select(np.sort(train), split=dataset.split),
        dataset.select(np.sort(held_out), split="validation"),
    )


def _hashed(dataset: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    import tensorflow as tf

    def held_out(names: tf.Tensor) -> tf.Tensor:
        return tf.strings.to_hash_bucket_strong(names, BUCKETS, key=[seed, 1]) < round(
            fraction * BUCKETS
        )

    count = int(np.count_nonzero(held_out(tf.constant(dataset.example_ids))))
    if count in (0, dataset.num_examples):
        raise InputError(
            "fraction",
            f"{fraction} of {dataset.num_examples} examples",
            "one that leaves no part empty",
        )
    return (
        dataset.filtered(
            lambda name: ~held_out(name), dataset.num_examples - count, split=dataset.split
        ),
        dataset.filtered(held_out, count, split="validation"),
    )
