"""Balances of classes against the whole, and the line through the origin that tells how they grow: [R] 4 and 5."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["normalised_balance", "slope", "uncentred_r2"]


def normalised_balance(rates: ArrayLike, accuracy: ArrayLike) -> np.ndarray:
    """`(R[c] - A) / A`: how much better than the whole a class fares, as a share of the accuracy ([R] 4).

    Args:
        rates: `(..., C)` recalls (or precisions, or F1 scores) in [0, 1]; NaN stays NaN.
        accuracy: `(...)` accuracies in [0, 1]; 0 gives NaN.

    Returns:
        `(..., C)` float64, -1 or more.

    Example:
        >>> normalised_balance([0.9, 0.7], 0.8)
        array([ 0.125, -0.125])
    """
    rates, whole = np.asarray(rates, np.float64), np.asarray(accuracy, np.float64)[..., None]
    balance = np.divide(rates - whole, whole, out=np.full(rates.shape, np.nan), where=whole > 0)
    # Rates are ratios of counts: below 1e-12 there is rounding alone, and a ratio of two roundings means nothing.
    return np.round(balance, 12)


def slope(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Least-squares slope of `y = alpha x`, without a constant: `sum x y / sum x^2` over the last axis ([R] 5).

    Args:
        x: `(..., C)` floats.
        y: `(..., C)` floats; a place where x or y is NaN does not count.

    Returns:
        `(...)` float64; NaN where no x differs from 0.

    Example:
        >>> slope(normalised_balance([0.9, 0.7], 0.8), normalised_balance([0.7, 0.5], 0.6)).round(4)
        np.float64(1.3333)
    """
    x, y = _known(x, y)
    return _ratio((x * y).sum(-1), (x * x).sum(-1))


def uncentred_r2(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Coefficient of determination of `slope`: the share of `sum y^2`, not of the variance, that the line explains.

    Without a constant the fit is measured against y = 0, as statsmodels does; the usual r^2, measured against the mean,
    can fall below 0 there. For balanced test sets the mean balance is 0 and the two agree.

    Args:
        x: `(..., C)` floats.
        y: `(..., C)` floats; a place where x or y is NaN does not count.

    Returns:
        `(...)` float64 in [0, 1]; NaN where x or y is 0 throughout.

    Example:
        >>> uncentred_r2([1.0, -1.0, 0.0], [2.0, -2.0, 1.0]).round(4)
        np.float64(0.8889)
    """
    x, y = _known(x, y)
    return np.minimum(_ratio((x * y).sum(-1) ** 2, (x * x).sum(-1) * (y * y).sum(-1)), 1.0)  # rounding aside


def _known(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays, 0 where either is NaN: such a place adds nothing to a sum of products."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = ~(np.isnan(x) | np.isnan(y))
    return np.where(known, x, 0.0), np.where(known, y, 0.0)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0)[()]
