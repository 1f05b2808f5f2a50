"""Change relative to a reference value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["normalised_balance", "relative_change"]


def relative_change(before: ArrayLike, after: ArrayLike) -> np.ndarray:
    """Compute `(after - before) / before`, the "norm" columns of [F] tables 3 and 8, which print it times 100.

    Args:
        before: floats of any shape, such as mean accuracies.
        after: floats of the same shape.

    Returns:
        Shares, float64: -0.1 is a tenth less. NaN where `before` is 0.

    Example:
        >>> relative_change([42.23, 0.0], [25.29, 0.1]).round(4)
        array([-0.4011,     nan])
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    return np.divide(second - first, first, out=np.full(np.broadcast(first, second).shape, np.nan), where=first != 0)


def normalised_balance(rates: ArrayLike, accuracy: ArrayLike) -> np.ndarray:
    """Compute `(R[c] - A) / A`: how much better a class does than the whole, as a share of the accuracy ([R] 4).

    Args:
        rates: `(..., C)` recalls (or precisions, or F1 scores) in [0, 1]; NaN stays NaN.
        accuracy: `(...)` accuracies in [0, 1]; 0 gives NaN.

    Returns:
        `(..., C)` float64, -1 or more.

    Example:
        >>> normalised_balance([0.9, 0.7], 0.8)
        array([ 0.125, -0.125])
    """
    # Rates are ratios of counts: below 1e-12 there is rounding alone, and a ratio of two roundings means nothing.
    return np.round(relative_change(np.asarray(accuracy, np.float64)[..., None], rates), 12)
