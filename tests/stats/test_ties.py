"""Exact ties against settling them at random many times, and against counting one prediction after the other."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from tfaudit.stats.modes import count_changed_modes, modal_classes
from tfaudit.stats.permutation import assign
from tfaudit.stats.ties import BestClasses, Ties

SCORES = arrays(
    np.int8, st.tuples(st.integers(1, 12), st.integers(2, 6)), elements=st.integers(-2, 2)
)


def tie_sets(scores):
    """The classes of the largest score of every row."""
    return [set(np.flatnonzero(row == row.max()).tolist()) for row in scores]


def best_of(scores):
    return BestClasses(scores.argmax(1), Ties.of_scores(scores))


@given(SCORES)
def test_ties_are_the_rows_with_several_best_classes(scores):
    ties = Ties.of_scores(scores)
    for i, best in enumerate(tie_sets(scores)):
        assert ties.classes[ties.rows == i].tolist() == (sorted(best) if len(best) > 1 else [])
    assert_array_equal(ties.counts(len(scores)), [len(best) for best in tie_sets(scores)])


@given(SCORES, st.data())
def test_rows_are_taken_in_any_order(scores, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(scores) - 1), max_size=8)), int)
    taken, expected = Ties.of_scores(scores).take(rows), Ties.of_scores(scores[rows])
    assert_array_equal(taken.rows, expected.rows)
    assert_array_equal(taken.classes, expected.classes)


@given(SCORES, st.integers(0, 2**32 - 1))
def test_agreement_is_that_of_ties_that_are_settled_alike(scores, seed):
    rng = np.random.default_rng(seed)
    other = rng.permuted(scores, axis=1)
    expected = [
        Fraction(len(one & two), max(len(one), len(two)))
        for one, two in zip(*map(tie_sets, (scores, other)), strict=True)
    ]
    assert_allclose(best_of(scores).agreement(best_of(other)), np.array(expected, float))
    labels = rng.integers(0, scores.shape[1], len(scores))
    chance = [
        (label in best) / len(best) for label, best in zip(labels, tie_sets(scores), strict=True)
    ]
    assert_allclose(best_of(scores).among_best(labels), chance)


@settings(max_examples=60)
@given(
    arrays(
        np.int8,
        st.tuples(st.integers(2, 5), st.integers(1, 5), st.integers(2, 4)),
        elements=st.integers(0, 2),
    ),
    st.integers(1, 4),
)
def test_modal_classes_are_those_of_exact_votes(scores, size):
    """Votes as fractions, one example and one group after the other."""
    first, tied = scores.argmax(2), Ties.of_scores(scores.reshape(-1, scores.shape[2]))
    votes = [
        [{c: Fraction(1, len(best)) for c in best} for best in tie_sets(member)]
        for member in scores
    ]

    def leaders(group, example):
        total = [
            sum(votes[member][example].get(c, 0) for member in np.flatnonzero(group))
            for c in range(4)
        ]
        return {c for c in range(4) if total[c] == max(total)}

    modes, everyone = modal_classes(first, tied), np.ones(len(scores), bool)
    for i in range(scores.shape[1]):
        found = set(modes.ties.classes[modes.ties.rows == i].tolist()) or {int(modes.first[i])}
        assert found == leaders(everyone, i)
    size = min(size, len(scores) - 1)
    groups = assign(size, len(scores) - size).first
    expected = [
        sum(leaders(g, i).isdisjoint(leaders(~g, i)) for i in range(scores.shape[1]))
        for g in groups
    ]
    assert_array_equal(count_changed_modes(groups, first, tied), expected)


def test_more_than_sixteen_classes_tie():
    scores = np.zeros((3, 2, 40), np.int8)
    scores[0, 1, 7] = 1
    modes = modal_classes(scores.argmax(2), Ties.of_scores(scores.reshape(-1, 40)))
    assert (modes.ties.rows == 0).sum() == 40
    assert modes.first[1] == 7
    assert (modes.ties.rows == 1).sum() == 0
