"""Rows of different files brought together by the ids of their examples."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from tfaudit.errors import InputError

__all__ = ["places", "require_distinct", "some"]


def places(
    wanted: np.ndarray | None, found: np.ndarray | None, where: str, *, wanted_in: str, rows: tuple[int, int]
) -> np.ndarray:
    """Which row of a file belongs to each example.

    Args:
        wanted: `(N,)` ids of the examples in their order, or None: their order is all there is.
        found: `(rows,)` ids in the file, or None.
        where: the file.
        wanted_in: the file of the examples.
        rows: N and how many rows the file has.

    Returns:
        `(N,)` positions in the file; rows of further examples are in none.

    Raises:
        InputError: ids in one of the two alone, an id twice or missing, or without ids another number of rows.

    Example:
        >>> places(np.array(["a", "b"]), np.array(["b", "c", "a"]), "p.csv", wanted_in="l.csv", rows=(2, 3))
        array([2, 0])
    """
    if (wanted is None) != (found is None):
        has, lacks = (wanted_in, where) if found is None else (where, wanted_in)
        raise InputError(f"{lacks}: has no example ids, but {has} has; both need them, or neither")
    if wanted is None or found is None:
        if rows[0] != rows[1]:
            raise InputError(f"{where}: {rows[1]} examples, but {wanted_in} has {rows[0]}")
        return np.arange(rows[0])
    require_distinct(found, where)
    positions = pd.Index(found).get_indexer(pd.Index(wanted))
    if (positions < 0).any():
        lacking = wanted[positions < 0]
        raise InputError(f"{where}: lacks {len(lacking)} of the examples of {wanted_in}: {some(lacking)}")
    return positions


def require_distinct(ids: np.ndarray, where: str) -> None:
    """Refuses ids that repeat.

    Raises:
        InputError: one does.
    """
    twice = ids[pd.Index(ids).duplicated()]
    if len(twice):
        raise InputError(f"{where}: {len(twice)} example ids occur again: {some(np.unique(twice))}")


def some(values: Collection[object]) -> str:
    """The first few of them, quoted.

    Example:
        >>> some(["a", "b", "c", "d", "e"])
        "'a', 'b', 'c' and 2 more"
    """
    shown = [str(value) for value in values][:3]
    more = len(values) - len(shown)
    return ", ".join(map(repr, shown)) + (f" and {more} more" if more else "")
