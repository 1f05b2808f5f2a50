"""Detectors of a rare class: one image in a hundred is positive."""

import numpy as np
import pytest

from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.predictions import Predictions

POSITIVES, IMAGES = 200, 20_000


def detector(difficulty, labels, sensitivity, specificity):
    """A model that misses the most difficult positives, and takes the most difficult negatives for positives."""
    right = difficulty < np.where(labels, sensitivity, specificity)
    return Predictions.from_top1(
        labels, np.where(right, labels, 1 - labels), class_names=["no", "yes"]
    )


def study(seed, specificity):
    """A detector with specificity .995, and one made from it that errs on nearly the same images."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(IMAGES) < POSITIVES).astype(int)
    difficulty = rng.random(IMAGES)
    moved = np.where(rng.random(IMAGES) < 0.02, rng.random(IMAGES), difficulty)
    return detector(difficulty, labels, 0.9, 0.995), detector(moved, labels, 0.9, specificity)


def test_a_detector_whose_alarms_are_false_never_passes():
    """Precision falls from .64 to .44, while accuracy falls by .6 points and recall not at all."""
    for seed in range(30):
        verdict = gate(*study(seed, 0.9885), Limits(precision_drop_pp=10))
        assert verdict.outcome == "fail"
        (check,) = verdict.checks
        assert check.subject == "yes"
        assert check.reason.startswith("Precision of yes loses ")


def test_two_classes_limit_the_precision_of_each_by_default():
    verdict = gate(*study(0, 0.9885))
    outcomes = dict(zip(verdict.frame()["check"], verdict.frame()["outcome"], strict=True))
    assert verdict.gravest.name == "precision_drop_pp"
    assert outcomes == {
        "precision_drop_pp": "fail",
        "overall_drop_pp": "pass",
        "worst_class_drop_pp": "pass",
    }
    assert Limits().for_classes(3).precision_drop_pp is None


@pytest.mark.parametrize(("limit", "outcome"), [(1, "cannot judge"), (10, "pass")])
def test_a_detector_that_loses_nothing(limit, outcome):
    (check,) = gate(*study(0, 0.995), Limits(precision_drop_pp=limit)).checks
    assert check.outcome == outcome
    assert (check.images > IMAGES) == (outcome == "cannot judge")


def test_precision_of_a_class_that_is_never_predicted_cannot_be_judged():
    labels = np.repeat([0, 1], 100)
    sides = (Predictions.from_top1(labels, answers) for answers in (labels, 0 * labels))
    (check,) = gate(*sides, Limits(precision_drop_pp=90)).checks
    assert (check.outcome, check.subject) == ("cannot judge", "1")
    assert check.reason == (
        "The precision of class 1 is unknown: the baseline or the compressed model never predicts this class."
    )
