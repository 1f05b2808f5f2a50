"""The divergence of ranked classes against SciPy's."""

import numpy as np
import pytest
from scipy.stats import entropy

from tests.builders.refusals import assert_refused
from tfaudit.stats.divergence import kl_divergence
from tfaudit.stats.ranking import RankedClasses, rank_scores


def ranked(probabilities, k=6):
    return rank_scores([probabilities], k=k, probabilities=True)


@pytest.fixture
def sides(rng):
    return [rng.dirichlet(np.ones(6), 50) for _ in range(2)]


def test_with_all_classes_it_is_that_of_scipy(sides):
    before, after = (ranked(side) for side in sides)
    assert kl_divergence(before, after) == pytest.approx(
        entropy(*sides, axis=1), rel=1e-4, abs=1e-6
    )


def test_with_some_classes_it_is_that_of_the_merged_ones_and_a_lower_bound(sides):
    before, after = (ranked(side, k=3) for side in sides)
    both = [np.intersect1d(*rows) for rows in zip(before.classes, after.classes, strict=True)]
    merged = [
        [np.append(side[i, shared], 1 - side[i, shared].sum()) for side in sides]
        for i, shared in enumerate(both)
    ]
    divergence = kl_divergence(before, after)
    assert divergence == pytest.approx([entropy(*rows) for rows in merged], rel=1e-4, abs=1e-6)
    assert (divergence <= entropy(*sides, axis=1) + 1e-6).all()


def test_a_probability_of_zero_counts_as_the_smallest():
    before, after = (
        RankedClasses(np.array([[0, 1]]), np.array([p])) for p in ([0.5, 0.5], [1.0, 0.0])
    )
    assert kl_divergence(before, after) == pytest.approx(
        [0.5 * np.log(0.5) + 0.5 * np.log(0.5 / 1e-6)]
    )
    assert kl_divergence(after, after) == [0]


def test_classes_without_probabilities_are_refused():
    bare = RankedClasses(np.array([[0, 1]]))
    assert_refused("predictions: got no probabilities", kl_divergence, bare, bare)
