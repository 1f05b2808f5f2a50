"""Types of the weights of single layers, chosen by what each costs the worst class."""

from collections.abc import Mapping, Sequence

import numpy as np

from tfaudit.predictions import Predictions

LEAST = 10
"""Least number of examples of a class whose mean counts; smaller classes count together."""


def class_loss(before: Predictions, after: Predictions) -> float:
    """Return how far the mean probability of the right class falls in the class where it falls most, points.

    It tells layers apart that change few predictions.

    >>> labels, scores = np.repeat([0, 1], 10), np.tile([0.9, 0.1], (20, 1))
    >>> lower = np.where(labels[:, None] == 1, [1, 0], scores)
    >>> made = [Predictions.from_scores(labels, values) for values in (scores, lower)]
    >>> round(class_loss(*made), 6)
    10.0
    """
    fall = _of_right_class(before) - _of_right_class(after)
    sizes = np.bincount(before.labels)
    groups = np.where(sizes[before.labels] < LEAST, len(sizes), before.labels)
    return 100 * float(max(fall[groups == group].mean() for group in np.unique(groups)))


def layer_types(
    weights: Mapping[str, int], losses: Mapping[str, Sequence[float]], bits: float
) -> dict[str, str]:
    """Return the types of layers that are not int4 in a file with a mean number of bits per weight.

    All layers begin as int4. A step to a wider type, from int4 to int8 and from int8 to float16, is taken in the order
    of the loss that it avoids per bit, as long as the mean allows.

    Args:
        weights: number of weights of each layer.
        losses: what each layer loses as int4 instead of int8, and as int8 instead of float16, points.
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


def _of_right_class(predictions: Predictions) -> np.ndarray:
    """Return the probability of the right class of each example of the first member; 0 if it is not ranked."""
    ranked = predictions.member(0)
    is_right = ranked.classes == predictions.labels[:, None]
    return np.asarray((is_right * np.asarray(ranked.probabilities)).sum(axis=1))
