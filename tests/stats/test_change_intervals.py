"""Critical values, p-values and intervals of rare events: against SciPy's distributions."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tfaudit.stats.change_intervals import Change, critical_value
from tfaudit.stats.changes import mean_change


def test_critical_values_are_students_where_one_source_varies():
    quantile = critical_value(0.975, [0.0, 2.0, 0.0], [3.0, 0.0, 0.0], 49, 4)
    assert_allclose(quantile, stats.t.ppf(0.975, [4, 49, 49]))
    few, many = stats.t.ppf(0.975, [4, 49])
    expected = [(share * few + many) / (share + 1) for share in (0.01, 1.0, 100.0)]
    assert_allclose(critical_value(0.975, 1.0, [0.01, 1.0, 100.0], 49, 4), expected)


def test_p_is_the_level_at_which_the_interval_ends_at_zero(rng):
    value, (of_images, of_members) = rng.normal(0, 3, 200), rng.gamma(1, 1, (2, 200))
    df_images, df_members = rng.uniform(1, 500, 200), rng.uniform(1, 30, 200)
    change = Change(value, of_images, of_members, np.zeros(200), df_images, df_members)
    p = change.p()
    for i in range(0, 200, 10):
        low, high = change.interval(1 - p[i])
        assert min(abs(low[i]), abs(high[i])) == pytest.approx(0, abs=1e-6)
    only_images = dataclasses.replace(change, of_members=np.zeros(200))
    expected = 2 * stats.t.sf(np.abs(value) / only_images.error, df_images)
    assert_allclose(only_images.p(), expected, rtol=1e-6, atol=1e-100)
    assert np.isnan(dataclasses.replace(change, of_images=np.full(200, np.nan)).p()).all()


@pytest.mark.parametrize(("events", "confidence"), [(0, 0.95), (1, 0.9), (40, 0.99)])
def test_the_interval_of_rare_events_is_that_of_a_poisson_count(events, confidence):
    """Garwood's exact interval, where every event is an image of its own and the images alone vary."""
    images = 1000
    rate, variance = np.array([events / images]), np.array([events / images**2])
    change = mean_change(np.zeros((1, images)), np.zeros((1, images)), paired=True)
    change = dataclasses.replace(change, value=rate, of_images=variance)
    low, high = change.rate_interval(confidence)
    tails = stats.norm.sf(stats.t.isf((1 - confidence) / 2, images - 1))
    expected = stats.chi2.ppf(tails, 2 * events) / 2 if events else 0.0
    assert images * low[0] == pytest.approx(expected)
    assert images * high[0] == pytest.approx(stats.chi2.isf(tails, 2 * events + 2) / 2)


def test_the_interval_of_rates_stays_within_its_bounds():
    low, high = (
        Change(*(np.array([part]) for part in parts)).rate_interval()
        for parts in ((0.5, 1.0, 8.0, 0.0, 99.0, 1.0), (np.nan,) * 6)
    )
    assert (low[0][0], low[1][0]) == pytest.approx((0, 1))
    assert np.isnan(high).all()
