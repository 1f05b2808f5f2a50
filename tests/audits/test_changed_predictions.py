"""Predictions that differ between members, counted one pair after the other."""

import numpy as np

from tests.builders.populations import population
from tfaudit.audits.flips.changed_predictions import changed_predictions
from tfaudit.predictions import Predictions

BASELINE = population(1, members=4)


def test_members_are_compared_with_those_they_are_made_from():
    after = population(2, members=4)
    every = [np.sum(one != other) for one in BASELINE.top1 for other in after.top1]
    assert list(changed_predictions(BASELINE, after)) == every
    own = [np.sum(BASELINE.top1[i] != after.top1[i]) for i in range(4)]
    assert list(changed_predictions(BASELINE, after, paired=True)) == own
    children = Predictions(after.labels, after.ranked[::-1], members="abcd", parents=(3, 2, 1, 0))
    assert sorted(changed_predictions(BASELINE, children)) == sorted(own)
    assert len(changed_predictions(population(1, members=1), None)) == 0
