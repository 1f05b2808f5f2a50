"""Ratios, means over members, and change relative to a reference value."""

import numpy as np
from numpy.typing import ArrayLike


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> np.ndarray:
    """Compute `numerator / denominator` in float64, NaN where the denominator is 0.

    Example:
        >>> ratio([1, 0], [2, 0])
        array([0.5, nan])
    """
    above = np.asarray(numerator, np.float64)
    below = np.asarray(denominator, np.float64)
    return np.divide(
        above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0
    )[()]


def member_mean(values: ArrayLike) -> np.ndarray:
    """Compute the mean of `(K, ...)` values over the members, rounded to 12 decimals.

    Sums in another order differ in the last place, so that a mean of .8025 would print as 80.2 here and as 80.3 there.

    Example:
        >>> accuracies = [0.8, 0.8, 0.8, 0.81]
        >>> print(np.mean(accuracies), member_mean(accuracies))
        0.8025000000000001 0.8025
    """
    return np.asarray(values, np.float64).mean(0).round(12)


def relative_change(before: ArrayLike, after: ArrayLike) -> np.ndarray:
    """Compute `(after - before) / before`, the "norm" columns of [F] tables 3 and 8, which print it times 100.

    Arguments are floats of any shape, such as mean accuracies; -0.1 is a tenth less. NaN where `before` is 0.

    Example:
        >>> relative_change([42.23, 0.0], [25.29, 0.1]).round(4)
        array([-0.4011,     nan])
    """
    return ratio(np.asarray(after, np.float64) - np.asarray(before, np.float64), before)


def normalised_balance(rates: ArrayLike, accuracy: ArrayLike) -> np.ndarray:
    """Compute `(R[c] - A) / A`: how much better a class does than the whole, as a share of the accuracy ([R] 4).

    Args:
        rates: `(..., C)` recalls (or precisions, or F1 scores) in [0, 1]; NaN stays NaN.
        accuracy: `(...)` accuracies in [0, 1]; 0 gives NaN.

    Example:
        >>> normalised_balance([0.9, 0.7], 0.8)
        array([ 0.125, -0.125])
    """
    # Rates are ratios of counts: below 1e-12 there is rounding alone, and a ratio of two roundings means nothing.
    return np.round(relative_change(np.asarray(accuracy, np.float64)[..., None], rates), 12)
