"""Modal labels against SciPy's mode, against exact fractions where probabilities settle ties, and counts of changes."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from tfaudit.stats import modes
from tfaudit.stats.modes import TIES, count_changed_modes, modal_labels
from tfaudit.stats.permutation import assign


@settings(max_examples=60)
@given(
    arrays(np.uint8, st.tuples(st.integers(3, 7), st.integers(1, 6)), elements=st.integers(0, 4)),
    st.integers(1, 2),
)
def test_changed_modes_equal_scipy_mode(answers, first):
    assignments = assign(first, len(answers) - first).first
    for ties, sign in (("lowest", 1), ("highest", -1)):
        labels = [
            [
                scipy.stats.mode(sign * answers[group].astype(int), axis=0).mode
                for group in (row, ~row)
            ]
            for row in assignments
        ]
        expected = [(one != other).sum() for one, other in labels]
        assert_array_equal(
            count_changed_modes(assignments, answers[..., None], ties=ties), expected
        )


@st.composite
def decimal_votes(draw):
    """Rankings of three classes whose probabilities are tenths: equal sums are frequent, off by a bit in floats."""
    members, examples = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    ranked = np.array(
        [[draw(st.permutations(range(3))) for _ in range(examples)] for _ in range(members)]
    )
    tenths = draw(arrays(np.int64, (members, examples, 3), elements=st.integers(0, 9)))
    return ranked, -np.sort(-tenths, axis=2)


def exact_mode(ranked, tenths):
    """The most frequent class of one example, of equals that of the highest exact sum, of equals the lowest."""
    votes = Counter(ranked[:, 0].tolist())
    most = max(votes.values())
    mass = Counter()
    for classes, shares in zip(ranked.tolist(), tenths.tolist(), strict=True):
        for choice, share in zip(classes, shares, strict=True):
            mass[choice] += Fraction(share, 10)
    return min(
        (choice for choice in votes if votes[choice] == most),
        key=lambda choice: (-mass[choice], choice),
    )


@pytest.mark.slow
@settings(max_examples=200)
@given(decimal_votes(), st.sampled_from([np.float32, np.float64]))
def test_probabilities_settle_ties_as_exact_fractions_do(votes, kind):
    ranked, tenths = votes
    expected = [exact_mode(ranked[:, i], tenths[:, i]) for i in range(ranked.shape[1])]
    likely = (tenths / 10).astype(kind)
    assert_array_equal(modal_labels(ranked, likely, ties="confidence"), expected)


@pytest.mark.slow
@settings(max_examples=200)
@given(decimal_votes(), st.sampled_from(TIES), st.integers(1, 5))
def test_changed_modes_are_those_whose_modal_labels_differ(votes, ties, size):
    ranked, tenths = votes
    size = min(size, len(ranked) - 1)
    first = assign(size, len(ranked) - size).first
    likely = tenths / 10
    labels = [[modal_labels(ranked[g], likely[g], ties=ties) for g in (row, ~row)] for row in first]
    expected = [(one != other).sum() for one, other in labels]
    assert_array_equal(count_changed_modes(first, ranked, likely, ties=ties), expected)


@pytest.mark.parametrize("ties", TIES)
def test_one_member_and_unanimous_members(ties):
    ranked, likely = np.array([[[2, 1], [0, 1]]], np.uint8), np.array([[[0.5, 0.5], [0.5, 0.5]]])
    for members in (1, 3):
        modes = modal_labels(ranked.repeat(members, 0), likely.repeat(members, 0), ties=ties)
        assert modes.tolist() == [2, 0]
        assert modes.dtype == np.uint8


@pytest.mark.parametrize("ties", TIES)
def test_blocks_play_no_part(monkeypatch, rng, ties):
    ranked, likely = rng.integers(0, 3, (8, 300, 1)), rng.integers(0, 4, (8, 300, 1)) / 4
    assignments = assign(4, 4).first
    whole = count_changed_modes(assignments, ranked, likely, ties=ties)
    monkeypatch.setattr(modes, "COUNTS_AT_ONCE", 1000)
    assert_array_equal(count_changed_modes(assignments, ranked, likely, ties=ties), whole)


def test_means_that_differ_by_the_tolerance_are_equal_whatever_the_order_of_the_sum(rng):
    ranked = np.tile(np.repeat([[[0, 1]], [[1, 0]]], 4, axis=0), (1, 50, 1))
    higher = np.round(rng.uniform(0.3, 0.6, (8, 50)) / modes.GRAIN) * modes.GRAIN
    lower = rng.permuted(higher, axis=0) - modes.TOLERANCE
    below_the_grain = rng.uniform(-0.4, 0.4, ranked.shape) * modes.GRAIN
    likely = np.where(ranked == 1, higher[..., None], lower[..., None]) + below_the_grain
    assert_array_equal(modal_labels(ranked, likely, ties="confidence"), 0)
