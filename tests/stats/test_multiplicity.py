"""Holm and Benjamini-Hochberg against statsmodels; tests not made do not count; levels of several looks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from statsmodels.stats.multitest import multipletests

from tests.builders.refusals import assert_refused
from tfaudit.stats.multiplicity import (
    MOST_INTERIM_ANALYSES,
    adjust,
    interim_level,
    weighted_holm,
)

P = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@settings(max_examples=8)  # statsmodels collects garbage at every call
@given(P)
def test_equal_statsmodels(p):
    for ours, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        assert_allclose(
            adjust(p, ours), multipletests(p, method=theirs)[1], rtol=1e-12, atol=1e-300
        )


@settings(max_examples=30)
@given(P, st.sampled_from(["holm", "bh"]))
def test_tests_not_made_do_not_count(p, method):
    spread = np.full(2 * len(p), np.nan)
    spread[::2] = p
    adjusted = adjust(spread, method)
    assert_array_equal(adjusted[::2], adjust(p, method))
    assert np.isnan(adjusted[1::2]).all()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 10)), min_size=1, max_size=5))
def test_weights_are_those_of_closed_testing(pairs):
    """Holm's procedure is the closure of Bonferroni's tests of every set of hypotheses."""
    p, weights = np.array(pairs).T
    sets = [list(s) for n in range(len(p)) for s in itertools.combinations(range(len(p)), n + 1)]
    of_set = [min(1.0, (p[s] / weights[s]).min() * weights[s].sum()) for s in sets]
    closed = [max(q for s, q in zip(sets, of_set, strict=True) if i in s) for i in range(len(p))]
    assert_allclose(weighted_holm(p, weights), closed, rtol=1e-9, atol=1e-300)


def test_nothing_to_adjust():
    assert np.isnan(adjust([np.nan, np.nan], "holm")).all()
    assert adjust([], "bh").shape == (0,)


@pytest.mark.parametrize(
    ("p", "method", "message"),
    [
        ([0.1], "sidak", "method: got 'sidak'"),
        ([1.1], "bh", "p: got 1.1 to 1.1"),
        ([[0.1]], "bh", r"p: got \(1, 1\)"),
    ],
)
def test_bad_input(p, method, message):
    assert_refused(message, adjust, p, method)


@pytest.mark.parametrize("looks", [1, 2, 5, 20, MOST_INTERIM_ANALYSES])
def test_the_levels_of_all_looks_add_up_and_rise(looks):
    levels = [interim_level(0.05, looks, look) for look in range(1, looks + 1)]
    assert sum(levels) == pytest.approx(0.05, rel=1e-12)
    assert levels == sorted(levels)
    assert 1 - levels[0] < 1  # an interval at this level exists
    assert looks * interim_level(0.05, looks) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ((0.05, 0), "looks"),
        ((0.05, 1001), "looks"),
        ((0.05, 5, 6), "look"),
        ((0.05, 5, 0), "look"),
        ((2, 5), "alpha"),
    ],
)
def test_looks_out_of_range_are_refused(asked, argument):
    assert_refused(
        f"^{argument}: got {asked[-1] if argument != 'alpha' else 2}, expected",
        interim_level,
        *asked,
    )
