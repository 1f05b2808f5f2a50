"""Welch's tests of many columns, for many assignments of the members at once."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tfaudit.stats.ttests import welch_from_moments

__all__ = ["count_significant", "permuted_welch"]

BLOCK = 2**18
"""Tests at a time: a block's arrays stay near the processor."""


def count_significant(
    first: np.ndarray, values: np.ndarray, shift: np.ndarray | None = None, *, alpha: float = 0.05
) -> np.ndarray:
    """Counts the columns with p <= alpha for every assignment: `(P,)` int64. Arguments as in `permuted_welch`.

    Example:
        >>> values = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [2.0, 7.0], [4.0, 8.0], [6.0, 9.0]])
        >>> count_significant(np.array([[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0]], bool), values)
        array([1, 0])
    """
    step = max(1, BLOCK // values.shape[1])
    blocks = (first[start : start + step] for start in range(0, len(first), step))
    return np.concatenate([(permuted_welch(block, values, shift) <= alpha).sum(1) for block in blocks])


def permuted_welch(first: np.ndarray, values: np.ndarray, shift: np.ndarray | None = None) -> np.ndarray:
    """Two-sided p-values of Welch's tests between the members in the first group and the others, `(P, C)`.

    The moments of all groups are matrix products of the assignments with the values and their squares.

    Args:
        first: `(P, n)` booleans: is the member in the first group? Two members or more in each group, and as many as
            in every other row.
        values: `(n, C)` floats, shares; means that differ by less than 1e-12 count as equal. A column that holds NaN
            gives NaN.
        shift: `(n,)` floats whose mean over a group is subtracted from the group's values, so that it moves their mean
            and leaves their variance; 0 by default.

    Example:
        >>> values = np.array([[1.0], [2.0], [3.0], [2.0], [4.0], [6.0]])
        >>> permuted_welch(np.array([[1, 1, 1, 0, 0, 0]], bool), values).round(4)
        array([[0.2209]])
    """
    shift = np.zeros(len(values)) if shift is None else shift - shift.mean()
    # Centred, so that the variance is no small difference of large numbers; exactly 0 where all members are equal.
    values = values - np.where(values.min(0) == values.max(0), values[0], values.mean(0))
    # Rounding must not decide whether a group is constant: small integers in the place of the values tell exactly.
    codes = stats.rankdata(values, method="dense", axis=0)
    means, errors, free = [], [], []
    for group in (first, ~first):
        size = int(group[0].sum())
        members = group.astype(np.float64)
        mean = members @ values / size
        variance = np.maximum(members @ values**2 - size * mean**2, 0) / (size - 1)
        constant = size * (members @ codes**2) == (members @ codes) ** 2
        errors.append(np.where(constant, 0.0, variance / size))
        means.append(mean - (members @ shift / size)[:, None])
        free.append(size - 1)
    return welch_from_moments(np.round(means[0] - means[1], 12), errors[0], free[0], errors[1], free[1])[2]
