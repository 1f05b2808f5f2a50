"""Welch's t-test for many columns at once."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from tfaudit.errors import InputError, require

__all__ = ["ALTERNATIVES", "MeanTest", "WelchTest", "compare_means", "paired_test", "welch", "welch_from_moments"]


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
        raise InputError("confidence", repr(confidence), "a level in (0, 1)")
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
        raise InputError(name, f"shape {array.shape}", "(members, columns)")
    if len(array) < 2:
        raise InputError(f"{name}: {len(array)} member; Welch's test needs at least 2")
    # The mean of equal floats may be off by one unit in the last place: the variance would not be zero.
    constant = array.min(0) == array.max(0)
    mean = np.where(constant, array[0], array.mean(0))
    variance = np.where(constant, 0.0, np.square(array - mean).sum(0) / (len(array) - 1))
    return mean, variance / len(array), len(array) - 1


ALTERNATIVES = ("two-sided", "less", "greater")


@dataclasses.dataclass(frozen=True)
class MeanTest:
    """One test.

    Attributes:
        difference: mean of `first` minus mean of `second`.
        t: the statistic; 0 or +-inf where nothing varies.
        df: degrees of freedom; NaN where nothing varies.
        p: p-value; NaN, as all else but the difference, where a sample is too small or holds NaN.
    """

    difference: float
    t: float
    df: float
    p: float


def compare_means(
    first: ArrayLike,
    second: ArrayLike,
    *,
    paired: bool,
    alternative: str = "two-sided",
    equal_var: bool = False,
) -> MeanTest:
    """Tests whether two means are equal, by SciPy's t-tests of pairs or independent samples.

    Where nothing varies there is no noise to test against: a difference of 0 gives t = 0 (p = 1 two-sided, 0.5
    one-sided), another one t = +-inf (p = 0 or 1), as in `tfaudit.stats.t_tests.welch`.

    Args:
        first: `(K1,)` floats.
        second: `(K2,)` floats; K2 = K1 where paired.
        paired: whether value i of both belongs together.
        alternative: "less" if the mean of `first` is supposed to be the smaller one, "greater", or "two-sided".
        equal_var: independent samples only: pool the variances (Student) or not (Welch).

    Raises:
        InputError: pairs that do not match, or an unknown alternative.

    Example:
        >>> compare_means([1.0, 1.1, 1.3], [1.2, 1.3, 1.6], paired=True, alternative="less").p.round(4)
        np.float64(0.0099)
    """
    require(alternative in ALTERNATIVES, "alternative", alternative, ", ".join(ALTERNATIVES))
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if paired and len(first) != len(second):
        raise InputError(f"second: {len(second)} values, first has {len(first)}; pairs need as many of both")
    if not len(first) or not len(second):
        return MeanTest(np.nan, np.nan, np.nan, np.nan)
    # What differs by less than 1e-12 differs by rounding and must not look like variance.
    samples = [np.round(first - second, 12)] if paired else [np.round(first, 12), np.round(second, 12)]
    difference = samples[0].mean() - (0.0 if paired else samples[1].mean())
    if min(len(sample) for sample in samples) < 2 or any(np.isnan(sample).any() for sample in samples):
        return MeanTest(difference, np.nan, np.nan, np.nan)
    if all(np.ptp(sample) == 0 for sample in samples):
        t = np.sign(difference) * np.inf if difference else 0.0
        tails = {"two-sided": 2 * stats.norm.sf(abs(t)), "less": stats.norm.cdf(t), "greater": stats.norm.sf(t)}
        return MeanTest(difference, t, np.nan, tails[alternative])
    with warnings.catch_warnings():
        # SciPy warns that a constant sample has little variance; rounding above has made sure that it has none.
        warnings.filterwarnings("ignore", "Precision loss occurred in moment calculation", RuntimeWarning)
        if paired:
            test = stats.ttest_1samp(samples[0], 0.0, alternative=alternative)
        else:
            test = stats.ttest_ind(*samples, equal_var=equal_var, alternative=alternative)
    return MeanTest(difference, test.statistic, test.df, test.pvalue)


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
