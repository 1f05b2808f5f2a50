"""A column beside the predictions: which group each example belongs to."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.errors import InputError

__all__ = ["MISSING", "coded", "group_means", "title_of"]

MISSING = "(missing)"
"""Name of the group of examples whose value is not known."""


def coded(column: ArrayLike | pd.Series, count: int, argument: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The groups of a column: numbers in order of size, categories in their own order, all else by name.

    Whole numbers that became floats beside missing values are named as whole numbers.

    Args:
        column: `(count,)` values of any type, in the order of the examples; an index plays no part.
        count: N, the number of examples.
        argument: what an error calls the column.

    Returns:
        `(N,)` integers, positions in the names; the names, with `MISSING` last where a value is missing.

    Raises:
        InputError: another shape.

    Example:
        >>> coded([4, 0, None, 4], 4, "series")
        (array([1, 0, 2, 1]), ('0', '4', '(missing)'))
    """
    shape = np.shape(column)
    if shape != (count,):
        raise InputError(argument, f"shape {shape}", f"one value for each of the {count} examples")
    series = pd.Series(column).convert_dtypes()
    if series.dtype == object:  # of mixed types, which have no common order
        series = series.map(str, na_action="ignore")
    codes, values = pd.factorize(series, sort=True)
    names = tuple(map(str, values))
    if (codes < 0).any():
        names = names if MISSING in names else (*names, MISSING)
        codes = np.where(codes < 0, names.index(MISSING), codes)
    return codes, names


def group_means(values: np.ndarray, codes: np.ndarray, groups: int) -> np.ndarray:
    """Mean of each row of `values` `(K, N)` over the examples of each group; `(K, groups)`, NaN for an empty group.

    Example:
        >>> group_means(np.array([[1.0, 0.0, 1.0]]), np.array([0, 0, 1]), 2)
        array([[0.5, 1. ]])
    """
    totals = np.stack([np.bincount(codes, weights=row, minlength=groups) for row in values])
    counts = np.bincount(codes, minlength=groups)
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


def title_of(column: object, otherwise: str) -> str:
    """The name of a pandas column, or `otherwise`."""
    name = getattr(column, "name", None)
    return otherwise if name is None else str(name)
