"""Representative examples: a few that stand for all, whatever the order of the data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfaudit.datasets.dataset import Dataset

MOST_READ = 100_000
"""Examples of a stream among which representative ones are drawn: an endless stream is not read further."""


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
        (array([163, 251,  85]), array([2, 3]))
    """
    draws = np.random.default_rng(seed)
    if labels is None:
        most = min(count, most)
        ends = np.arange(most + 1) * count // most
        return draws.permutation(draws.integers(ends[:-1], ends[1:]))
    shuffled = draws.permutation(count)
    drawn = pd.Series(np.asarray(labels)[shuffled])
    rank = drawn.groupby(drawn).cumcount().to_numpy()
    return shuffled[np.argsort(rank, kind="stable")][:most]


def representative_part(data: Dataset, most: int, seed: int) -> Dataset:
    """Return at most `most` examples in memory, drawn at random by a seed and balanced over classes if possible."""
    positions = representative_positions(data.num_examples, most, seed, labels=data.labels)
    return data.select(positions, split=data.split)
