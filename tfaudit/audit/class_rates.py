"""Recall, precision or F1 of every member on every class."""

from __future__ import annotations

import numpy as np

from tfaudit.errors import require
from tfaudit.predictions import Predictions

__all__ = ["METRICS", "class_rates"]

METRICS = ("recall", "precision", "f1")


def class_rates(predictions: Predictions, metric: str = "recall") -> np.ndarray:
    """Compute recall, precision or F1 of each member on each class, from top-1 predictions.

    A class that a member never predicts has precision 0, as with scikit-learn's `zero_division=0`: NaN would hide the
    classes that a member has forgotten. Its F1 is 0 as well. A class without examples is NaN in all three.

    Args:
        predictions: of K members on C classes.
        metric: "recall", "precision" or "f1".

    Returns:
        `(K, C)` float64 shares in [0, 1].

    Raises:
        InputError: an unknown metric.

    Example:
        >>> predictions = Predictions.from_top1([0, 0, 1, 1], [0, 1, 1, 1])
        >>> class_rates(predictions, "precision").round(3)
        array([[1.   , 0.667]])
    """
    require(metric in METRICS, "metric", metric, ", ".join(METRICS))
    count, labels = predictions.num_classes, predictions.labels
    support = np.bincount(labels, minlength=count)
    predicted = np.stack([np.bincount(row, minlength=count) for row in predictions.top1])
    hits = np.stack([np.bincount(labels[row], minlength=count) for row in predictions.correct()])
    above, below = {
        "recall": (hits, support),
        "precision": (hits, predicted),
        "f1": (2 * hits, predicted + support),
    }[metric]
    rates = np.divide(above, below, out=np.zeros(hits.shape), where=below > 0)
    return np.where(support > 0, rates, np.nan)
