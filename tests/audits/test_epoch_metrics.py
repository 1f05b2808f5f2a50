"""The metrics of one epoch against scikit-learn, the papers' example and degenerate cases."""

import numpy as np
import pytest
from sklearn.metrics import recall_score

from tfaudit.audits.classes.epoch_metrics import class_recall, epoch_metrics, intensification


@pytest.fixture
def answers():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 400)
    noisy = [
        np.where(rng.random(400) < share, rng.integers(0, 5, 400), labels) for share in (0.2, 0.5)
    ]
    return labels, *noisy


def test_recall_agrees_with_scikit_learn(answers):
    labels, before, _ = answers
    recall, support = class_recall(labels, before, 5)
    np.testing.assert_allclose(recall, recall_score(labels, before, average=None))
    np.testing.assert_array_equal(support, [(labels == c).sum() for c in range(5)])
    assert epoch_metrics(labels, before) == {"worst_class_recall": recall.min()}


def test_flips_and_slope_by_definition(answers):
    labels, before, after = answers
    metrics = epoch_metrics(labels, after, before)
    pairs = list(zip(labels, before, after, strict=True))
    assert metrics["flips"] == sum(b != a for _, b, a in pairs)
    assert metrics["negative_flips"] == sum(y == b != a for y, b, a in pairs)
    balances = []
    for predicted in (before, after):
        accuracy = (predicted == labels).mean()
        balances.append((recall_score(labels, predicted, average=None) - accuracy) / accuracy)
    (slope,), *_ = np.linalg.lstsq(balances[0][:, None], balances[1], rcond=None)
    assert metrics["intensification"] == pytest.approx(slope)


@pytest.mark.parametrize(
    "baseline", [[0, 0, 1, 1], [1, 1, 0, 0]], ids=["no spread", "nothing right"]
)
def test_undefined_slopes_are_nan(baseline):
    labels = np.array([0, 0, 1, 1])
    assert np.isnan(intensification(labels, np.array([0, 1, 1, 1]), np.array(baseline)))
