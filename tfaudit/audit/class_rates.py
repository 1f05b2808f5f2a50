"""How well every member does on every class: recall, precision or F1."""

from __future__ import annotations

import numpy as np

from tfaudit.errors import require
from tfaudit.predictions import Predictions

__all__ = ["METRICS", "class_rates"]

METRICS = ("recall", "precision", "f1")


def class_rates(predictions: Predictions, metric: str = "recall") -> np.ndarray:
    """Recall, precision or F1 of each member on each class, from top-1 answers.

    A class that a member never answers has precision 0, as scikit-learn's `zero_division=0` has it: NaN would hide
    the classes that a member has lost. Its F1 is 0 as well. A class without examples is NaN in all three.

    Args:
        predictions: of K members on examples of C classes.
        metric: "recall", "precision" or "f1".

    Returns:
        `(K, C)` float64 shares in [0, 1].

    Raises:
        InputError: another metric.

    Example:
        >>> answers = Predictions.from_top1([0, 0, 1, 1], [0, 1, 1, 1])
        >>> class_rates(answers, "precision").round(3)
        array([[1.   , 0.667]])
    """
    require(metric in METRICS, "metric", metric, ", ".join(METRICS))
    if metric == "recall":
        return predictions.recall()
    count = predictions.num_classes
    support = np.bincount(predictions.labels, minlength=count)
    answers = np.stack([np.bincount(row, minlength=count) for row in predictions.top1])
    hits = np.stack([np.bincount(predictions.labels[row], minlength=count) for row in predictions.correct()])
    above, below = (hits, answers) if metric == "precision" else (2 * hits, answers + support)
    rates = np.divide(above, below, out=np.zeros(answers.shape), where=below > 0)
    return np.where(support > 0, rates, np.nan)
