"""Values of K members on N images, one member at a time in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Rows:
    """Values `(K, N)` whose rows are made when they are used, and made again at the next use.

    Attributes:
        members: K.
        make: takes the position of a member and returns its row, `(N,)`.

    Example:
        >>> Rows.of(np.array([[1, 2], [3, 4]])).map(np.square).mean()
        array([ 5., 10.])
    """

    members: int
    make: Callable[[int], np.ndarray]

    @classmethod
    def of(cls, values: np.ndarray | Rows) -> Rows:
        """Return the rows of an array."""
        return values if isinstance(values, Rows) else cls(len(values), values.__getitem__)

    def __len__(self) -> int:
        return self.members

    def __getitem__(self, position: int) -> np.ndarray:
        return self.make(position)

    def __iter__(self) -> Iterator[np.ndarray]:
        return map(self.make, range(self.members))

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> Rows:
        """Return the rows with a function applied to each."""
        return Rows(self.members, lambda position: change(self[position]))

    def mean(self) -> np.ndarray:
        """Return the mean over the members, `(N,)`."""
        rows = iter(self)
        total = next(rows).astype(float)
        for row in rows:
            total += row
        return total / self.members


def all_in_order(positions: Sequence[int] | np.ndarray, count: int) -> np.ndarray | slice:
    """Return positions of members as an index, which copies no array if they are all of `count` in their order.

    Example:
        >>> all_in_order([0, 1], 2), all_in_order([1, 0], 2)
        (slice(None, None, None), array([1, 0]))
    """
    index = np.asarray(positions)
    return slice(None) if np.array_equal(index, np.arange(count)) else index
