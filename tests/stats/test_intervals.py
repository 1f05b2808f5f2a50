"""Intervals of means against SciPy."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.refusals import assert_refused
from tfaudit.stats.intervals import mean_interval


def test_equals_scipy():
    values = np.random.default_rng(0).normal(size=(7, 20))
    ours = mean_interval(values, confidence=0.9)
    low, high = stats.t.interval(0.9, 6, loc=values.mean(0), scale=stats.sem(values))
    np.testing.assert_allclose(ours.low, low)
    np.testing.assert_allclose(ours.high, high)


def test_nan_stays_nan():
    assert np.isnan(mean_interval([np.nan, np.nan]).mean)


def test_a_single_member_has_no_interval():
    found = mean_interval([0.5])
    assert found.mean == 0.5
    assert [type(end) for end in (found.low, found.high)] == [np.float64] * 2
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "values: got shape"),
        (lambda: mean_interval(1.0), "values: got shape"),
        (lambda: mean_interval([1.0], confidence=1), "confidence: got 1"),
    ],
)
def test_bad_input(call, message):
    assert_refused(message, call)
