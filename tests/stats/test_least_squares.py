"""Lines against statsmodels; points that determine none."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from tfaudit.errors import InputError
from tfaudit.stats.least_squares import line

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


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(30)))
def test_order_plays_no_part(order):
    order = np.array(order)
    assert line(X[order], Y[order]).slope == pytest.approx(line(X, Y).slope)


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
        ([1, 2], [1], {}, r"y: shape \(1,\), expected that of x"),
        ([[1]], [[1]], {}, r"y: shape \(1, 1\)"),
        ([1, np.inf], [1, 2], {}, "infinite"),
        ([1, 2], [1, 2], {"confidence": 1}, "confidence: 1"),
    ],
)
def test_bad_input(x, y, options, message):
    with pytest.raises(InputError, match=message):
        line(x, y, **options)
