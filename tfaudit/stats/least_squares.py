"""Least-squares lines."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError

__all__ = ["Line", "line"]


@dataclasses.dataclass(frozen=True)
class Line:
    """A line `y = intercept + slope x` through n points; NaN where the points do not determine a number.

    Attributes:
        slope: change of y per unit of x; NaN for fewer than two points or where all x are equal.
        low: lower end of the confidence interval of the slope; NaN for fewer than three points.
        high: its upper end.
        intercept: y at x = 0.
        r: Pearson's correlation; NaN where x or y is constant.
        p: two-sided p-value of slope 0 (Wald's test with Student's t); NaN where r is or with fewer than three points.
        n: number of points.
    """

    slope: float
    low: float
    high: float
    intercept: float
    r: float
    p: float
    n: int


def line(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Line:
    """Fits a line through the points where both x and y are known.

    Args:
        x: `(n,)` floats.
        y: `(n,)` floats.
        confidence: level of the interval of the slope, in (0, 1).

    Raises:
        InputError: shapes that differ, infinite values, or a level outside (0, 1).

    Example:
        >>> fit = line([0, 1, 2, 3], [1, 3, 5, 8])
        >>> print(f"{fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}], {fit.intercept:.2f}, r = {fit.r:.3f}")
        2.30 [1.55, 3.05], 0.80, r = 0.994
    """
    if not 0 < confidence < 1:
        raise InputError("confidence", repr(confidence), "a level in (0, 1)")
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError("y", f"shape {second.shape}", f"that of x, (n,); x has {first.shape}")
    if np.isinf(first).any() or np.isinf(second).any():
        raise InputError("x, y", "hold infinite values", "finite ones, and NaN for unknown ones")
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    nan, n = float("nan"), len(first)
    if n < 2 or first.min() == first.max():
        return Line(nan, nan, nan, nan, nan, nan, n)
    if second.min() == second.max():  # a level line, of which SciPy computes a correlation of rounding errors
        return Line(0.0, *((0.0, 0.0) if n > 2 else (nan, nan)), float(second[0]), nan, nan, n)
    fit = stats.linregress(first, second)
    if n == 2:
        return Line(float(fit.slope), nan, nan, float(fit.intercept), float(fit.rvalue), nan, n)
    margin = float(stats.t.ppf((1 + confidence) / 2, n - 2) * fit.stderr)
    slope = float(fit.slope)
    return Line(slope, slope - margin, slope + margin, float(fit.intercept), float(fit.rvalue), float(fit.pvalue), n)
