"""Synthetic populations for the tests of the audits."""

from collections import Counter

import numpy as np

from tfaudit.audits.gate.limits import Limits
from tfaudit.predictions import Predictions

LIMITS = Limits(
    overall_drop_pp=1,
    worst_class_drop_pp=3,
    precision_drop_pp=3,
    f1_drop_pp=3,
    sensitivity_drop_pp=3,
    specificity_drop_pp=3,
    auroc_drop_pp=3,
    average_precision_drop_pp=3,
    share_beyond=0.6,
    flips=0.05,
    negative_flips=0.03,
)
"""A limit of everything that can be told from predictions."""


def population(
    seed,
    *,
    members=6,
    examples=200,
    classes=5,
    hurt=(),
    noise=1.0,
    empty=(),
    world=0,
    ranks=5,
    doubt=1.0,
):
    """Members that see the same images, drawn from `world`, through noise of their own.

    `hurt` classes see worse; `doubt` is what the images have in common with those of other classes.
    """
    common = np.random.default_rng(world)
    rng = np.random.default_rng(seed)
    shown = [c for c in range(classes) if c not in empty]
    labels = np.array([shown[i % len(shown)] for i in range(examples)])
    evidence = doubt * common.normal(size=(examples, classes)) + 2 * np.eye(classes)[labels]
    evidence[np.isin(labels, hurt)] -= 1.5 * np.eye(classes)[labels[np.isin(labels, hurt)]]
    return Predictions.from_scores(
        labels, evidence + noise * rng.normal(size=(members, *evidence.shape)), k=ranks
    )


def modal_sets(population: Predictions) -> list[set[int]]:
    """The most frequent best classes of every example, counted one example after the other."""
    counted = [Counter(votes.tolist()) for votes in population.top1.T]
    return [
        {choice for choice in votes if votes[choice] == max(votes.values())} for votes in counted
    ]


def pies_of(before: Predictions, after: Predictions) -> np.ndarray:
    """Whether the most frequent classes of two populations have none in common, for every example."""
    return np.array(
        [
            one.isdisjoint(other)
            for one, other in zip(*map(modal_sets, (before, after)), strict=True)
        ]
    )
