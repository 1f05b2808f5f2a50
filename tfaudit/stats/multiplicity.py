"""Adjusting p-values for the number of tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from tfaudit.errors import InputError

__all__ = ["adjust"]


def _holm(p: np.ndarray) -> np.ndarray:
    """Step-down: the i-th smallest of n p-values times n - i, never below the one before.

    statsmodels has it too, but collects garbage at every call, which costs more than all the rest of a class audit.
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


_METHODS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"holm": _holm, "bh": stats.false_discovery_control}


def adjust(p: np.typing.ArrayLike, method: str) -> np.ndarray:
    """Adjusted p-values: a test is significant at level alpha where its adjusted p-value is <= alpha.

    Args:
        p: `(C,)` p-values. NaN marks a test that was not made: it stays NaN and does not count.
        method: "holm" (family-wise error rate) or "bh" (false discovery rate, Benjamini and Hochberg).

    Raises:
        InputError: another method, another shape, or p-values outside [0, 1].

    Example:
        >>> adjust([0.01, float("nan"), 0.04], "holm")
        array([0.02,  nan, 0.04])
    """
    if method not in _METHODS:
        raise InputError("method", repr(method), ", ".join(_METHODS))
    adjusted = np.array(p, np.float64)
    if adjusted.ndim != 1:
        raise InputError("p", f"shape {adjusted.shape}", "(tests,)")
    made = ~np.isnan(adjusted)
    if ((adjusted[made] < 0) | (adjusted[made] > 1)).any():
        raise InputError("p: values outside [0, 1]")
    if made.any():
        adjusted[made] = _METHODS[method](adjusted[made])
    return adjusted
