"""t-tests of means: two independent samples (Welch), and pairs.

Constant samples have no variance to test against. If their means are equal, p is 1; otherwise p is the smallest that a
permutation of the members can reach (`smallest_p`): two members that agree are weak evidence, and p is never 0.

Samples that do not match or are too small, and a level outside (0, 1), raise `InputError`.
"""

import dataclasses
import math
import sys

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tfaudit.errors import InputError, require, require_level


@dataclasses.dataclass(frozen=True)
class TTests:
    """Two-sided tests, one per column; every field is a float64 array `(C,)`, NaN where a sample holds NaN.

    Attributes:
        difference: mean of `first` minus mean of `second`.
        t: the statistic; 0 or +-inf where nothing varies.
        df: degrees of freedom; NaN where nothing varies.
        p: two-sided p-value.
        low, high: ends of the confidence interval of the difference.
    """

    difference: np.ndarray
    t: np.ndarray
    df: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray


def smallest_p(first: int, second: int, *, paired: bool) -> float:
    """Compute the smallest p-value that a permutation of the members of two groups can reach.

    The observed assignment of members to groups is one of `C(K1 + K2, K1)`, or one of `2^K` exchanges within pairs. The
    opposite extreme counts, too.

    Args:
        first: size of the first group, K1 >= 1.
        second: size of the second group; equal to `first` if paired.
        paired: whether members are exchanged within pairs only.

    Example:
        >>> smallest_p(2, 2, paired=False), smallest_p(4, 4, paired=True)
        (0.3333333333333333, 0.125)
    """
    assignments = 2**first if paired else math.comb(first + second, first)
    # A fraction of integers does not overflow, however many members there are.
    return min(1.0, max(2 / assignments, sys.float_info.min))


def welch(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> TTests:
    """Test whether two independent samples have equal means, without assuming equal variances ([F] 2.2; Welch 1947).

    Two constant samples with different means give p = `2 / C(K1 + K2, K1)`, at most 1, and an interval of width 0,
    which is extended to 0 if that p does not reject.

    Args:
        first: `(K1, C)` floats, K1 >= 2 values of each of C columns.
        second: `(K2, C)` floats, K2 >= 2.
        confidence: level of the interval of the difference, in (0, 1).

    Example:
        >>> test = welch([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [[2.0, 5.0], [4.0, 5.0], [6.0, 5.0]])
        >>> test.p.round(4), test.difference
        (array([0.2209, 1.    ]), array([-2.,  0.]))
    """
    mean1, error1, free1 = _moments(first, "first")
    mean2, error2, free2 = _moments(second, "second")
    if mean1.shape != mean2.shape:
        raise InputError("second", f"{mean2.shape[0]} columns", f"{mean1.shape[0]} as in first")
    df = _welch_df(error1, free1, error2, free2)
    least = smallest_p(free1 + 1, free2 + 1, paired=False)
    return _tests(mean1 - mean2, np.sqrt(error1 + error2), df, least, confidence)


def paired_test(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> TTests:
    """Test whether the mean difference of pairs is 0. A constant difference other than 0 gives p = `2 / 2^K`.

    Args:
        first: `(K, C)` floats, K >= 2 values of each of C columns.
        second: `(K, C)` floats; row k belongs to row k of `first`.
        confidence: level of the interval of the difference, in (0, 1).

    Example:
        >>> paired_test([[2.0], [4.0], [6.5]], [[1.0], [3.0], [5.0]]).p.round(3)
        array([0.02])
    """
    first = np.asarray(first, np.float64)
    second = np.asarray(second, np.float64)
    require(
        first.shape == second.shape, "second", second.shape, f"the shape of first, {first.shape}"
    )
    # Shares are ratios of counts: a difference below 1e-12 is rounding and must not look like variance.
    mean, error, free = _moments(np.round(first - second, 12), "first")
    least = smallest_p(free + 1, free + 1, paired=True)
    return _tests(mean, np.sqrt(error), np.full(mean.shape, float(free)), least, confidence)


def welch_from_moments(
    difference: np.ndarray, error1: np.ndarray, free1: int, error2: np.ndarray, free2: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute t, df and two-sided p of Welch's test, as in `TTests`, from the samples' moments.

    Args:
        difference: floats of any shape, mean of the first minus mean of the second sample.
        error1: squared standard error of the first mean, variance / size, of the same shape.
        free1: size of the first sample less 1.
        error2: squared standard error of the second mean.
        free2: size of the second sample less 1.

    Example:
        >>> t, df, p = welch_from_moments(np.array([-2.0]), np.array([1 / 3]), 2, np.array([4 / 3]), 2)
        >>> t.round(3), df.round(3), p.round(4)
        (array([-1.549]), array([2.941]), array([0.2209]))
    """
    df = _welch_df(error1, free1, error2, free2)
    least = smallest_p(free1 + 1, free2 + 1, paired=False)
    return _t_and_p(difference, np.sqrt(error1 + error2), df, least)


def _moments(sample: ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return mean and squared standard error `(C,)`, and K - 1; exact for constant columns."""
    array = np.asarray(sample, np.float64)
    require(array.ndim == 2, name, array.shape, "the shape (members, columns)")
    require(len(array) >= 2, name, len(array), "2 members or more")
    # The mean of equal floats may be off by one unit in the last place: the variance would not be zero.
    constant = array.min(0) == array.max(0)
    mean = np.where(constant, array[0], array.mean(0))
    variance = np.where(constant, 0.0, np.square(array - mean).sum(0) / (len(array) - 1))
    return mean, variance / len(array), len(array) - 1


def _welch_df(error1: np.ndarray, free1: int, error2: np.ndarray, free2: int) -> np.ndarray:
    """Return the degrees of freedom after Welch and Satterthwaite; NaN for two constant samples."""
    # Denormal variances may under- or overflow. Shares of the squared error avoid fourth powers of small numbers.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        share = error1 / (error1 + error2)
        return 1 / (share**2 / free1 + (1 - share) ** 2 / free2)


def _noiseless_t(difference: np.ndarray) -> np.ndarray:
    return np.where(difference == 0, 0.0, np.copysign(np.inf, difference))


def _t_and_p(
    difference: np.ndarray, error: np.ndarray, df: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return t, df and two-sided p; where a standard error is 0, nothing varies and p is `least` or 1."""
    constant = error == 0
    t = np.where(constant, _noiseless_t(difference), difference / np.where(constant, 1.0, error))
    p = 2 * special.stdtr(np.where(constant, 1.0, df), -np.abs(t))
    return t, np.where(constant, np.nan, df), np.where(constant & (difference != 0), least, p)


def _tests(
    difference: np.ndarray, error: np.ndarray, df: np.ndarray, least: float, confidence: float
) -> TTests:
    require_level("confidence", confidence)
    t, df, p = _t_and_p(difference, error, df, least)
    constant = error == 0
    margin = np.where(
        constant, 0.0, special.stdtrit(np.where(constant, 1.0, df), (1 + confidence) / 2) * error
    )
    low = difference - margin
    high = difference + margin
    # The interval and the p-value of constant samples must not contradict each other.
    if least > 1 - confidence:
        low = np.where(constant, np.minimum(low, 0.0), low)
        high = np.where(constant, np.maximum(high, 0.0), high)
    return TTests(difference, t, df, p, low, high)
