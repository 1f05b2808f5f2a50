"""Batches of data in every form that Keras takes, read once and to a known end."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfaudit.datasets.structure import leaves
from tfaudit.errors import InputError

REPEATED = 32
"""Fewest batches that have to come again before an iterable without a length counts as endless."""


def read_batches(data: Any, argument: str, most: int | None = None) -> Iterator[Any]:
    """Yield the batches of an iterable in order, as many as it says that it has.

    The length ends data that repeat themselves when iterated, such as `ImageDataGenerator.flow`. An iterable without a
    length, such as a generator, is read to its end, or until all its batches have come again.

    Args:
        data: a list, a `tf.data.Dataset`, a Keras `PyDataset` or `Sequence`, a PyTorch `DataLoader`, a generator, or
            any other iterable of batches.
        argument: name of the argument, for errors.
        most: number of batches to read, for which data need no end; by default all.

    Raises:
        InputError: the data have none of these forms, or never end.

    Example:
        >>> class Pairs(list):  # as Keras' generators do, it starts again when iterated
        ...     def __iter__(self):
        ...         return itertools.cycle(super().__iter__())
        >>> list(read_batches(Pairs("ab"), "images"))
        ['a', 'b']
        >>> list(read_batches(itertools.cycle("ab"), "images"))
        Traceback (most recent call last):
        tfaudit.errors.InputError: images: got a cycle that starts again after 2 batches, expected batches that end, or
        have a length
    """
    count = batch_count(data)
    indexed = count is not None and hasattr(data, "__getitem__")
    if isinstance(data, str | bytes) or not (indexed or hasattr(data, "__iter__")):
        expected = "an array, a data set or an iterable of batches"
        raise InputError(argument, type(data).__name__, expected)
    if most is not None:
        return itertools.islice(data, most)
    if count is None:
        return _to_the_end(data, argument)
    if count >= sys.maxsize:  # so long is a repeated data set of Grain
        expected = "one with a length, without repeat()"
        raise InputError(argument, f"an endless {_kind(data)}", expected)
    numbers = range(int(count))
    return map(data.__getitem__, numbers) if indexed else itertools.islice(data, len(numbers))


def is_shuffled(data: Any) -> bool:
    """Return whether batches say that their order is random: generators of Keras, and a `DataLoader` of PyTorch."""
    sampler = type(getattr(data, "sampler", None)).__name__
    return getattr(data, "shuffle", False) is True or sampler == "RandomSampler"


def batch_count(data: Any) -> float | None:
    """Return the number of batches, infinity for data without an end, or None if it is unknown."""
    if hasattr(data, "cardinality") and int(data.cardinality()) == -1:  # a repeated tf.data.Dataset
        return np.inf
    if hasattr(
        type(data), "num_batches"
    ):  # a PyDataset, which may define no length, and counts on then
        with contextlib.suppress(NotImplementedError):
            return np.inf if data.num_batches is None else int(data.num_batches)
        return np.inf
    try:
        return len(data)
    except TypeError:
        return None


def _kind(data: Any) -> str:
    return "tf.data.Dataset" if hasattr(data, "element_spec") else type(data).__name__


def _to_the_end(data: Any, argument: str) -> Iterator[Any]:
    """Yield batches of unknown number; raise an `InputError` once they have all come again."""
    seen: list[int] = []
    # For each batch, how many up to it equal as many from the first on (the failure function of Knuth, Morris, Pratt).
    overlaps: list[int] = []
    for batch in data:
        seen.append(_content(batch))
        overlap = overlaps[-1] if overlaps else 0
        while overlap and seen[overlap] != seen[-1]:
            overlap = overlaps[overlap - 1]
        overlap += len(seen) > 1 and seen[overlap] == seen[-1]
        overlaps.append(overlap)
        period = len(seen) - overlap
        if overlap >= max(period, REPEATED):
            got = f"a {_kind(data)} that starts again after {period} batches"
            raise InputError(argument, got, "batches that end, or have a length")
        yield batch


def _content(batch: Any) -> int:
    """Return a hash of all values of a batch."""
    parts = batch if isinstance(batch, list) else [batch]
    values = [value for part in parts for _, value in leaves(part)]
    return hash(tuple(map(_bytes, values)))


def _bytes(value: Any) -> tuple[Any, ...]:
    if not hasattr(value, "__array__"):
        return (repr(value),)
    array = np.asarray(value)
    text = array.dtype.kind == "O"  # whose bytes are addresses
    return array.shape, repr(array.tolist()) if text else array.tobytes()
