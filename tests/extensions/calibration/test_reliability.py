"""Calibration errors and scores of probabilities, against scikit-learn and simulation."""

import numpy as np
import pytest
from sklearn import calibration as sklearn_calibration
from sklearn import metrics

from tests.builders.refusals import assert_refused
from tfaudit.extensions.calibration.reliability import (
    brier_scores,
    log_losses,
    mass_bins,
    squared_gaps,
)


def predictions(rng, count=2000, *, ties=False):
    """Confidences, and whether predictions are right, more rarely than the confidence says."""
    confidence = rng.beta(4, 1, count)
    if ties:
        confidence = np.round(confidence, 1)
    return confidence, rng.random(count) < confidence**1.5


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("bins", [1, 4, 15])
def test_the_bins_are_those_of_scikit_learns_curve_and_errors_those_of_the_formula(rng, bins, ties):
    confidence, right = predictions(rng, ties=ties)
    accuracy, mean = sklearn_calibration.calibration_curve(
        right, confidence, n_bins=bins, strategy="quantile"
    )
    bin_of = mass_bins(confidence, bins)
    parts = [right[bin_of == b] - confidence[bin_of == b] for b in np.unique(bin_of)]
    assert [part.mean() for part in parts] == pytest.approx(accuracy - mean)
    bias = [part.var(ddof=1) / len(part) for part in parts]
    sizes = [*map(len, parts)]
    expected = np.average((accuracy - mean) ** 2 - bias, weights=sizes)
    found = squared_gaps(confidence, right, bin_of)
    assert found.mean() == pytest.approx(expected)
    order = rng.permutation(len(right))
    again = squared_gaps(confidence[order], right[order], mass_bins(confidence[order], bins))
    assert again == pytest.approx(found[order])


def test_a_perfect_model_has_no_error():
    assert not squared_gaps(np.ones(10), np.ones(10, bool), np.zeros(10, int)).any()
    assert squared_gaps(np.ones(10), np.zeros(10, bool), np.zeros(10, int)).mean() == 1


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
    assert_refused(r"got .*, expected", mass_bins, confidence, bins)
