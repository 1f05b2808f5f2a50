"""t-tests against SciPy and statsmodels, their invariances, and the samples that SciPy warns about."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from tests.builders.refusals import assert_refused
from tfaudit.stats.t_tests import paired_test, smallest_p, welch

SAMPLES = arrays(
    np.float64, st.tuples(st.integers(2, 8), st.just(3)), elements=st.floats(-1, 1, width=16)
)


@pytest.mark.parametrize(
    ("members", "others", "confidence"), [(30, 30, 0.95), (5, 9, 0.9), (2, 2, 0.99)]
)
def test_equals_scipy(members, others, confidence):
    rng = np.random.default_rng(1)
    first = rng.normal(0.3, 1, (members, 200))
    second = rng.normal(0, 3, (others, 200))
    ours = welch(first, second, confidence=confidence)
    reference = stats.ttest_ind(first, second, equal_var=False)
    interval = reference.confidence_interval(confidence)
    assert_allclose(ours.t, reference.statistic, rtol=1e-12)
    assert_allclose(ours.df, reference.df, rtol=1e-12)
    assert_allclose(ours.p, reference.pvalue, rtol=1e-10)
    assert_allclose(ours.low, interval.low, rtol=1e-9)
    assert_allclose(ours.high, interval.high, rtol=1e-9)


@settings(max_examples=50)
@given(SAMPLES, SAMPLES)
def test_swapping_the_samples_turns_the_signs(first, second):
    one, other = welch(first, second), welch(second, first)
    assert_allclose(one.p, other.p, rtol=1e-9)
    assert_array_equal(one.difference, -other.difference)
    assert_allclose(one.low, -other.high, rtol=0, atol=1e-12)
    assert ((one.p >= 0) & (one.p <= 1)).all()


def test_constant_samples():
    # 0.1 three times: the mean is off by one unit in the last place unless constants are treated as such
    test = welch(np.full((3, 3), 0.1), [[0.1, 0.2, 0.0]] * 7)
    assert_array_equal(test.p, [1, 2 / 120, 2 / 120])
    assert_array_equal(test.t, [0, -np.inf, np.inf])
    assert_array_equal(test.low, test.difference)
    assert_array_equal(test.high, test.difference)
    assert np.isnan(test.df).all()


@pytest.mark.parametrize("members", [2, 3, 4, 6])
@pytest.mark.parametrize("test", [welch, paired_test])
def test_intervals_of_constant_samples_hold_0_just_where_p_does_not_reject(members, test):
    found = test(np.full((members, 2), [0.1, 0.4]), np.full((members, 2), 0.25))
    assert_array_equal((found.low > 0) | (found.high < 0), found.p <= 0.05)


def test_one_constant_sample_equals_scipy():
    first, second = np.full((4, 1), 0.5), np.array([[0.1], [0.2], [0.6]])
    ours, reference = welch(first, second), stats.ttest_1samp(second, 0.5)  # what it comes down to
    assert_allclose(ours.p, reference.pvalue)
    assert_allclose(ours.df, 2)


def test_nan_stays_in_its_column():
    sample = np.random.default_rng(0).normal(size=(4, 2))
    broken = sample.copy()
    broken[1, 0] = np.nan
    test = welch(broken, sample + 1)
    assert np.isnan(test.p[0])
    assert np.isfinite(test.p[1])


def test_tiny_variances_do_not_underflow():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 6, 4))
    assert_allclose(welch(1e-90 * first, 1e-90 * second).p, welch(first, second).p, rtol=1e-9)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("members", [2, 3, 5])
def test_the_smallest_p_is_that_of_scipys_permutation_test(members, paired):
    first, second = np.arange(members) + 0.25, -10.0 - np.arange(members)
    reference = stats.permutation_test(
        (first, second),
        lambda one, other, axis: one.mean(axis) - other.mean(axis),
        vectorized=True,
        permutation_type="samples" if paired else "independent",
        n_resamples=np.inf,
    )
    assert smallest_p(members, members, paired=paired) == pytest.approx(reference.pvalue)


def test_the_smallest_p_of_very_many_members_is_above_0():
    assert smallest_p(3000, 3000, paired=False) > 0
    assert smallest_p(3000, 3000, paired=True) > 0
    assert smallest_p(1, 1, paired=True) == 1


@pytest.mark.parametrize("paired", [True, False])
def test_two_equal_populations_rarely_look_different_where_recalls_are_coarse(rng, paired):
    """Two members of 20 images a class: .98 of the recalls coincide by chance often enough to have no variance."""
    recall = rng.binomial(20, 0.98, (2, 2, 20_000)) / 20
    test = (paired_test if paired else welch)(recall[0], recall[1])
    assert (test.p <= 0.05).mean() <= 0.05
    assert test.p[np.ptp(recall, axis=1).max(0) == 0].min() >= 1 / 3


def test_equals_scipy_of_paired_test(rng):
    first = rng.normal(size=(7, 20))
    second = first + rng.normal(0.3, 0.5, size=(7, 20))
    reference = stats.ttest_rel(first, second)
    found = paired_test(first, second, confidence=0.9)
    assert_allclose(found.p, reference.pvalue, rtol=1e-8)
    assert_allclose(found.t, reference.statistic, rtol=1e-8)
    interval = reference.confidence_interval(0.9)
    assert_allclose([found.low, found.high], interval, rtol=1e-8)
    assert_array_equal(found.df, 6)


def test_constant_differences_and_nan():
    first = np.array([[0.9, 0.5, np.nan], [0.7, 0.6, 0.1]])
    found = paired_test(
        first, first - [0.2, 0.0, 0.0]
    )  # .9 - .7 and .7 - .5 differ in the last bit
    assert_array_equal(found.p, [0.5, 1, np.nan])
    assert_array_equal(found.t, [np.inf, 0, np.nan])
    assert_allclose(found.low, [0, 0, np.nan])  # p does not reject 0
    assert_allclose(found.high, [0.2, 0, np.nan])


PAIR = [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: welch([[1.0]], PAIR), "first: got 1, expected 2 members"),
        (lambda: welch([1.0, 2.0], PAIR), r"first: got \(2,\), expected the shape"),
        (lambda: welch(PAIR, [[1.0, 2.0]] * 2), "second: got 2 columns"),
        (lambda: paired_test(PAIR, [[1.0]]), r"second: got \(1, 1\)"),
        (lambda: paired_test(PAIR, PAIR, confidence=1), "confidence: got 1, expected a level"),
    ],
)
def test_bad_input(call, message):
    assert_refused(message, call)
