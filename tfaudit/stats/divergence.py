"""How far the probabilities of two models lie apart, example by example [KL]."""

import numpy as np

from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses, surely_ranked

SMALLEST = 1e-6
"""Least probability: those stored have six digits, and int8 scores are often 0."""


def kl_divergence(
    before: RankedClasses, after: RankedClasses, num_classes: int | None = None
) -> np.ndarray:
    """Compute the Kullback-Leibler divergence of the second probabilities from the first, `(N,)` nats [KL].

    Classes that only one side ranks, those that `surely_ranked` leaves out, and all others count as one class, so that
    the result is a lower bound unless all classes are ranked. Probabilities below `SMALLEST` count as that.

    Args:
        before: `(N, k)` best classes with probabilities.
        after: the same for the other model.
        num_classes: C; by default more than are ranked.

    Raises:
        InputError: no probabilities.

    Example:
        >>> classes = np.array([[0, 1]])
        >>> one, other = (RankedClasses(classes, np.array([p])) for p in ([0.75, 0.25], [0.5, 0.5]))
        >>> kl_divergence(one, other).round(4)
        array([0.1308])
    """
    if before.probabilities is None or after.probabilities is None:
        raise InputError("predictions", "no probabilities", "those of the ranked classes")
    count = np.iinfo(int).max if num_classes is None else num_classes
    sure = [surely_ranked(side, count) for side in (before, after)]
    equal = before.classes[:, :, None] == after.classes[:, None, :]
    equal &= sure[0][:, :, None] & sure[1][:, None, :]
    p = np.where(equal.any(2), before.probabilities, 0).astype(float)
    q = np.where(equal, after.probabilities[:, None, :], 0).sum(2)
    p, q = (np.concatenate([side, 1 - side.sum(1, keepdims=True)], axis=1) for side in (p, q))
    # The rest of 1 is rounding where all classes are ranked.
    p, q = (np.where(side < SMALLEST, 0, side) for side in (p, q))
    terms = p * np.log(np.maximum(p, SMALLEST) / np.maximum(q, SMALLEST))
    return np.maximum(terms.sum(1), 0)
