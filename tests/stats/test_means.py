"""Tests of two means against SciPy and statsmodels; constant samples by hand."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttest_ind

from tfaudit.errors import InputError
from tfaudit.stats.t_tests import ALTERNATIVES, compare_means


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_equals_scipy(rng, alternative):
    first, second = rng.normal(size=(2, 12)) + rng.normal(size=12)
    ours = compare_means(first, second, paired=True, alternative=alternative)
    reference = stats.ttest_rel(first, second, alternative=alternative)
    assert (ours.t, ours.df, ours.p) == pytest.approx((reference.statistic, 11, reference.pvalue), rel=1e-9)
    assert ours.difference == pytest.approx(first.mean() - second.mean())


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("equal_var", [True, False])
def test_independent_equals_statsmodels(rng, alternative, equal_var):
    first, second = rng.normal(size=9), 0.5 + 3 * rng.normal(size=14)
    ours = compare_means(first, second, paired=False, alternative=alternative, equal_var=equal_var)
    name = {"two-sided": "two-sided", "less": "smaller", "greater": "larger"}[alternative]
    t, p, df = ttest_ind(first, second, alternative=name, usevar="pooled" if equal_var else "unequal")
    assert (ours.t, ours.df, ours.p) == pytest.approx((t, df, p), rel=1e-9)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("second", "t", "p"),
    [
        (1.0, 0, {"two-sided": 1, "less": 0.5, "greater": 0.5}),
        (1.5, -np.inf, {"two-sided": 0, "less": 0, "greater": 1}),
        (0.5, np.inf, {"two-sided": 0, "less": 1, "greater": 0}),
    ],
)
def test_constant_samples(paired, second, t, p):
    for alternative in ALTERNATIVES:
        found = compare_means([1.0] * 3, [second] * 3, paired=paired, alternative=alternative)
        assert (found.t, found.p) == (t, p[alternative])
        assert np.isnan(found.df)


def test_rounding_is_no_variance():
    first = np.array([0.1, 0.2, 0.3, 0.7])
    assert compare_means(first + 0.3, first, paired=True).p == 0


def test_one_constant_sample_is_enough_noise_in_the_other(rng):
    second = rng.normal(size=5)
    ours = compare_means([1.0] * 5, second, paired=False)
    assert ours.p == pytest.approx(ttest_ind([1.0] * 5, second, usevar="unequal")[1])


@pytest.mark.parametrize("samples", [([], []), ([1.0], [2.0]), ([1.0, np.nan], [2.0, 3.0])])
@pytest.mark.parametrize("paired", [True, False])
def test_too_little_for_a_test(samples, paired):
    found = compare_means(*samples, paired=paired)
    assert np.isnan(found.p)
    assert np.isnan(found.t)


def test_bad_input():
    with pytest.raises(InputError, match="second: 3 values, first has 2"):
        compare_means([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)
    with pytest.raises(InputError, match="alternative: got 'larger', expected two-sided, less, greater"):
        compare_means([1.0, 2.0], [1.0, 2.0], paired=True, alternative="larger")
