"""Least-squares lines, with an intercept and through the origin."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError, require_level
from tfaudit.stats.ratios import ratio


@dataclasses.dataclass(frozen=True)
class Line:
    """A line `y = intercept + slope x` through n points; NaN where the points do not determine a number.

    Attributes:
        slope: change of y per unit of x; NaN for fewer than two points or if all x are equal.
        low, high: ends of the confidence interval of the slope; NaN for fewer than three points.
        intercept: y at x = 0.
        r: Pearson's correlation; NaN if x or y is constant.
        p: two-sided p-value of slope 0 (Wald's test with Student's t); NaN if r is NaN or with fewer than three points.
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
    """Fit a line through the points where both x and y are known.

    Args:
        x: `(n,)` floats; NaN where unknown.
        y: `(n,)` floats; NaN where unknown.
        confidence: level of the interval of the slope, in (0, 1).

    Raises:
        InputError: shapes that differ, infinite values, or a level outside (0, 1).

    Example:
        >>> fit = line([0, 1, 2, 3], [1, 3, 5, 8])
        >>> print(f"{fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}], {fit.intercept:.2f}, r = {fit.r:.3f}")
        2.30 [1.55, 3.05], 0.80, r = 0.994
    """
    require_level("confidence", confidence)
    first = np.asarray(x, np.float64)
    second = np.asarray(y, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError(
            "y", f"shape {second.shape}", f"{first.shape}, the shape of x, with one dimension"
        )
    if np.isinf(first).any() or np.isinf(second).any():
        raise InputError("x, y", "infinite values", "finite ones, and NaN for unknown ones")
    known = np.isfinite(first) & np.isfinite(second)
    first, second = first[known], second[known]
    nan = float("nan")
    n = len(first)
    if n < 2 or first.min() == first.max():
        return Line(nan, nan, nan, nan, nan, nan, n)
    # For a level line SciPy computes a correlation of rounding errors.
    if second.min() == second.max():
        return Line(0.0, *((0.0, 0.0) if n > 2 else (nan, nan)), float(second[0]), nan, nan, n)
    fit = stats.linregress(first, second)
    p = float(fit.pvalue) if n > 2 else nan
    gradient = float(fit.slope)
    margin = float(stats.t.ppf((1 + confidence) / 2, n - 2) * fit.stderr)  # NaN for two points
    low, high = gradient - margin, gradient + margin
    return Line(gradient, low, high, float(fit.intercept), float(fit.rvalue), p, n)


def slope(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Compute the least-squares slope of `y = alpha x`: `sum x y / sum x^2` over the last axis ([R] 5).

    Slopes are `(...)` float64; NaN if every x is 0.

    Args:
        x: `(..., C)` floats.
        y: `(..., C)` floats; positions where x or y is NaN are ignored.

    Example:
        >>> slope([0.125, -0.125], [0.1667, -0.1667]).round(4)
        np.float64(1.3336)
    """
    x, y = _known(x, y)
    return ratio((x * y).sum(-1), (x * x).sum(-1))


def uncentred_r2(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Compute the coefficient of determination of `slope`: the share of `sum y^2` (not of the variance) it explains.

    Without an intercept the fit is measured against y = 0, as in statsmodels; the usual r^2, measured against the mean,
    can fall below 0. For balanced test sets the mean balance is 0 and the two agree. Values are `(...)` float64 in [0,
    1]; NaN if x or y is 0 throughout. The arguments are those of `slope`.

    Example:
        >>> uncentred_r2([1.0, -1.0, 0.0], [2.0, -2.0, 1.0]).round(4)
        np.float64(0.8889)
    """
    x, y = _known(x, y)
    share = ratio((x * y).sum(-1) ** 2, (x * x).sum(-1) * (y * y).sum(-1))
    return np.minimum(share, 1.0)  # rounding aside


def _known(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both arrays with 0 wherever either is NaN, so that these positions add nothing to a sum of products."""
    x = np.asarray(x, np.float64)
    y = np.asarray(y, np.float64)
    known = ~(np.isnan(x) | np.isnan(y))
    return np.where(known, x, 0.0), np.where(known, y, 0.0)
