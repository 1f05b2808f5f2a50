"""Scores of models before and after rounding to the steps of an int8 output, which harms no class."""

import re

import numpy as np

from tfaudit.predictions import Predictions
from tfaudit.store.external import import_predictions

NAMES = np.array(["ship", "dog", "cat", "bird", "frog", "deer"])
ORDERS = [np.random.default_rng(seed).permutation(6) for seed in range(4)]
"""How the classes may be numbered: `NAMES[order[i]]` is class i."""


def int8_study(seed, *, members=4, images=400, classes=6, step=0.25):
    """Return labels `(N,)` and two arrays of scores `(K, N, C)`: the second is the first with noise, rounded to steps.

    All classes are alike, so their expected recalls change by the same. Ties are frequent: the coarser, the more.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), images // classes)
    ease = rng.normal(0, 1, (len(labels), classes)) + 1.6 * np.eye(classes)[labels]
    before = ease + rng.normal(0, 0.4, (members, *ease.shape))
    return labels, before, np.round((before + rng.normal(0, 0.05, before.shape)) / step) * step


def numbered(order, **options):
    """Labels and scores of both sides, the classes numbered in an order."""
    labels, *sides = int8_study(5, **options)
    return np.argsort(order)[labels], *(side[..., order] for side in sides)


def write_study(directory, order, members):
    """Import both sides as a study, the second as int8 made from the first."""
    labels, before, after = numbered(order, members=members)
    names = {"class_names": NAMES[order], "scores_are": "logits"}
    sides = [Predictions.from_scores(labels, side, **names) for side in (before, after)]
    return import_predictions(
        directory, sides[0], {"int8": sides[1]}, name="study", paired=["int8"]
    )


def without_argmax(text):
    """Leave out the figures of the deployed argmax, which depend on the order."""
    return re.sub(r"by argmax accuracy .*? instead of [-−+.0-9]+\.", "", text)
