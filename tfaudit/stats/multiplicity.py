"""Adjustment of p-values for multiple testing."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError, require, require_one_of


def _holm(p: np.ndarray) -> np.ndarray:
    """Multiply the i-th smallest of n p-values, from i = 0, by n - i; never below the one before.

    statsmodels has it too, but runs the garbage collector at every call, which takes longer than a whole class audit.
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


_METHODS = {"holm": _holm, "bh": stats.false_discovery_control}


def adjust(p: ArrayLike, method: str) -> np.ndarray:
    """Adjust p-values: a test is significant at level alpha if its adjusted p-value is <= alpha.

    Args:
        p: `(C,)` p-values. NaN marks a test that was not made; it stays NaN and does not count.
        method: "holm" (family-wise error rate) or "bh" (false discovery rate, Benjamini and Hochberg).

    Raises:
        InputError: an unknown method, another shape, or p-values outside [0, 1].

    Example:
        >>> adjust([0.01, float("nan"), 0.04], "holm")
        array([0.02,  nan, 0.04])
    """
    require_one_of("method", method, _METHODS)
    adjusted = np.array(p, np.float64)
    require(adjusted.ndim == 1, "p", adjusted.shape, "the shape (tests,)")
    made = ~np.isnan(adjusted)
    if ((adjusted[made] < 0) | (adjusted[made] > 1)).any():
        raise InputError(
            "p", f"{adjusted[made].min():g} to {adjusted[made].max():g}", "values in [0, 1]"
        )
    if made.any():
        adjusted[made] = _METHODS[method](adjusted[made])
    return adjusted
