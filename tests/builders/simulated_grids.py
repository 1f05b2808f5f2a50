"""Simulated single models that were compressed more and more, and truly lose known shares of the accuracy."""

from collections.abc import Sequence

import numpy as np

from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.predictions import Predictions

ACCURACY, CHURN = 0.8, 0.005
"""Accuracy of the model, and the share of all images that a compressed model wins, and loses beside its true loss."""


def grid(
    rng: np.random.Generator, losses: Sequence[float], images: int, classes: int = 2
) -> tuple[Predictions, list[Predictions]]:
    """Draw new images, and the predictions of a model and of its compressed versions on them.

    Args:
        rng: source of all randomness.
        losses: true loss of accuracy of each compressed model, a share.
        images: number of images.
        classes: number of classes.
    """
    labels = np.arange(images) % classes
    right = rng.random(images) < ACCURACY

    def predictions(correct: np.ndarray) -> Predictions:
        top1 = np.where(correct, labels, (labels + 1) % classes)
        return Predictions.from_top1(labels, top1, class_names=range(classes))

    after = []
    for loss in losses:
        lost = rng.random(images) < (loss + CHURN) / ACCURACY
        won = rng.random(images) < CHURN / (1 - ACCURACY)
        after.append(predictions(np.where(right, ~lost, won)))
    return predictions(right), after


def passes_once(
    seed: int, most: int, *, fresh: bool, looks: int = 1, counted: bool = False, loss: float = 0.01
) -> bool:
    """Return whether one of several new models passes a gate that is asked about each in turn.

    Args:
        seed: the same seed gives the same images and predictions.
        most: number of models.
        fresh: whether every model is judged on new images, not all on the same.
        looks: argument of `tfaudit.gate`.
        counted: whether the gate also gets the number of the look.
        loss: true loss of every model, a share; the limit is 1 point.
    """
    rng = np.random.default_rng(seed)
    same = None if fresh else grid(rng, [loss] * most, 2000)
    for i in range(most):
        before, after = same or grid(rng, [loss], 2000)
        options = {"looks": looks, "look": i + 1 if counted else None}
        one = after[i] if same else after[0]
        if _is_far(before, one, limit=0.01):
            continue
        if gate(before, one, Limits(overall_drop_pp=1), **options).outcome == PASS:
            return True
    return False


def _is_far(before: Predictions, after: Predictions, limit: float) -> bool:
    """Return whether a measured loss lies less than 1.5 standard errors below the limit: no interval at 95 % passes it.

    A faulty one that would pass it would pass those further below, too: the tenth of the models that are judged.
    """
    change = before.correct()[0] - after.correct()[0].astype(float)
    return bool(change.mean() + 1.5 * change.std() / np.sqrt(len(change)) >= limit)
