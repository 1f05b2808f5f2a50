"""Counted answers against the populations they are of, and scikit-learn's confusion matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from tests.builders.populations import modal_sets, population
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

CROWD = population(1, hurt=[3], empty=[2], noise=2.0)
COUNTED = count_predictions(CROWD)


@settings(max_examples=30)
@given(members=st.integers(1, 7), classes=st.integers(2, 6), seed=st.integers(0, 999))
def test_modes_are_those_of_the_population(members, classes, seed):
    rng = np.random.default_rng(seed)
    crowd = Predictions.from_top1(
        rng.integers(0, classes, 40), rng.integers(0, classes, (members, 40))
    )
    found = count_predictions(crowd)
    np.testing.assert_array_equal(found.mode(), crowd.modal())
    np.testing.assert_allclose(found.share(), (crowd.top1 == crowd.modal()).mean(0))
    assert [set(tie) for tie in _modes(found.modal_classes(), 40)] == modal_sets(crowd)


def _modes(modes, examples):
    ties = modes.ties
    return [
        ties.classes[ties.rows == i] if (ties.rows == i).any() else [modes.first[i]]
        for i in range(examples)
    ]


def test_confusion_is_that_of_scikit_learn_summed_over_members():
    matrix = sum(confusion_matrix(CROWD.labels, answers, labels=range(5)) for answers in CROWD.top1)
    for label in range(5):
        found = COUNTED.confusion(label)
        counts = np.zeros(5, int)
        counts[found["answer"]] = found["count"]
        np.testing.assert_array_equal(counts, matrix[label])
        assert found["count"].is_monotonic_decreasing
        assert len(found) == 0 or found["share"].sum() == pytest.approx(1)


def test_frame_holds_every_vote_once():
    frame = COUNTED.frame()
    assert frame["votes"].sum() == CROWD.top1.size
    assert not frame.duplicated(["example", "answer"]).any()
    right = [
        (label in modes) / len(modes)
        for label, modes in zip(CROWD.labels, modal_sets(CROWD), strict=True)
    ]
    assert COUNTED.summary()["mode_accuracy"] == pytest.approx(np.mean(right))
    assert COUNTED.summary()["unanimous"] == (CROWD.top1 == CROWD.top1[0]).all(0).sum()


@pytest.mark.parametrize("position", [-1, 200])
def test_positions_and_classes_that_are_not_there(position):
    with pytest.raises(InputError, match=f"position: got {position}, expected 0 to 199"):
        COUNTED.image(position)
    with pytest.raises(InputError, match=f"label: got {position}, expected 0 to 4"):
        COUNTED.confusion(position)


def test_votes_for_an_example_are_counted():
    for position in (0, 17, 199):
        found = COUNTED.image(position)
        votes = np.bincount(CROWD.top1[:, position], minlength=5)
        assert dict(zip(found["answer"], found["votes"], strict=True)) == {
            answer: count for answer, count in enumerate(votes) if count
        }
        assert found["votes"].is_monotonic_decreasing
        assert found["share"].sum() == pytest.approx(1)
