"""Simulated single models that were compressed more and more, and truly lose known shares of the accuracy."""

from collections.abc import Sequence

import numpy as np

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
