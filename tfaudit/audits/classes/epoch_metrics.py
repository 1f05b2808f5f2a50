"""Metrics of the audit after every epoch: worst class, flips and intensification."""

import numpy as np

from tfaudit.errors import InputError
from tfaudit.stats.least_squares import slope
from tfaudit.stats.ratios import normalised_balance, ratio


def class_recall(
    labels: np.ndarray, predicted: np.ndarray, num_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the recall of every class, NaN without examples, and its number of examples.

    Args:
        labels: True classes, integers `(N,)`.
        predicted: Predicted classes, of the same type and shape.
        num_classes: Number of classes, C.
    """
    support = np.bincount(labels, minlength=num_classes)
    return ratio(np.bincount(labels[labels == predicted], minlength=num_classes), support), support


def intensification(labels: np.ndarray, predicted: np.ndarray, baseline: np.ndarray) -> float:
    """Compute the slope through the origin of normalised recall balances, [R] section 5.

    With `Bn[c] = (R[c] - A) / A`, A the accuracy and 0 the baseline: `alpha = sum_c Bn0 Bn / sum_c Bn0^2`. Above 1,
    the model's recalls vary more over the classes than the baseline's. Classes without examples do not count. NaN if an
    accuracy is 0 or the baseline's recalls are all equal. The arguments are those of `epoch_metrics`.

    Example:
        >>> labels = np.repeat([0, 1], 10)
        >>> def predict(right_0, right_1):
        ...     return np.where(np.r_[np.arange(10) < right_0, np.arange(10) < right_1], labels, 1 - labels)
        >>> round(intensification(labels, predict(7, 5), baseline=predict(9, 7)), 4)
        1.3333
    """
    recalls = [
        class_recall(labels, classes, int(labels.max()) + 1)[0] for classes in (baseline, predicted)
    ]
    accuracies = [(labels == classes).mean() for classes in (baseline, predicted)]
    return float(slope(*map(normalised_balance, recalls, accuracies)))


def epoch_metrics(
    labels: np.ndarray, predicted: np.ndarray, baseline: np.ndarray | None = None
) -> dict[str, float]:
    """Compute the metrics that a callback logs after an epoch.

    They are `worst_class_recall`; and with a baseline `flips` (predictions that differ), `negative_flips` (right
    before, wrong now) and `intensification`. Arrays that are empty or of different shapes raise `InputError`.

    Args:
        labels: True classes, integers `(N,)`.
        predicted: Top-1 classes `(N,)`.
        baseline: Top-1 classes of the baseline, or `None`.

    Example:
        >>> epoch_metrics(np.array([0, 0, 1]), np.array([0, 1, 1]), baseline=np.array([0, 0, 0]))
        {'worst_class_recall': 0.5, 'flips': 2, 'negative_flips': 1, 'intensification': -0.5}
    """
    for name, classes in (("predicted", predicted), ("baseline", baseline)):
        if classes is not None and classes.shape != labels.shape:
            raise InputError(name, f"shape {classes.shape}", f"{labels.shape}, the shape of labels")
    if not len(labels):
        raise InputError("labels", "empty", "one example or more")
    recall, _ = class_recall(labels, predicted, int(labels.max()) + 1)
    metrics: dict[str, float] = {"worst_class_recall": float(np.nanmin(recall))}
    if baseline is not None:
        flipped = predicted != baseline
        metrics["flips"] = int(flipped.sum())
        metrics["negative_flips"] = int((flipped & (baseline == labels)).sum())
        metrics["intensification"] = intensification(labels, predicted, baseline)
    return metrics
