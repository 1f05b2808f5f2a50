"""Balances and slopes against statsmodels, NumPy and the paper's example."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tfaudit.stats.balance import normalised_balance, slope, uncentred_r2


def test_the_papers_example():
    before, after = normalised_balance([0.9, 0.7], 0.8), normalised_balance([0.7, 0.5], 0.6)
    np.testing.assert_allclose(before, [1 / 8, -1 / 8])
    np.testing.assert_allclose(after, [1 / 6, -1 / 6])
    np.testing.assert_allclose(after / before, 4 / 3)
    assert slope(before, after) == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("recall", "accuracy", "after", "ratio"), [(0.903, 0.9026, -0.0285, -64), (0.903, 0.9033, -0.0099, 30)]
)
def test_the_papers_outliers(recall, accuracy, after, ratio):
    """[R] G: two ratios whose denominators are close to 0."""
    assert after / normalised_balance([recall], accuracy)[0] == pytest.approx(ratio, abs=0.5)


def test_slope_and_r2_equal_statsmodels_and_numpy(rng):
    x, y = rng.normal(size=(2, 6, 30)) + 0.5  # not centred: the r^2 of a fit with a constant would differ
    fits = [sm.OLS(after, before).fit() for before, after in zip(x, y, strict=True)]
    np.testing.assert_allclose(slope(x, y), [fit.params[0] for fit in fits])
    np.testing.assert_allclose(uncentred_r2(x, y), [fit.rsquared for fit in fits])
    np.testing.assert_allclose(
        slope(x, y), [np.linalg.lstsq(b[:, None], a, rcond=None)[0][0] for b, a in zip(x, y, strict=True)]
    )


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(int, (4, 7), elements=st.integers(0, 20)))
def test_balances_of_a_balanced_test_set_sum_to_zero(hits):
    """[R] proposition 4.1 and corollary 4.1.1: 7 classes of 20 examples."""
    balance = normalised_balance(hits / 20, hits.sum(1) / 140)
    np.testing.assert_allclose(balance[hits.sum(1) > 0].sum(1), 0, atol=1e-9)
    assert np.isnan(balance[hits.sum(1) == 0]).all()


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(float, (2, 5), elements=st.floats(-100, 100)))
def test_r2_stays_in_bounds(points):
    r2 = uncentred_r2(*points)
    assert np.isnan(r2) or 0 <= r2 <= 1


def test_places_without_a_value_do_not_count():
    x, y = np.array([1.0, np.nan, 2.0, 5.0]), np.array([2.0, 3.0, 2.0, np.nan])
    assert slope(x, y) == slope([1, 2], [2, 2])
    assert uncentred_r2(x, y) == uncentred_r2([1, 2], [2, 2])


@pytest.mark.parametrize("x", [[0.0, 0.0], [np.nan, np.nan], []])
def test_no_spread_no_slope(x):
    y = np.ones(len(x))
    assert np.isnan(slope(x, y))
    assert np.isnan(uncentred_r2(x, y))


def test_rounding_is_not_a_balance():
    """3 of 10, 6 of 20 and 9 of 30 are one recall, though 0.1 * 3 is not 0.3."""
    assert (normalised_balance([0.1 * 3, 0.3, 0.3], 0.3) == 0).all()
