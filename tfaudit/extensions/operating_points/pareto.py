"""Pareto-optimal points."""

import numpy as np
from numpy.typing import ArrayLike

from tfaudit.errors import InputError


def pareto_set(values: ArrayLike) -> np.ndarray:
    """Mark the points that no other point dominates, `(n,)` booleans: [P] 4.2.

    A point dominates another if it is at least as good in every objective and better in one. Equal points are in the
    set together or not at all. Run time grows with the number of points times the size of the set.

    Args:
        values: `(n, d)` floats, one row per point, one column per objective; larger is better. Values that are not
            finite, or have no column, raise `InputError`.

    Example:
        >>> pareto_set([[0.5, 0.9], [0.7, 0.8], [0.6, 0.7], [0.7, 0.8]])
        array([ True,  True, False,  True])
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(
            "values", f"shape {array.shape}", "(points, objectives) with at least one objective"
        )
    if not np.isfinite(array).all():
        raise InputError("values", "NaN or infinity", "finite objectives; leave other points out")
    # In lexicographic order only an earlier point can dominate: the first of those left is never dominated, and only
    # points that beat it in some objective stay.
    costs, place = np.unique(-array, axis=0, return_inverse=True)
    optimal = np.zeros(len(costs), bool)
    left = np.arange(len(costs))
    while len(left):
        best = left[0]
        left = left[1:]
        optimal[best] = True
        left = left[(costs[left] < costs[best]).any(1)]
    return optimal[place.reshape(-1)]
