"""One- and two-sided t-tests against SciPy and statsmodels, and of samples without variance."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttest_ind

from tests.builders.refusals import assert_refused
from tfaudit.extensions.distortion.mean_tests import ALTERNATIVES, compare_means


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_equals_scipy(rng, alternative):
    first, second = rng.normal(size=(2, 12)) + rng.normal(size=12)
    ours = compare_means(first, second, paired=True, alternative=alternative)
    reference = stats.ttest_rel(first, second, alternative=alternative)
    assert (ours.t, ours.df, ours.p) == pytest.approx(
        (reference.statistic, 11, reference.pvalue), rel=1e-9
    )
    assert ours.difference == pytest.approx(first.mean() - second.mean())


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_independent_equals_statsmodels(rng, alternative):
    first, second = rng.normal(size=9), 0.5 + 3 * rng.normal(size=14)
    ours = compare_means(first, second, paired=False, alternative=alternative)
    name = {"two-sided": "two-sided", "less": "smaller", "greater": "larger"}[alternative]
    t, p, df = ttest_ind(first, second, alternative=name, usevar="unequal")
    assert (ours.t, ours.df, ours.p) == pytest.approx((t, df, p), rel=1e-9)


@pytest.mark.parametrize(("paired", "assignments"), [(True, 2**3), (False, 20)])
@pytest.mark.parametrize(
    ("second", "t", "tails"),
    [
        (1.0, 0, None),
        (1.5, -np.inf, {"two-sided": 2, "less": 1}),
        (0.5, np.inf, {"two-sided": 2, "greater": 1}),
    ],
)
def test_constant_samples_of_compare_means(paired, assignments, second, t, tails):
    """The extreme assignments of the tails that the alternative counts, else 1; without a difference t is 0."""
    for alternative in ALTERNATIVES:
        test = compare_means([1.0] * 3, [second] * 3, paired=paired, alternative=alternative)
        p = 1 if tails is None or alternative not in tails else tails[alternative] / assignments
        assert (test.t, test.p) == (t, 0.5 if t == 0 and alternative != "two-sided" else p)
        assert np.isnan(test.df)


@pytest.mark.parametrize("samples", [([], []), ([1.0], [2.0]), ([1.0, np.nan], [2.0, 3.0])])
@pytest.mark.parametrize("paired", [True, False])
def test_too_little_for_a_test(samples, paired):
    found = compare_means(*samples, paired=paired)
    assert np.isnan(found.p)
    assert np.isnan(found.t)


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), {}, "second: got 3 values, expected 2 as in first"),
        (
            ([1.0], [1.0]),
            {"alternative": "larger"},
            "alternative: got 'larger', expected 'two-sided', 'less' or 'greater'",
        ),
    ],
)
def test_bad_input(samples, options, message):
    assert_refused(message, compare_means, *samples, paired=True, **options)
