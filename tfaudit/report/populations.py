"""Populations that are read when they are asked for, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from tfaudit.predictions import Predictions

__all__ = ["Populations"]

K = TypeVar("K")


class Populations(Mapping[K, Predictions]):
    """Predictions by variant, or by condition.

    Args:
        keys: of the populations, in their order.
        read: gives the population of a key.
    """

    def __init__(self, keys: Sequence[K], read: Callable[[K], Predictions]) -> None:
        self._keys, self._read = keys, read

    def __getitem__(self, key: K) -> Predictions:
        if key not in self._keys:
            raise KeyError(key)
        return self._read(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
