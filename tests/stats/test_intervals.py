"""Intervals of means, and marks of mean slopes, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.refusals import assert_refused
from tfaudit.stats.intervals import mark_slopes, mean_interval


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


@pytest.mark.parametrize(("centre", "mark"), [(0.9, "<"), (1.0, "?"), (1.1, ">")])
def test_interval_equals_scipy_at_99_percent_for_five_levels(rng, centre, mark):
    slopes = centre + 0.05 * rng.normal(size=30)
    found = mark_slopes(slopes, levels=5)
    assert found.confidence == pytest.approx(0.99)
    low, high = stats.t.interval(0.99, 29, loc=slopes.mean(), scale=stats.sem(slopes))
    assert (found.mean, found.low, found.high) == pytest.approx((slopes.mean(), low, high))
    assert found.mark == mark == ("<" if high < 1 else ">" if low > 1 else "?")


def test_more_levels_need_more_evidence():
    slopes = [1.2, 1.25, 1.3]
    assert [mark_slopes(slopes, levels=levels).mark for levels in (1, 100)] == [">", "?"]


@pytest.mark.parametrize(
    "slopes", [[1.5], [1.5, np.nan, 1.6], [1.0, 1.0, 1.0]], ids=["single", "undefined", "equal"]
)
def test_no_evidence(slopes):
    assert mark_slopes(slopes).mark == "?"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "values: got shape"),
        (lambda: mean_interval(1.0), "values: got shape"),
        (lambda: mean_interval([1.0], confidence=1), "confidence: got 1"),
        (lambda: mark_slopes([1.0, 1.1], levels=0), "levels: got 0, expected 1 or more"),
        (
            lambda: mark_slopes([1.0, 1.1], alpha=1.0),
            r"alpha: got 1.0, expected a level in \(0, 1\)",
        ),
    ],
)
def test_bad_input(call, message):
    assert_refused(message, call)
