"""Examples over which scores are averaged: batches, and means over them, eagerly or in a compiled step."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from tfaudit.errors import InputError

BATCH = 128

GradientData: TypeAlias = tuple[Any, Any] | Iterable[tuple[Any, Any]]
"""Inputs and targets, each an array, a dictionary or a tuple of arrays, or batches of them, for instance a
`tf.data.Dataset`."""

PerBatch: TypeAlias = Callable[[Any, Any], Sequence[tf.Tensor]]
"""Function from a batch of inputs and targets to tensors that are means over its examples."""


def batches(data: GradientData) -> Iterator[tuple[Any, Any]]:
    """Yield batches of inputs and targets, cutting two arrays by `BATCH`; raise an `InputError` for other data.

    >>> [len(inputs) for inputs, _ in batches((np.zeros((200, 3)), np.zeros(200)))]
    [128, 72]
    """
    if isinstance(data, tuple):
        lengths = [len(array) for part in data for array in keras.tree.flatten(part)]
        if len(data) != 2 or len(set(lengths)) != 1:
            got = f"arrays of {' and '.join(map(str, lengths))} examples"
            raise InputError("gradient_data", got, "inputs and targets of one length")
        for start in range(0, lengths[0], BATCH):
            inputs, targets = keras.tree.map_structure(
                lambda array, start=start: array[start : start + BATCH], data
            )
            yield inputs, targets
        return
    for batch in data:
        if not isinstance(batch, tuple) or len(batch) < 2:
            raise InputError(
                "gradient_data",
                f"a batch of type {type(batch).__name__}",
                "batches of (inputs, targets)",
            )
        yield batch[0], batch[1]


def mean_over(batches: Iterable[tuple[Any, Any]], per_batch: PerBatch) -> list[np.ndarray]:
    """Average results per batch over all examples, in float64, as float32; raise an `InputError` without examples."""
    totals = list[Any]()
    count = 0
    for inputs, targets in batches:
        size = len(keras.tree.flatten(inputs)[0])
        sums = [size * mean.numpy().astype(np.float64) for mean in per_batch(inputs, targets)]
        totals = (
            [total + more for total, more in zip(totals, sums, strict=True)] if totals else sums
        )
        count += size
    _require_examples(count)
    return [(total / count).astype(np.float32) for total in totals]


def gathered(data: GradientData) -> tuple[Any, Any]:
    """Return all examples as tensors in memory, for `mean_inside`; raise an `InputError` if there are none."""
    parts = [keras.tree.map_structure(np.asarray, pair) for pair in batches(data)]
    _require_examples(len(parts))
    joined = keras.tree.map_structure(
        lambda *arrays: tf.convert_to_tensor(np.concatenate(arrays)), *parts
    )
    return joined[0], joined[1]


def mean_inside(data: tuple[Any, Any], per_batch: PerBatch) -> list[tf.Tensor]:
    """Compute `mean_over` as graph operations with static shapes: a loop over whole batches, then the rest.

    `per_batch` is traced up to three times, whatever the number of examples.
    """
    count = int(keras.tree.flatten(data)[0].shape[0])
    whole, rest = divmod(count, BATCH)

    def cut(start: Any, size: int) -> Any:
        def part(side: tf.Tensor) -> tf.Tensor:
            return tf.slice(side, [start, *[0] * (len(side.shape) - 1)], [size, *side.shape[1:]])

        return keras.tree.map_structure(part, data)

    def summed(start: Any, size: int) -> list[tf.Tensor]:
        return [size * mean for mean in per_batch(*cut(start, size))]

    def more(number: tf.Tensor, totals: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        return number + 1, [
            a + b for a, b in zip(totals, summed(number * BATCH, BATCH), strict=True)
        ]

    totals = summed(0, min(count, BATCH))
    if whole > 1:
        _, totals = tf.while_loop(lambda number, _: number < whole, more, (tf.constant(1), totals))
    if whole and rest:
        totals = [a + b for a, b in zip(totals, summed(whole * BATCH, rest), strict=True)]
    return [total / count for total in totals]


def _require_examples(count: int) -> None:
    if not count:
        raise InputError("gradient_data", "no examples", "one example or more")
