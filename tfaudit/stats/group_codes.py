"""Groups of examples, from a column with one value per example."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.errors import InputError
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.ratios import ratio

MISSING = "(missing)"
"""Name of the group of examples whose value is missing."""


LEAST_IMAGES = 10
"""Number of images of a group below which its accuracy is mostly chance: one image moves it by more than 10 points."""


CLUSTER = "cluster"
"""Name of the column of groups whose values are clusters of examples that resemble each other."""


def group_codes(
    column: ArrayLike | pd.Series, count: int, argument: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the group of each example, `(count,)` integers, and the groups' names, with `MISSING` last if it occurs.

    Groups are in the order of numbers, of categories, or of names. Integers that became floats because values are
    missing are named as integers. A column of another shape raises `InputError`.

    Args:
        column: `(count,)` values of any type, in the order of the examples; an index is ignored.
        count: number of examples.
        argument: name of the column in an error.

    Example:
        >>> group_codes([4, 0, None, 4], 4, "series")
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


def cluster_codes(column: ArrayLike | pd.Series, count: int) -> np.ndarray:
    """Return the cluster of each example, `(count,)` integers from 0; one whose value is missing is its own cluster.

    Example:
        >>> cluster_codes(["film 2", None, "film 1", "film 2", None], 5)
        array([1, 2, 0, 1, 3])
    """
    codes, names = group_codes(column, count, "clusters")
    if MISSING not in names:
        return codes
    alone = codes == names.index(MISSING)
    return np.where(alone, names.index(MISSING) + np.cumsum(alone) - 1, codes)


def group_means(values: np.ndarray | Rows, codes: np.ndarray, groups: int) -> np.ndarray:
    """Return the mean of each row of `values` `(K, N)` over each group: `(K, groups)`, NaN for an empty group.

    Example:
        >>> group_means(np.array([[1.0, 0.0, 1.0]]), np.array([0, 0, 1]), 2)
        array([[0.5, 1. ]])
    """
    totals = np.stack([np.bincount(codes, weights=row, minlength=groups) for row in values])
    return ratio(totals, np.bincount(codes, minlength=groups))


def column_name(column: object, default: str) -> str:
    """Return the name of a pandas column, or the default."""
    name = getattr(column, "name", None)
    return default if name is None else str(name)
