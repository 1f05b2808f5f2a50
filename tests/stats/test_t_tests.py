"""Welch's test against SciPy, its invariances, and the samples that SciPy warns about."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from tfaudit.errors import InputError
from tfaudit.stats.t_tests import welch

SAMPLES = arrays(np.float64, st.tuples(st.integers(2, 8), st.just(3)), elements=st.floats(-1, 1, width=16))


@pytest.mark.parametrize(("members", "others", "confidence"), [(30, 30, 0.95), (5, 9, 0.9), (2, 2, 0.99)])
def test_equals_scipy(members, others, confidence):
    rng = np.random.default_rng(1)
    first = rng.normal(0.3, 1, (members, 200))
    second = rng.normal(0, 3, (others, 200))
    ours = welch(first, second, confidence=confidence)
    reference = stats.ttest_ind(first, second, equal_var=False)
    interval = reference.confidence_interval(confidence)
    np.testing.assert_allclose(ours.t, reference.statistic, rtol=1e-12)
    np.testing.assert_allclose(ours.df, reference.df, rtol=1e-12)
    np.testing.assert_allclose(ours.p, reference.pvalue, rtol=1e-10)
    np.testing.assert_allclose(ours.low, interval.low, rtol=1e-9)
    np.testing.assert_allclose(ours.high, interval.high, rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(SAMPLES, SAMPLES)
def test_swapping_the_samples_turns_the_signs(first, second):
    one, other = welch(first, second), welch(second, first)
    np.testing.assert_allclose(one.p, other.p, rtol=1e-9)
    np.testing.assert_array_equal(one.difference, -other.difference)
    np.testing.assert_allclose(one.low, -other.high, rtol=0, atol=1e-12)
    assert ((one.p >= 0) & (one.p <= 1)).all()


@settings(max_examples=50, deadline=None)
@given(SAMPLES)
def test_a_sample_does_not_differ_from_itself(sample):
    np.testing.assert_array_equal(welch(sample, sample).p, 1)


def test_constant_samples():
    # 0.1 three times: the mean is off by one unit in the last place unless constants are treated as such
    test = welch(np.full((3, 3), 0.1), [[0.1, 0.2, 0.0]] * 7)
    np.testing.assert_array_equal(test.p, [1, 0, 0])
    np.testing.assert_array_equal(test.t, [0, -np.inf, np.inf])
    np.testing.assert_array_equal(test.low, test.difference)
    np.testing.assert_array_equal(test.high, test.difference)
    assert np.isnan(test.df).all()


def test_one_constant_sample_equals_scipy():
    first, second = np.full((4, 1), 0.5), np.array([[0.1], [0.2], [0.6]])
    ours, reference = welch(first, second), stats.ttest_1samp(second, 0.5)  # what it comes down to
    np.testing.assert_allclose(ours.p, reference.pvalue)
    np.testing.assert_allclose(ours.df, 2)


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
    np.testing.assert_allclose(welch(1e-90 * first, 1e-90 * second).p, welch(first, second).p, rtol=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "confidence", "message"),
    [
        ([[1.0]], [[1.0], [2.0]], 0.95, "first: 1 member"),
        ([1.0, 2.0], [[1.0], [2.0]], 0.95, "first: shape"),
        ([[1.0], [2.0]], [[1.0, 2.0]] * 2, 0.95, "second: 2 columns"),
        ([[1.0], [2.0]], [[1.0], [2.0]], 95, "confidence: 95"),
    ],
)
def test_bad_input(first, second, confidence, message):
    with pytest.raises(InputError, match=message):
        welch(first, second, confidence=confidence)
