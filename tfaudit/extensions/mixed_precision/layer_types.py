"""Types of the weights of single layers, chosen by what each costs the worst class."""

from collections.abc import Mapping, Sequence

import numpy as np

from tfaudit.predictions import Predictions
from tfaudit.stats.divergence import kl_divergence

LEAST = 10
"""Least number of examples of a class whose mean counts; smaller classes count together."""


def class_divergence(before: Predictions, after: Predictions) -> float:
    """Return how far the probabilities move in the class where they move most: the largest mean divergence, nats [KL].

    A layer moves all probabilities a little and changes few predictions. On the few images that time allows, changes of
    recall, or of the probability of the right class, are mostly chance; divergences, which never cancel, are not.

    >>> labels, scores = np.repeat([0, 1], 10), np.tile([0.75, 0.25], (20, 1))
    >>> moved = np.where(labels[:, None] == 1, 0.5, scores)
    >>> made = [Predictions.from_scores(labels, values) for values in (scores, moved)]
    >>> round(class_divergence(*made), 4)
    0.1308
    """
    divergence = kl_divergence(before.member(0), after.member(0), before.num_classes)
    sizes = np.bincount(before.labels)
    groups = np.where(sizes[before.labels] < LEAST, len(sizes), before.labels)
    return float(max(divergence[groups == group].mean() for group in np.unique(groups)))


def layer_types(
    weights: Mapping[str, int], losses: Mapping[str, Sequence[float]], bits: float
) -> dict[str, str]:
    """Return the types of layers that are not int4 in a file with a mean number of bits per weight.

    All layers begin as int4. A step to a wider type, from int4 to int8 and from int8 to float16, is taken in the order
    of the loss that it avoids per bit, as long as the mean allows.

    Args:
        weights: number of weights of each layer.
        losses: what each layer loses as int4 instead of int8, and as int8 instead of float16, in any unit.
        bits: most bits per weight.

    Example:
        >>> layer_types({"stem": 10, "body": 80, "head": 10}, {"stem": (5, 1), "body": (1, 0), "head": (1, 0)}, 5.7)
        {'stem': 'float16', 'head': 'int8'}
    """
    steps = []
    for layer, (int4, int8) in losses.items():
        gain = int4 / (4 * weights[layer])
        steps.append((gain, layer, "int8", 4 * weights[layer]))
        # a second step is never before the first one
        steps.append((min(gain, int8 / (8 * weights[layer])), layer, "float16", 8 * weights[layer]))
    left = (bits - 4) * sum(weights.values())
    types: dict[str, str] = {}
    for gain, layer, wider, cost in sorted(steps, key=lambda step: -step[0]):
        is_next = wider == "int8" or types.get(layer) == "int8"
        if gain > 0 and is_next and cost <= left:
            types[layer] = wider
            left -= cost
    return types
