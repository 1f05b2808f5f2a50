"""Lines against statsmodels; points that determine none."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

from tests.builders.refusals import assert_refused
from tfaudit.stats.least_squares import line, slope, uncentred_r2
from tfaudit.stats.ratios import normalised_balance

RNG = np.random.default_rng(0)
X = RNG.normal(size=30)
Y = 0.4 * X + RNG.normal(size=30)


def test_equals_statsmodels():
    fit, reference = line(X, Y, confidence=0.9), sm.OLS(Y, sm.add_constant(X)).fit()
    assert (fit.intercept, fit.slope) == pytest.approx(tuple(reference.params))
    assert (fit.low, fit.high) == pytest.approx(tuple(reference.conf_int(0.1)[1]))
    assert fit.p == pytest.approx(reference.pvalues[1])
    assert fit.r == pytest.approx(np.corrcoef(X, Y)[0, 1])
    assert fit.n == 30


def test_unknown_points_are_left_out():
    assert line([*X, np.nan, 1], [*Y, 1, np.nan]) == line(X, Y)


@pytest.mark.parametrize(("x", "y", "n"), [([], [], 0), ([1], [2], 1), ([3, 3, 3], [1, 2, 3], 3)])
def test_no_line(x, y, n):
    fit = line(x, y)
    assert np.isnan([fit.slope, fit.low, fit.high, fit.intercept, fit.r, fit.p]).all()
    assert fit.n == n


def test_two_points_have_no_interval():
    fit = line([0, 1], [1, 3])
    assert (fit.slope, fit.intercept, fit.r) == (2, 1, 1)
    assert np.isnan([fit.low, fit.high, fit.p]).all()


def test_a_level_line_has_no_correlation():
    fit = line([0.1, 0.2, 0.3], [0.7, 0.7, 0.7])
    assert (fit.slope, fit.low, fit.high, fit.intercept) == (0, 0, 0, 0.7)
    assert np.isnan([fit.r, fit.p]).all()


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (
            [1, 2],
            [1],
            {},
            r"y: got shape \(1,\), expected \(2,\), the shape of x, with one dimension",
        ),
        ([1, np.inf], [1, 2], {}, "x, y: got infinite"),
    ],
)
def test_bad_input(x, y, options, message):
    assert_refused(message, line, x, y, **options)


def test_the_papers_example():
    before, after = normalised_balance([0.9, 0.7], 0.8), normalised_balance([0.7, 0.5], 0.6)
    assert_allclose(before, [1 / 8, -1 / 8])
    assert_allclose(after, [1 / 6, -1 / 6])
    assert_allclose(after / before, 4 / 3)
    assert slope(before, after) == pytest.approx(4 / 3)


def test_slope_and_r2_equal_statsmodels_and_numpy(rng):
    x, y = (
        rng.normal(size=(2, 6, 30)) + 0.5
    )  # not centred: the r^2 of a fit with a constant would differ
    fits = [sm.OLS(after, before).fit() for before, after in zip(x, y, strict=True)]
    assert_allclose(slope(x, y), [fit.params[0] for fit in fits])
    assert_allclose(uncentred_r2(x, y), [fit.rsquared for fit in fits])
    assert_allclose(
        slope(x, y),
        [np.linalg.lstsq(b[:, None], a, rcond=None)[0][0] for b, a in zip(x, y, strict=True)],
    )


def test_places_without_a_value_do_not_count():
    x, y = np.array([1.0, np.nan, 2.0, 5.0]), np.array([2.0, 3.0, 2.0, np.nan])
    assert slope(x, y) == slope([1, 2], [2, 2])
    assert uncentred_r2(x, y) == uncentred_r2([1, 2], [2, 2])


@pytest.mark.parametrize("x", [[0.0, 0.0], [np.nan, np.nan], []])
def test_no_spread_no_slope(x):
    y = np.ones(len(x))
    assert np.isnan(slope(x, y))
    assert np.isnan(uncentred_r2(x, y))
