"""One- and two-sided t-tests of two means, where nothing may vary."""

import dataclasses
import math
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from tfaudit.errors import InputError, require_one_of
from tfaudit.stats.t_tests import smallest_p

ALTERNATIVES = ("two-sided", "less", "greater")


@dataclasses.dataclass(frozen=True)
class MeanTest:
    """One test, with the fields of `TTests`; t, df and p are NaN where a sample is too small or holds NaN."""

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
) -> MeanTest:
    """Test whether two means are equal with one of SciPy's t-tests.

    If nothing varies, a difference of 0 gives t = 0 (p = 1 two-sided, 0.5 one-sided). Any other difference gives t =
    +-inf and p = `smallest_p`, or p = 1 if it contradicts the alternative.

    Args:
        first: `(K1,)` floats.
        second: `(K2,)` floats; K2 = K1 if paired.
        paired: whether value i of `first` belongs to value i of `second`.
        alternative: "less" if the mean of `first` is expected to be the smaller one, "greater", or "two-sided" (the
            default).

    Example:
        >>> compare_means([1.0, 1.1, 1.3], [1.2, 1.3, 1.6], paired=True, alternative="less").p.round(4)
        np.float64(0.0099)
    """
    require_one_of("alternative", alternative, ALTERNATIVES)
    first = np.asarray(first, np.float64)
    second = np.asarray(second, np.float64)
    if paired and len(first) != len(second):
        raise InputError("second", f"{len(second)} values", f"{len(first)} as in first, for pairs")
    if not len(first) or not len(second):
        return MeanTest(np.nan, np.nan, np.nan, np.nan)
    # A difference below 1e-12 is rounding and must not look like variance.
    samples = (
        [np.round(first - second, 12)] if paired else [np.round(first, 12), np.round(second, 12)]
    )
    difference = samples[0].mean() - (0.0 if paired else samples[1].mean())
    if any(len(sample) < 2 or np.isnan(sample).any() for sample in samples):
        return MeanTest(difference, np.nan, np.nan, np.nan)
    if all(np.ptp(sample) == 0 for sample in samples):
        least = smallest_p(len(first), len(second), paired=paired)
        return _constant_test(difference, alternative, least)
    with warnings.catch_warnings():
        # SciPy warns that a constant sample has little variance; rounding above has made sure that it has none.
        warnings.filterwarnings(
            "ignore", "Precision loss occurred in moment calculation", RuntimeWarning
        )
        if paired:
            test = stats.ttest_1samp(samples[0], 0.0, alternative=alternative)
        else:
            test = stats.ttest_ind(*samples, equal_var=False, alternative=alternative)
    return MeanTest(difference, test.statistic, test.df, test.pvalue)


def _constant_test(difference: float, alternative: str, least: float) -> MeanTest:
    """Return the test of samples in which nothing varies; `least` is the smallest two-sided p-value."""
    t = math.copysign(math.inf, difference) if difference else 0.0
    # The probability of the tail that starts at an infinite t, or at 0.
    against = {"two-sided": abs(t), "less": -t, "greater": t}[alternative]
    sides = 2 if alternative == "two-sided" else 1
    return MeanTest(difference, t, np.nan, sides * max(float(special.ndtr(-against)), least / 2))
