"""How well confidence matches accuracy: bins of equal mass, the squared calibration error, scores of probabilities."""

import numpy as np

from tfaudit.errors import InputError, require_least

BINS = 15
"""Number of bins of the calibration error, with equal numbers of predictions."""

_LEAST_PROBABILITY = float(np.finfo(np.float32).eps)  # a probability stored as 0 has no logarithm


def mass_bins(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Return the bin of each prediction, `(N,)` integers from 0 to bins - 1, the least confident in bin 0.

    The bins are those of scikit-learn's `calibration_curve(strategy="quantile")`: equal confidences share a bin, so
    some bins hold more predictions than others, or none.

    Args:
        confidence: `(N,)` probabilities.
        bins: number of bins, 15 by default.

    Example:
        >>> mass_bins(np.array([0.9, 0.5, 0.6, 0.9]), bins=2)
        array([1, 0, 0, 1])
    """
    require_least(1, bins=bins)
    if np.ndim(confidence) != 1 or not np.size(confidence):
        raise InputError(
            "confidence", f"shape {np.shape(confidence)}", "one number or more per prediction, (N,)"
        )
    edges = np.percentile(confidence, np.linspace(0, 100, bins + 1))
    return np.searchsorted(edges[1:-1], confidence)


def squared_gaps(confidence: np.ndarray, correct: np.ndarray, bin_of: np.ndarray) -> np.ndarray:
    """Return `(N,)` numbers whose mean is the squared calibration error without its bias, with the same variance.

    The error is the mean over predictions of (accuracy - confidence)^2 in their bin, minus the bias due to finite bins
    [Ku]. For a calibrated model it is 0 on average and may be negative.

    Args:
        confidence: `(N,)` probabilities of the predicted classes.
        correct: `(N,)` booleans, whether the predictions are right.
        bin_of: `(N,)` integers, the bins of the predictions: `mass_bins`.

    Example:
        >>> confidence, correct = np.repeat([0.5, 0.9], 100), np.arange(200) % 2 == 0
        >>> squared_gaps(confidence, correct, mass_bins(confidence, 2)).mean().round(4)
        np.float64(0.0775)
    """
    gap = correct - confidence
    size = np.bincount(bin_of)
    mean = np.bincount(bin_of, gap) / np.maximum(size, 1)
    chance = np.bincount(bin_of, np.square(gap - mean[bin_of])) / np.maximum(size * (size - 1), 1)
    return 2 * mean[bin_of] * gap - (mean**2 + chance)[bin_of]


def brier_scores(probabilities: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the Brier score of each prediction, `(N,)` in [0, 2]: the squared distance to the true class.

    Args:
        probabilities: `(N, C)` probabilities of all classes.
        classes: `(N, C)` integers, the class of each probability.
        labels: `(N,)` true classes.

    Example:
        >>> brier_scores(np.array([[0.75, 0.25]]), np.array([[1, 0]]), np.array([1]))
        array([0.125])
    """
    return np.square(probabilities - (classes == labels[:, None])).sum(1)


def log_losses(probabilities: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the negative log-likelihood of each true class, `(N,)` nats; the arguments are those of `brier_scores`.

    Probabilities below 1.2e-7, the precision with which they are stored, count as 1.2e-7.

    Example:
        >>> log_losses(np.array([[0.75, 0.25]]), np.array([[1, 0]]), np.array([0])).round(3)
        array([1.386])
    """
    own = np.where(classes == labels[:, None], probabilities, 0).sum(1)
    return -np.log(np.clip(own, _LEAST_PROBABILITY, 1))
