"""Fingerprints of examples: whether data that are loaded again are those that results belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.structure import leaves
from tfaudit.runtime.seals import seal, seal_of_json, seal_of_parts

MOST_BYTES = 2**28
"""About the most bytes of inputs that a fingerprint reads; of larger ones it takes evenly spaced examples."""

SUMMED, NOISE = 64, 1e-3
"""Examples whose floats are summed, and the largest difference of sums, as a share of their range, that is rounding."""

CONTENTS = "contents"
"""Column of a file of example ids that holds `contents` of the examples."""


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """What identifies the examples of a split, in whichever process they are loaded.

    Attributes:
        number: number of the examples.
        class_names: hash of the names of the classes, in their order.
        inputs: hash of the inputs but floats, or of what describes a stream, whose files every process reads.
        labels: hash of labels, targets and weights in their order; empty for a stream, as are all that follow.
        ids: hash of the ids.
        groups: hash of the further columns.
        floats: hash of the inputs that are floats.
        sums: for each of these inputs, weighted sums over evenly spaced examples. A function that computes floats with
            another number of threads gives others in their last bits.

    Example:
        >>> from tfaudit.datasets.loading import load_dataset
        >>> digits = load_dataset("digits", "test")
        >>> first, second = (Fingerprint.of(digits.take(count)) for count in (20, 30))
        >>> first.difference(second), first.difference(Fingerprint.of(digits.take(20)))
        ('number', '')
    """

    number: int
    class_names: str
    inputs: str
    labels: str = ""
    ids: str = ""
    groups: str = ""
    floats: str = ""
    sums: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, data: Dataset) -> Self:
        """Compute the fingerprint of a split, without reading a stream."""
        number, names = data.num_examples, _hash({"class names": np.array(data.class_names, str)})
        if data.stream is not None and not data.in_memory:
            described = data.name, data.split, data.image_shape, data.stream.example_bytes
            return cls(number, names, seal(repr(described)))
        arrays = {name: np.asarray(values) for name, values in leaves(data.held)}
        step = 1 + sum(array.nbytes for array in arrays.values()) // MOST_BYTES
        floats = {name: array for name, array in arrays.items() if array.dtype.kind == "f"}
        others = {name: array[::step] for name, array in arrays.items() if name not in floats}
        return cls(
            number,
            names,
            _hash(others),
            _hash(
                {
                    "labels": data.labels,
                    "targets": data.labels if data.targets is None else data.targets,
                    "weights": np.ones(0) if data.weights is None else data.weights,
                }
            ),
            _hash({"ids": data.example_ids.astype(str)}),
            _hash(data.known_groups),
            _hash({name: array[::step] for name, array in floats.items()}),
            tuple(map(_sums, floats.values())),
        )

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Return the fingerprint that `to_json` described."""
        return cls(**{**fields, "sums": tuple(map(tuple, fields["sums"]))})

    def to_json(self) -> dict[str, Any]:
        """Return the fingerprint as JSON values."""
        return dataclasses.asdict(self)

    @property
    def digest(self) -> str:
        """Seal of all of it."""
        return seal_of_json(self.to_json())

    def difference(self, other: Fingerprint) -> str:
        """Return the name of the first attribute that differs by more than rounding of floats; "" if none does."""
        for name in ("number", "class_names", "labels", "ids", "groups", "inputs"):
            if getattr(self, name) != getattr(other, name):
                return name.replace("_", " ")
        return "" if self.floats == other.floats or self._is_close(other) else "inputs"

    def _is_close(self, other: Fingerprint) -> bool:
        pairs = [
            (np.array(mine), np.array(its))
            for mine, its in zip(self.sums, other.sums, strict=False)
        ]
        return len(self.sums) == len(other.sums) and all(
            mine.shape == its.shape and np.abs(mine - its).max() <= NOISE * np.ptp(mine)
            for mine, its in pairs
        )


def digests(batch: Any) -> list[str]:
    """Return a hash of each example of a batch: an array `(B, ...)`, or a dictionary or tuple of such arrays.

    Example:
        >>> first, second, third = digests(np.array([[1, 2], [1, 2], [2, 1]]))
        >>> first == second, first == third
        (True, False)
    """
    columns = [values for _, values in leaves(batch)]
    return [seal_of_parts(map(_bytes, row))[:32] for row in zip(*columns, strict=True)]


def contents(inputs: Any, labels: np.ndarray) -> list[str]:
    """Return a hash of each labelled example of a batch, the same for pixels as integers and as floats.

    Example:
        >>> pixels = np.array([[1, 2], [3, 4]], np.uint8)
        >>> contents(pixels, np.array([0, 1])) == contents(pixels.astype(float), np.array([0, 1]))
        True
    """
    columns = [np.asarray(values) for _, values in leaves(inputs)]
    floats = [c if c.dtype.kind in "OSU" else c.astype(np.float32) for c in columns]
    return [digest[:16] for digest in digests((*floats, labels.astype(np.int64)))]


def _sums(values: np.ndarray) -> tuple[float, ...]:
    """Return weighted sums over evenly spaced examples."""
    some = values[:: 1 + len(values) // SUMMED].reshape(-1, int(np.prod(values.shape[1:])))
    return tuple((some.astype(float) * np.linspace(1, 2, some.shape[1])).sum(axis=1).tolist())


def _hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of arrays and their names, shapes and types."""
    return seal_of_parts(
        part
        for name, array in sorted(arrays.items())
        for part in (repr((name, array.shape, array.dtype.str)).encode(), _bytes(array))
    )


def _bytes(values: Any) -> bytes | memoryview:
    """Return what is hashed of an array or one of its rows: text and objects as Python shows them."""
    array = np.ascontiguousarray(values)
    if (
        array.dtype.kind in "OSU"
    ):  # bytes of text depend on the longest one, those of objects are addresses
        return repr(array.tolist()).encode()
    return array.reshape(-1).view(np.uint8).data
