"""Assignments, p-values, and the two ways to count over assignments against counting one by one."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.stats import permutation
from tfaudit.stats.permutation import assign, count_significant, permuted_welch
from tfaudit.stats.t_tests import welch


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 3), (2, 5), (5, 1)])
def test_exact_assignments_are_all_there_are(first, second):
    found = assign(first, second)
    assert found.exact
    rows = {tuple(row) for row in found.first.tolist()}
    assert len(rows) == len(found.first) == math.comb(first + second, first)
    assert (found.first.sum(1) == first).all()
    assert_array_equal(found.first[0], np.arange(first + second) < first)


def test_pairs_stay_apart():
    for found, count in (
        (assign(4, 4, paired=True), 16),
        (assign(12, 12, permutations=500, paired=True), 501),
    ):
        half = found.first.shape[1] // 2
        assert len(found.first) == count
        assert (found.first[:, :half] != found.first[:, half:]).all()
        assert found.first[0, :half].all()
    assert len({tuple(row) for row in assign(4, 4, paired=True).first.tolist()}) == 16


def test_random_assignments_are_uniform_and_seeded():
    found = assign(10, 20, permutations=5000, seed=3)
    assert not found.exact
    assert len(found.first) == 5001
    assert (found.first.sum(1) == 10).all()
    share = found.first[1:].mean(0)
    assert_allclose(share, 1 / 3, atol=4 * np.sqrt(2 / 9 / 5000))
    assert_array_equal(found.first, assign(10, 20, permutations=5000, seed=3).first)
    assert (found.first != assign(10, 20, permutations=5000, seed=4).first).any()


def test_p_equals_scipy():
    """The same sum over the first group as a count, by SciPy's own permutation test."""
    values = np.array([9, 7, 8, 1, 5, 6, 2])
    found = assign(3, 4)
    null = found.null(found.first @ values)
    reference = scipy.stats.permutation_test(
        (values[:3], values[3:]),
        lambda x, y, axis: x.sum(axis),
        vectorized=True,
        alternative="greater",
        n_resamples=1e4,
    )
    assert null.p == pytest.approx(reference.pvalue)
    assert null.mean == pytest.approx(reference.null_distribution.mean())
    low, high = np.quantile(reference.null_distribution, (0.025, 0.975), method="inverted_cdf")
    assert (null.low, null.high) == (low, high)


@pytest.mark.parametrize(
    ("options", "smallest"),
    [
        ({"first": 4, "second": 4}, 2 / 70),
        ({"first": 4, "second": 3}, 1 / 35),
        ({"first": 4, "second": 4, "paired": True}, 2 / 16),
        ({"first": 1, "second": 1}, 1),
        ({"first": 9, "second": 9, "permutations": 99}, 1 / 100),
    ],
)
def test_smallest_p(options, smallest):
    found = assign(**options)
    assert found.null(np.zeros(len(found.first))).smallest_p == pytest.approx(smallest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first": 0, "second": 2}, "first: got 0, expected 1 or more"),
        ({"first": 2, "second": 2, "permutations": 0}, "permutations: got 0"),
        ({"first": 2, "second": 3, "paired": True}, "second: got 3, expected 2 members"),
    ],
)
def test_bad_input(options, message):
    assert_refused(message, assign, **options)


def test_blocks_play_no_part(monkeypatch, rng):
    values, assignments = rng.random((8, 20)), assign(4, 4).first
    whole = count_significant(assignments, values, alpha=0.05)
    monkeypatch.setattr(permutation, "TESTS_AT_ONCE", 50)
    assert_array_equal(count_significant(assignments, values, alpha=0.05), whole)


def test_p_equals_scipy_for_all_assignments(rng):
    values = rng.normal(0.8, 0.02, (7, 30))
    values[:, 0] = 0.1  # constant in all
    values[:, 1] = np.arange(7) < 3  # constant in both groups of the first assignment
    values[0, 2] = np.nan
    found = permuted_welch(assign(3, 4).first, values)
    for p, chosen in zip(found, itertools.combinations(range(7), 3), strict=True):
        group = np.isin(np.arange(7), chosen)
        assert_allclose(p, welch(values[group], values[~group]).p, rtol=1e-9)
        reference = scipy.stats.ttest_ind(values[group, 3:], values[~group, 3:], equal_var=False)
        assert_allclose(p[3:], reference.pvalue, rtol=1e-8)
    assert found[0, 1] == 2 / math.comb(7, 3)
    assert (found[:, 0] == 1).all()
    assert np.isnan(found[:, 2]).all()
