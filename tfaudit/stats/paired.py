"""Student's paired t-test for many columns at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tfaudit.errors import require
from tfaudit.stats.ttests import WelchTest

__all__ = ["paired_test"]


def paired_test(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> WelchTest:
    """Tests whether the mean difference of pairs is 0; the result has the fields, and the rules, of `welch`.

    Args:
        first: `(K, C)` floats, K >= 2 values of each of C columns.
        second: `(K, C)` floats; row k belongs to row k of `first`.
        confidence: level of the interval of the difference, in (0, 1).

    Raises:
        InputError: fewer than two pairs, shapes that differ, a level outside (0, 1).

    Example:
        >>> test = paired_test([[2.0], [4.0], [6.5]], [[1.0], [3.0], [5.0]])
        >>> test.difference.round(3), test.p.round(3)
        (array([1.167]), array([0.02]))
    """
    require(0 < confidence < 1, "confidence", confidence, "a level in (0, 1)")
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    require(
        one.shape == other.shape and one.ndim == 2, "second", other.shape, f"(pairs, columns) as first, {one.shape}"
    )
    require(len(one) >= 2, "first", len(one), "2 pairs or more")
    # Shares are ratios of counts: what differs by less than 1e-12 differs by rounding and must not look like variance.
    change = np.round(one - other, 12)
    constant = change.min(0) == change.max(0)
    mean = np.where(constant, change[0], change.mean(0))
    error = np.where(constant, 0.0, change.std(0, ddof=1) / np.sqrt(len(change)))
    still = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    t = np.divide(mean, error, out=np.where(np.isnan(mean), np.nan, still), where=error > 0)
    df = np.where(constant, np.nan, len(change) - 1.0)
    p = np.where(constant, np.where(mean == 0, 1.0, 0.0), 2 * special.stdtr(len(change) - 1, -np.abs(t)))
    margin = special.stdtrit(len(change) - 1, (1 + confidence) / 2) * error
    return WelchTest(mean, t, df, p, mean - margin, mean + margin)
