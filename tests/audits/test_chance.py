"""Permutation nulls against naive loops over the audits themselves; calibration of their p-values; their edges."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.builders.populations import population
from tfaudit.audits.chance.chance import chance, count_verdict
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.stats.permutation import CountNull, assign

BEFORE, AFTER = population(1), population(2, hurt=[3])


def pooled(*populations):
    """All members as one population, numbered anew."""
    return Predictions(
        populations[0].labels,
        np.concatenate([each.ranked for each in populations]),
        np.concatenate([each.probabilities for each in populations]),
    )


def some(everyone, members):
    members = list(members)
    return Predictions(everyone.labels, everyone.ranked[members], everyone.probabilities[members])


def naive(before, after, assignments):
    """Counts by the audits themselves, one assignment after the other."""
    everyone = pooled(before, after)
    pies, classes = [], []
    for first in assignments.first:
        groups = [some(everyone, np.flatnonzero(group)) for group in (first, ~first)]
        pies.append(len(exemplars(*groups).index))
        classes.append(int((class_impact(*groups).published.p <= 0.05).sum()))
    return np.array(pies), np.array(classes)


@pytest.mark.parametrize("members", [(3, 3), (2, 5), (4, 3)])
def test_equals_a_loop_over_the_audits(members):
    before = population(1, members=members[0], noise=3.0, classes=7)
    after = population(2, members=members[1], noise=3.0, classes=7, hurt=[3])
    found = chance(before, after, permutations=12, seed=5)
    assignments = assign(*members, permutations=12, seed=5)
    drawn = slice(0 if assignments.exact else 1, None)
    pies, classes = naive(before, after, assignments)
    assert found.pies.observed == pies[0]
    np.testing.assert_array_equal(found.pies.counts, pies[drawn])
    assert found.classes.observed == classes[0]
    np.testing.assert_array_equal(found.classes.counts, classes[drawn])


def test_exact_equals_all_divisions():
    before, after = population(1, members=3), population(2, members=2, hurt=[3])
    everyone = pooled(before, after)
    counts = [
        len(
            exemplars(
                some(everyone, first), some(everyone, sorted(set(range(5)) - set(first)))
            ).index
        )
        for first in itertools.combinations(range(5), 3)
    ]
    null = chance(before, after).pies
    assert null.exact
    assert null.permutations == math.comb(5, 3) == len(counts)
    assert sorted(null.counts) == sorted(counts)
    assert null.p == np.mean(np.array(counts) >= null.observed)
    assert null.mean == pytest.approx(np.mean(counts))


def test_pairs_swap_within_themselves():
    before = population(1, members=3)
    after = Predictions(
        before.labels,
        population(2, members=3, hurt=[3]).ranked[[2, 0, 1]],
        members=(2, 0, 1),
        probabilities=None,
    )
    in_order = after.ranked[[1, 2, 0]]
    counts = []
    for swaps in itertools.product((False, True), repeat=3):
        swapped = np.array(swaps)[:, None, None]
        groups = (
            np.where(swapped, in_order, before.ranked),
            np.where(swapped, before.ranked, in_order),
        )
        counts.append(
            len(exemplars(*(Predictions(before.labels, group) for group in groups)).index)
        )
    null = chance(before, after, paired=True).pies
    assert null.permutations == 8
    assert sorted(null.counts) == sorted(counts)
    assert null.observed == counts[0]


def test_pairs_are_taken_from_the_parents_unless_told_otherwise():
    names = {"members": "defabc", "parents": (3, 4, 5, 0, 1, 2)}
    after = Predictions(BEFORE.labels, AFTER.ranked[[3, 4, 5, 0, 1, 2]], **names)
    by_parents, by_name = chance(BEFORE, after), chance(BEFORE, AFTER, paired=True)
    assert by_parents.paired
    assert by_parents.pies.permutations == 64
    np.testing.assert_array_equal(np.sort(by_parents.pies.counts), np.sort(by_name.pies.counts))
    assert not chance(BEFORE, after, paired=False).paired
    twice = Predictions(BEFORE.labels, AFTER.ranked, parents=(0, 0, 1, 2, 3, 4))
    with pytest.raises(InputError, match="paired: got members made from 0, 0, 1"):
        chance(BEFORE, twice)


def null(observed, others, smallest_p=0.01):
    """A null distribution over other counts, in which the observed one ranks as it does."""
    counts = np.array(others)
    p = (1 + (counts >= observed).sum()) / (1 + len(counts))
    low, high = np.quantile(counts, (0.025, 0.975), method="inverted_cdf")
    return CountNull(observed, counts.mean(), low, high, p, len(counts), False, smallest_p, counts)


@pytest.mark.parametrize(
    ("count", "verdict"),
    [
        (null(200, range(50, 150)), "more than expected by chance"),
        (null(144, range(50, 150)), "cannot tell"),  # p = .07, 45 % more than expected
        (
            null(99, range(50, 150)),
            "cannot tell",
        ),  # as expected, but an excess of 47 is not ruled out
        (null(40, range(50, 150)), "consistent with chance"),
        (null(40, range(50, 150), smallest_p=0.1), "cannot tell"),
        (null(7, [7] * 99), "consistent with chance"),
    ],
)
def test_what_may_be_said_of_a_count(count, verdict):
    assert count_verdict(count, 0.05) == verdict


def test_a_seed_gives_the_same_bits():
    one, same, other = (chance(BEFORE, AFTER, permutations=50, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.pies.counts, same.pies.counts)
    np.testing.assert_array_equal(one.classes.counts, same.classes.counts)
    assert not np.array_equal(one.pies.counts, other.pies.counts)


def test_single_members():
    one, other = population(1, members=1), population(2, members=1)
    found = chance(one, other)
    assert found.classes is None
    assert found.pies.p == 1
    assert found.summary()["significant_p"] is None
    assert any("p cannot be below 1," in note for note in found.notes)
    assert list(found.frame()["count"]) == ["PIEs"]
    assert chance(one, population(2, members=4)).pies.smallest_p == 0.2


@pytest.mark.parametrize(
    ("after", "options", "message"),
    [
        (AFTER, {"permutations": 0}, "permutations: got 0, expected a whole number of 1 or more"),
        (
            population(2, members=3),
            {"paired": True},
            "paired: got members made from 0, 1, 2, expected one made from each of the baseline's, 0, 1, 2, 3, 4 and 1",
        ),
    ],
)
def test_bad_input(after, options, message):
    with pytest.raises(InputError, match=message):
        chance(BEFORE, after, **options)


@pytest.mark.parametrize("members", [(3, 3), (7, 7)])
def test_p_is_uniform_under_the_null(members):
    """A p-value is valid if P(p <= x) <= x; at the values that p can take and little discreteness, about equal."""
    rng = np.random.default_rng(2)

    def trained(count):
        return Predictions.from_top1(
            np.zeros(150, int), (rng.random((count, 150)) < ease).astype(int)
        )

    found = []
    for _ in range(300):
        ease = rng.random(150)
        found.append(chance(trained(members[0]), trained(members[1]), permutations=99).pies.p)
    for level in (0.1, 0.25, 0.5, 0.75):
        assert np.mean(np.array(found) <= level) <= level + 3 * np.sqrt(level * (1 - level) / 300)
    if members == (7, 7):  # 100 values and few ties: close to continuous
        assert stats.kstest(found, "uniform").statistic < 0.1


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_the_observed_count_is_that_of_exemplars(seed, first, second):
    rng = np.random.default_rng(seed)
    populations = [
        Predictions.from_top1(np.zeros(20, int), rng.integers(3, size=(members, 20)))
        for members in (first, second)
    ]
    found = chance(*populations, permutations=5)
    assert found.pies.observed == len(exemplars(*populations).index)
