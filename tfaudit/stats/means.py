"""Student's and Welch's t-test of two means, one- or two-sided, defined for constant samples too."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError, require

__all__ = ["ALTERNATIVES", "MeanTest", "compare_means"]

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
    one-sided), another one t = +-inf (p = 0 or 1), as in `tfaudit.stats.ttests.welch`.

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
