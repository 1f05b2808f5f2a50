"""Welch's t-test for many columns at once."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import special

from tfaudit.errors import InputError

__all__ = ["WelchTest", "welch", "welch_from_moments"]


@dataclasses.dataclass(frozen=True)
class WelchTest:
    """Two-sided tests, one per column; every field is a float64 array `(C,)`, NaN where a sample holds NaN.

    Attributes:
        difference: mean of `first` minus mean of `second`.
        t: the statistic; 0 or +-inf where both samples are constant.
        df: degrees of freedom after Welch and Satterthwaite; NaN where both samples are constant.
        p: two-sided p-value.
        low: lower end of the confidence interval of the difference.
        high: its upper end.
    """

    difference: np.ndarray
    t: np.ndarray
    df: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray


def welch(first: np.typing.ArrayLike, second: np.typing.ArrayLike, *, confidence: float = 0.95) -> WelchTest:
    """Tests whether two independent samples have equal means, without assuming equal variances ([F] 2.2; Welch 1947).

    Two constant samples carry no noise to test against: equal means give p = 1, different means p = 0.

    Args:
        first: `(K1, C)` floats, K1 >= 2 values of each of C columns.
        second: `(K2, C)` floats, K2 >= 2.
        confidence: level of the interval of the difference, in (0, 1).

    Raises:
        InputError: fewer than two values, columns that do not fit, a level outside (0, 1).

    Example:
        >>> test = welch([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [[2.0, 5.0], [4.0, 5.0], [6.0, 5.0]])
        >>> test.p.round(4), test.difference
        (array([0.2209, 1.    ]), array([-2.,  0.]))
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence: {confidence!r}, allowed is a level in (0, 1)")
    mean1, error1, free1 = _moments(first, "first")
    mean2, error2, free2 = _moments(second, "second")
    if mean1.shape != mean2.shape:
        raise InputError(f"second: {mean2.shape[0]} columns, first has {mean1.shape[0]}; they must agree")
    difference = mean1 - mean2
    t, df, p = welch_from_moments(difference, error1, free1, error2, free2)
    with np.errstate(invalid="ignore"):  # an infinite quantile times an error of 0; two constant samples have no margin
        margin = special.stdtrit(df, (1 + confidence) / 2) * np.sqrt(error1 + error2)
    margin = np.where(error1 + error2 == 0, 0.0, margin)
    return WelchTest(difference, t, df, p, difference - margin, difference + margin)


def welch_from_moments(
    difference: np.ndarray, error1: np.ndarray, free1: int, error2: np.ndarray, free2: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The statistic, the degrees of freedom and the two-sided p-value of Welch's test, from the samples' moments.

    Args:
        difference: floats of any shape, mean of the first minus mean of the second sample.
        error1: squared standard error of the first mean, variance / size, of the same shape.
        free1: size of the first sample less 1.
        error2: of the second sample.
        free2: of the second sample.

    Returns:
        t, df and p as in `WelchTest`, of the shape of `difference`.

    Example:
        >>> t, df, p = welch_from_moments(np.array([-2.0]), np.array([1 / 3]), 2, np.array([4 / 3]), 2)
        >>> t.round(3), df.round(3), p.round(4)
        (array([-1.549]), array([2.941]), array([0.2209]))
    """
    # A ratio 0/0 is what two constant samples give; it is replaced below. Denormal variances may under- or overflow.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # Shares of the squared error, so that no fourth power of a small number is formed.
        share = error1 / (error1 + error2)
        df = 1 / (share**2 / free1 + (1 - share) ** 2 / free2)
        t = difference / np.sqrt(error1 + error2)
        p = 2 * special.stdtr(df, -np.abs(t))
    constant = error1 + error2 == 0
    t = np.where(constant, np.where(difference == 0, 0.0, np.copysign(np.inf, difference)), t)
    p = np.where(constant, np.where(difference == 0, 1.0, 0.0), p)
    return t, df, p


def _moments(sample: np.typing.ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Mean and squared standard error `(C,)`, and K - 1; exact where a column is constant."""
    array = np.asarray(sample, np.float64)
    if array.ndim != 2:
        raise InputError(f"{name}: shape {array.shape}, expected (members, columns)")
    if len(array) < 2:
        raise InputError(f"{name}: {len(array)} member; Welch's test needs at least 2")
    # The mean of equal floats may be off by one unit in the last place: the variance would not be zero.
    constant = array.min(0) == array.max(0)
    mean = np.where(constant, array[0], array.mean(0))
    variance = np.where(constant, 0.0, np.square(array - mean).sum(0) / (len(array) - 1))
    return mean, variance / len(array), len(array) - 1
