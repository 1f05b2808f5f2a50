"""Limits of detectors, which judge one of two classes: F1, sensitivity, specificity, ROC area, average precision."""

import numpy as np
import pytest

from tfaudit.audits.gate.checks import Checks
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import OF_TWO_CLASSES, Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

LIMITS = ("f1_drop_pp", *OF_TWO_CLASSES)


def scored(noise, members=1, seed=0, names=("no", "yes")):
    """A detector, and one made from it whose scores are blurred: 2,000 positive images among 10,000."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(10_000) < 2000).astype(int)
    image = 3 * labels - 1.5 + rng.normal(size=labels.size)
    seen = image + rng.normal(0, 0.05, (members, labels.size))
    blurred = seen + rng.normal(0, noise, seen.shape)
    return [
        Predictions.from_scores(labels, side[..., None], scores_are="logits", class_names=names)
        for side in (seen, blurred)
    ]


def checked(sides, name, limit=3, positive="yes"):
    (check,) = gate(*sides, Limits(**{name: limit}, positive=positive)).checks
    return check


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("name", LIMITS)
def test_a_blurred_detector_fails_and_a_faithful_one_passes(name, members):
    fails, passes = (checked(scored(noise, members), name) for noise in (2, 0.02))
    assert (fails.outcome, passes.outcome) == ("fail", "pass")
    assert fails.low <= fails.value <= fails.high
    assert "loses" in fails.reason


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_not_known_is_asked_for(name):
    sides = scored(0.02)
    labels_alone = [
        Predictions.from_top1(side.labels, side.top1, class_names=["no", "yes"]) for side in sides
    ]
    check = checked(labels_alone, name)
    needs_scores = name in ("auroc_drop_pp", "average_precision_drop_pp")
    assert (check.outcome == "cannot judge") == needs_scores
    assert ("Files of scores" in check.sentence) == needs_scores
    check = checked(sides, name, positive=None)
    needs_positive = name not in ("f1_drop_pp", "auroc_drop_pp")
    assert (check.outcome == "cannot judge") == needs_positive
    assert check.sentence.endswith("`--positive` names it: no or yes.") == needs_positive
    three = [
        Predictions.from_top1(side.labels, side.top1, class_names=["a", "no", "yes"])
        for side in sides
    ]
    assert ("and there are 3." in checked(three, name).reason) == (name in OF_TWO_CLASSES)


def test_a_threshold_moves_sensitivity_and_specificity_but_no_ranking():
    sides = scored(2)
    moved = [side.at_threshold(0.1, "yes") for side in sides]
    for side, before in zip(moved, sides, strict=True):
        yes = before.probabilities[0].max(1)
        yes = np.where(before.top1[0] == 1, yes, 1 - yes)
        assert (side.top1[0] == (yes >= 0.1)).all()
        assert side.log_odds(0) == pytest.approx(before.log_odds(0))
    for name in OF_TWO_CLASSES:
        values = [checked(each, name).value for each in (sides, moved)]
        of_scores = name in ("auroc_drop_pp", "average_precision_drop_pp")
        assert (values[0] == pytest.approx(values[1])) == of_scores


@pytest.mark.parametrize(
    ("threshold", "positive", "message"),
    [
        (0, "yes", "threshold: got 0, expected a probability in"),
        (0.3, None, "positive: got None, expected 'no' or 'yes'"),
    ],
)
def test_thresholds_that_are_none(threshold, positive, message):
    with pytest.raises(InputError, match=message):
        scored(1)[0].at_threshold(threshold, positive)


def test_a_threshold_needs_scores_of_two_classes():
    with pytest.raises(InputError, match="scores: got none, expected scores of both classes"):
        Predictions.from_top1([0, 1], [0, 1]).at_threshold(0.3, "1")
    with pytest.raises(InputError, match="class_names: got 3, expected two"):
        Predictions.from_scores([0, 1], np.eye(3)[:2]).at_threshold(0.3, "1")


def test_clusters_widen_the_intervals():
    sides = scored(0.5)
    wide = [side.clustered(np.arange(10_000) // 10) for side in sides]
    few = [side.clustered(np.arange(10_000) % 10) for side in sides]
    for name in LIMITS:
        assert checked(wide, name, 50).outcome == "pass"
        assert checked(few, name, 50).outcome == "cannot judge"
        assert "a pass needs 20 clusters" in checked(few, name, 50).reason


@pytest.mark.parametrize("name", OF_TWO_CLASSES)
def test_a_class_without_images_cannot_be_judged(name):
    scores = np.linspace(0.01, 0.99, 50)
    sides = [
        Predictions.from_scores(np.zeros(50, int), each, class_names=["no", "yes"])
        for each in (scores, scores**2)
    ]
    (check,) = Checks(measure(*sides), Limits(**{name: 90}, positive="yes")).all()
    assert check.outcome == ("pass" if name == "specificity_drop_pp" else "cannot judge")
    assert ("a class has no test examples" in check.reason) == (check.outcome == "cannot judge")
