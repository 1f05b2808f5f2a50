"""Calibration errors and scores of probabilities, against scikit-learn and simulation."""

import numpy as np
import pytest
from sklearn import calibration as sklearn_calibration
from sklearn import metrics

from tfaudit.errors import InputError
from tfaudit.stats.calibration import (
    brier_scores,
    calibrated_error,
    calibration_gaps,
    log_losses,
    mass_bins,
)


def predictions(rng, count=2000, *, ties=False):
    """Confidences, and whether predictions are right, more rarely than the confidence says."""
    confidence = rng.beta(4, 1, count)
    if ties:
        confidence = np.round(confidence, 1)
    return confidence, rng.random(count) < confidence**1.5


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("bins", [1, 4, 15])
def test_the_error_is_that_of_scikit_learns_curve(rng, bins, ties):
    confidence, right = predictions(rng, ties=ties)
    accuracy, mean = sklearn_calibration.calibration_curve(
        right, confidence, n_bins=bins, strategy="quantile"
    )
    sizes = np.bincount(mass_bins(confidence, bins))
    sizes = sizes[sizes > 0]
    expected = np.average(np.abs(accuracy - mean), weights=sizes)
    assert calibration_gaps(confidence, right, mass_bins(confidence, bins)).mean() == pytest.approx(
        expected
    )


def test_the_error_by_hand(rng):
    confidence, right = predictions(rng, 900)
    order = np.argsort(confidence)
    expected = sum(
        len(part) / 900 * abs(right[part].mean() - confidence[part].mean())
        for part in np.array_split(order, 15)
    )
    assert calibration_gaps(confidence, right, mass_bins(confidence)).mean() == pytest.approx(
        expected, rel=1e-9
    )
    assert set(np.bincount(mass_bins(confidence))) == {60}


def test_the_order_of_predictions_does_not_matter_and_a_perfect_model_has_no_error(rng):
    confidence, right = predictions(rng, ties=True)
    order = rng.permutation(len(right))
    again = calibration_gaps(confidence[order], right[order], mass_bins(confidence[order])).mean()
    assert again == pytest.approx(calibration_gaps(confidence, right, mass_bins(confidence)).mean())
    assert not calibration_gaps(np.ones(10), np.ones(10, bool), np.zeros(10, int)).any()
    assert calibration_gaps(np.ones(10), np.zeros(10, bool), np.zeros(10, int)).mean() == 1


@pytest.mark.slow
def test_what_finite_data_give_a_calibrated_model(rng):
    confidence = rng.beta(4, 1, 3000)
    bin_of = mass_bins(confidence)
    drawn = [
        calibration_gaps(confidence, rng.random(3000) < confidence, bin_of).mean()
        for _ in range(400)
    ]
    assert calibrated_error(confidence, bin_of) == pytest.approx(np.mean(drawn), rel=0.03)


def test_scores_are_those_of_scikit_learn(rng):
    scores = rng.dirichlet(np.ones(7), 500).astype(np.float32)
    labels = rng.integers(7, size=500)
    order = np.argsort(-scores, 1)
    ranked = np.take_along_axis(scores, order, 1).astype(float)
    hot = np.eye(7)[labels]
    expected = np.square(scores.astype(float) - hot).sum(1).mean()
    assert brier_scores(ranked, order, labels).mean() == pytest.approx(expected)
    one = [metrics.brier_score_loss(labels == c, scores[:, c].clip(0, 1)) for c in range(7)]
    assert brier_scores(ranked, order, labels).mean() == pytest.approx(sum(one), rel=1e-5)
    rows = scores / scores.sum(1, keepdims=True)
    assert log_losses(ranked, order, labels).mean() == pytest.approx(
        metrics.log_loss(labels, rows), rel=1e-5
    )


def test_a_probability_of_zero_has_a_finite_loss():
    assert log_losses(np.array([[1.0, 0.0]]), np.array([[0, 1]]), np.array([1]))[
        0
    ] == pytest.approx(15.94, abs=0.01)
    assert brier_scores(np.array([[1.0, 0.0]]), np.array([[0, 1]]), np.array([1]))[0] == 2


@pytest.mark.parametrize(
    ("confidence", "bins"), [(np.zeros((2, 2)), 5), (np.zeros(0), 5), (np.zeros(3), 0)]
)
def test_bad_input(confidence, bins):
    with pytest.raises(InputError, match=r"got .*, expected"):
        mass_bins(confidence, bins)
