"""Intervals of means against SciPy."""

import numpy as np
import pytest
from scipy import stats

from tfaudit.errors import InputError
from tfaudit.stats.intervals import mean_interval


def test_equals_scipy():
    values = np.random.default_rng(0).normal(size=(7, 20))
    ours = mean_interval(values, confidence=0.9)
    low, high = stats.t.interval(0.9, 6, loc=values.mean(0), scale=stats.sem(values))
    np.testing.assert_allclose(ours.low, low)
    np.testing.assert_allclose(ours.high, high)


def test_a_single_member_has_no_interval():
    interval = mean_interval([0.5])
    assert interval.mean == 0.5
    assert np.isnan(interval.low)
    assert np.isnan(interval.high)


def test_nan_stays_nan():
    assert np.isnan(mean_interval([np.nan, np.nan]).mean)


@pytest.mark.parametrize(("values", "confidence"), [([], 0.9), (1.0, 0.9), ([1.0], 1)])
def test_bad_input(values, confidence):
    with pytest.raises(InputError):
        mean_interval(values, confidence=confidence)


def test_a_single_number_has_ends_that_are_numbers():
    found = mean_interval([0.5])
    assert [type(end) for end in (found.low, found.high)] == [np.float64] * 2
    assert np.isnan([found.low, found.high]).all()
