"""Modal labels, and counts of those that change, against one example after the other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from tfaudit.stats import modes
from tfaudit.stats.modes import count_changed_modes, modal_classes
from tfaudit.stats.permutation import assign


@settings(max_examples=60)
@given(
    arrays(np.uint8, st.tuples(st.integers(3, 7), st.integers(1, 6)), elements=st.integers(0, 4)),
    st.integers(1, 2),
)
def test_changed_modes_are_those_without_a_most_frequent_class_in_common(answers, first):
    assignments = assign(first, len(answers) - first).first

    def modes_of(column):
        counts = np.bincount(column)
        return set(np.flatnonzero(counts == counts.max()))

    expected = [
        sum(modes_of(one).isdisjoint(modes_of(other)) for one, other in zip(*sides, strict=True))
        for sides in ((answers[row].T, answers[~row].T) for row in assignments)
    ]
    assert_array_equal(count_changed_modes(assignments, answers), expected)


@pytest.mark.parametrize("members", [1, 3])
def test_one_member_and_unanimous_members(members):
    modal = modal_classes(np.array([[2, 0]], np.uint8).repeat(members, 0))
    assert modal.first.tolist() == [2, 0]
    assert (modal.first.dtype, bool(modal.ties)) == (np.uint8, False)


def test_blocks_play_no_part(monkeypatch, rng):
    best, assignments = rng.integers(0, 3, (8, 300)), assign(4, 4).first
    whole = count_changed_modes(assignments, best)
    monkeypatch.setattr(modes, "COUNTS_AT_ONCE", 1000)
    assert_array_equal(count_changed_modes(assignments, best), whole)
