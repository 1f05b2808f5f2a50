"""Curvature of a relation: the coefficient of the square in a quadratic fit."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import require_level


def curvature(
    x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95
) -> tuple[float, float, float, float]:
    """Fit `y = a + b x + c x^2` and return c, both ends of its interval, and the p-value of c = 0 (Student's t).

    NaN for fewer than four points or three values of x; the interval and p are NaN where the points fit exactly.

    Args:
        x: `(n,)` floats; NaN where unknown.
        y: `(n,)` floats; NaN where unknown.
        confidence: level of the interval, in (0, 1).

    Example:
        >>> value, low, high, p = curvature([0, 1, 2, 3, 4], [0, 1.1, 3.9, 9.2, 15.9])
        >>> round(value, 2), bool(low < 1 < high), bool(p < 0.01)
        (0.98, True, True)
    """
    require_level("confidence", confidence)
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = np.isfinite(first) & np.isfinite(second)
    first, second = first[known], second[known]
    n = len(first)
    if n < 4 or len(np.unique(first)) < 3:
        return (float("nan"),) * 4
    scale = float(np.abs(first - first.mean()).max())
    centred = (first - first.mean()) / scale  # changes only the scale of c
    coefficients, covariance = np.polyfit(centred, second, 2, cov=True)
    noise = float(np.square(second - np.polyval(coefficients, centred)).sum()) / (n - 3)
    value = float(coefficients[0]) / scale**2
    if noise <= 1e-24 * max(1.0, float(second @ second)):
        return value, float("nan"), float("nan"), float("nan")
    error = float(np.sqrt(covariance[0, 0])) / scale**2
    student = stats.t(n - 3)
    margin = float(student.ppf((1 + confidence) / 2)) * error
    return value, value - margin, value + margin, 2 * float(student.sf(abs(value) / error))
