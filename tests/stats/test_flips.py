"""Flips of all pairs of members."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tfaudit.stats.changes import group_changes, mean_change
from tfaudit.stats.flips import flips
from tfaudit.stats.ties import BestClasses, Ties


@pytest.mark.parametrize("paired", [True, False])
def test_flips_are_differences_of_all_pairs_and_ties_differ_by_what_they_do_not_share(paired, rng):
    classes = rng.integers(3, size=(4, 500))
    sides = classes[:2], classes[2:]
    before, after = ([BestClasses(row, Ties.none()) for row in side] for side in sides)
    differ = np.array([[one != other for other in sides[1]] for one in sides[0]])
    change = flips(before, after, paired=paired)
    if paired:
        expected = mean_change(0.0 * sides[0], differ[[0, 1], [0, 1]] * 1.0, paired=True)
    else:  # the linear part of each side is its mean over the other
        expected = group_changes(
            -differ.mean(1), differ.mean(0), np.zeros(500, int), 1, paired=False
        ).absolute
        assert change.of_images[0] == pytest.approx(differ.mean((0, 1)).var(ddof=1) / 500)
        expected = dataclasses.replace(change, of_members=expected.of_members)
    assert change.value[0] == pytest.approx(
        differ[[0, 1], [0, 1]].mean() if paired else differ.mean()
    )
    assert_allclose(change.of_members, expected.of_members)
    tie = BestClasses(np.array([0, 0]), Ties(np.array([0, 0]), np.array([0, 1])))
    other = BestClasses(np.array([1, 0]), Ties.none())
    assert flips([tie, tie], [other, tie], paired=paired).value[0] == pytest.approx(0.125)
