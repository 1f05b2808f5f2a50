"""Recall, precision or F1 of every member on every class."""

import numpy as np

from tfaudit.errors import require_one_of
from tfaudit.predictions import Predictions
from tfaudit.stats.ratios import ratio

METRICS = ("recall", "precision", "f1")


def class_rates(predictions: Predictions, metric: str = "recall") -> np.ndarray:
    """Compute recall, precision or F1 of each member on each class from top-1 predictions, `(K, C)` float64 in [0, 1].

    A class that a member never predicts has precision and F1 0, as with scikit-learn's `zero_division=0`: NaN would
    hide the classes that a member has forgotten. A class without examples is NaN in all three.

    Args:
        predictions: predictions of K members on C classes.
        metric: "recall" (the default), "precision" or "f1"; others raise `InputError`.

    Example:
        >>> predictions = Predictions.from_top1([0, 0, 1, 1], [0, 1, 1, 1])
        >>> class_rates(predictions, "precision").round(3)
        array([[1.   , 0.667]])
    """
    require_one_of("metric", metric, METRICS)
    if metric == "recall":
        return predictions.recall()
    count = predictions.num_classes
    labels = predictions.labels
    support = np.bincount(labels, minlength=count)
    predicted = predictions.predicted()
    hits = np.stack([np.bincount(labels, row, count) for row in predictions.right()])
    rates = (
        ratio(hits, predicted) if metric == "precision" else ratio(2 * hits, predicted + support)
    )
    return np.where(support > 0, np.nan_to_num(rates), np.nan)
