"""Representative examples: a few that stand for all, whatever the order of the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np

from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.structure import joined, leaves, mapped
from tfaudit.errors import InputError, Notice

MOST_READ = 100_000
"""Examples of a stream among which representative ones are drawn; the rest of it is not read."""


def representative_positions(
    count: int, most: int, seed: int = 0, *, labels: np.ndarray | None = None
) -> np.ndarray:
    """Return the positions of at most `most` of `count` examples that stand for all of them, int64.

    With labels, as many examples of every class as of any other, as far as there are, are drawn at random. Without,
    the data are cut into `most` equal stretches and one example is drawn from each: sorted data are covered from end to
    end, and no period of the data, such as that of classes in turn, can meet that of the draws.

    Args:
        count: number of examples.
        most: largest number of positions. They are in random order, so that the first few are representative, too.
        seed: seed of the draws.
        labels: `(count,)` class of each example.

    Example:
        >>> representative_positions(300, 3), representative_positions(4, 2, labels=np.array([0, 0, 0, 1]))
        (array([163, 251,  85]), array([3, 2]))
    """
    draws = np.random.default_rng(seed)
    if labels is not None:
        return _balanced(labels, draws.random(count), most)
    most = min(count, most)
    ends = np.arange(most + 1) * count // most
    return draws.permutation(draws.integers(ends[:-1], ends[1:]))


def representative_part(data: Dataset, most: int, seed: int) -> Dataset:
    """Return at most `most` examples in memory, drawn at random by a seed and balanced over classes if possible."""
    positions = representative_positions(data.num_examples, most, seed, labels=data.labels)
    return data.select(positions, split=data.split)


def representative_rows(
    batches: Iterable[tuple[Any, np.ndarray | None]], most: int, argument: str, seed: int = 0
) -> Any:
    """Return at most `most` examples that stand for all of a stream, and read it once, up to `MOST_READ` examples.

    Args:
        batches: batches of inputs, an array or a dictionary or tuple of arrays, with the class of each example or None.
        most: largest number of examples, as `Sample` draws them.
        argument: name of the argument, for errors.
        seed: seed of the draws.

    Raises:
        InputError: there are no examples, or their sizes differ.

    Example:
        >>> batches = [(np.arange(8), np.zeros(8)), (np.array([8, 9]), np.array([1, 2]))]
        >>> representative_rows(batches, 4, "images")
        array([3, 8, 9, 2])
    """
    sample = Sample(most, seed)
    for inputs, classes in batches:
        sample.add(inputs, classes)
        if sample.read >= MOST_READ:
            text = f"{argument}: the first {sample.read:,} examples of the stream stand for all"
            warnings.warn(Notice(text), stacklevel=2)
            break
    if not sample.rows:
        raise InputError(argument, "no examples", "one example or more")
    shapes = {tuple(array.shape for _, array in leaves(row)) for row in sample.rows}
    if len(shapes) > 1:
        raise InputError(argument, f"examples of {len(shapes)} sizes", "examples of one size")
    return joined(sample.rows)


class Sample:
    """Examples of batches that pass by: as many of every class as of any other, or of all examples without classes.

    Args:
        most: largest number of examples.
        seed: seed of the draws.

    Attributes:
        rows: the examples, each as a batch of one, in random order.
        read: number of examples that have passed by.

    Example:
        >>> sample = Sample(2)
        >>> sample.add(np.arange(8))
        >>> sample.rows
        [array([3]), array([2])]
    """

    def __init__(self, most: int, seed: int = 0) -> None:
        self.rows: list[Any] = []
        self.read = 0
        self._most, self._draws = most, np.random.default_rng(seed)
        self._classes: list[Any] = []  # of the rows, with the random number of each
        self._numbers = np.empty(0)

    def add(self, inputs: Any, classes: np.ndarray | None = None) -> None:
        """Let a batch pass by: inputs of B examples, and their classes `(B,)`."""
        size = len(next(leaves(inputs))[1])
        known = len(self.rows)
        labels = self._classes + ([0] * size if classes is None else classes.tolist())
        numbers = np.concatenate([self._numbers, self._draws.random(size)])
        chosen = _balanced(np.array(labels), numbers, self._most)
        self.rows = [
            self.rows[i] if i < known else mapped(itemgetter([i - known]), inputs)
            for i in chosen.tolist()
        ]
        self._classes, self._numbers = [labels[i] for i in chosen], numbers[chosen]
        self.read += size


def _balanced(labels: np.ndarray, numbers: np.ndarray, most: int) -> np.ndarray:
    """Return the positions of the examples with the lowest numbers, as many of every class as of any other."""
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.lexsort((numbers, codes))
    rank = np.arange(len(order)) - np.searchsorted(codes[order], codes[order])
    return order[np.lexsort((numbers[order], rank))][:most]
