"""Predictions that differ between members, counted one pair after the other."""

import itertools

import numpy as np
import pytest

from tests.builders.populations import population
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.flips.retrained_twins import changed_predictions, retrained_twins
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

BASELINE = population(1, members=4)


def some(members):
    return Predictions(
        BASELINE.labels, BASELINE.ranked[list(members)], class_names=BASELINE.class_names
    )


def test_every_pair_of_members_is_counted():
    frame = retrained_twins(BASELINE).frame()
    pairs = list(itertools.combinations(range(4), 2))
    assert list(zip(frame["first"], frame["second"], strict=True)) == [
        (str(i), str(j)) for i, j in pairs
    ]
    assert list(frame["changed"]) == [
        np.sum(BASELINE.top1[i] != BASELINE.top1[j]) for i, j in pairs
    ]
    np.testing.assert_allclose(frame["share"], frame["changed"] / 200)


def test_halves_are_populations_compared_by_their_modal_labels():
    """Six ways to choose two of four members, each half against the other."""
    counts = [
        len(exemplars(some(half), some(set(range(4)) - set(half))).index)
        for half in itertools.combinations(range(4), 2)
    ]
    twins = retrained_twins(BASELINE)
    assert list(twins.halves) == counts
    summary = twins.summary()
    assert summary["modes_of_halves"] == np.mean(counts)
    assert (summary["modes_of_halves_low"], summary["modes_of_halves_high"]) == (
        min(counts),
        max(counts),
    )


def test_two_members_have_one_pair_and_no_halves():
    twins = retrained_twins(population(1, members=2))
    summary = twins.summary()
    assert (summary["pairs"], summary["changed"]) == (1, summary["changed_low"])
    assert np.isnan(summary["modes_of_halves"])
    assert twins.chart().to_dict()["mark"]["type"] == "circle"


def test_models_that_agree_throughout_change_nothing():
    same = Predictions.from_top1([0, 1], [[0, 1]] * 5)
    assert retrained_twins(same).summary()["changed_high"] == 0
    assert retrained_twins(same).summary()["modes_of_halves_high"] == 0


def test_the_order_of_members_and_names_of_classes_play_no_part(rng):
    renamed = Predictions(BASELINE.labels, rng.permutation(5)[BASELINE.ranked[::-1]])
    assert sorted(retrained_twins(renamed).changed) == sorted(retrained_twins(BASELINE).changed)


def test_a_single_member_has_no_twin():
    with pytest.raises(InputError, match="baseline: got 1, expected 2 members or more"):
        retrained_twins(population(1, members=1))


def test_members_are_compared_with_those_they_are_made_from():
    after = population(2, members=4)
    every = [np.sum(one != other) for one in BASELINE.top1 for other in after.top1]
    assert list(changed_predictions(BASELINE, after)) == every
    own = [np.sum(BASELINE.top1[i] != after.top1[i]) for i in range(4)]
    assert list(changed_predictions(BASELINE, after, paired=True)) == own
    children = Predictions(after.labels, after.ranked[::-1], members="abcd", parents=(3, 2, 1, 0))
    assert sorted(changed_predictions(BASELINE, children)) == sorted(own)
    assert len(changed_predictions(population(1, members=1), None)) == 0
