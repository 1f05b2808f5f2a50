"""How well a number separates examples: the area under the ROC curve, with the influence of every example [De]."""

import numpy as np


def separation(scores: np.ndarray, positive: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute the area under the ROC curve and the influence of each example on it.

    The area is the probability that a positive example has a higher score than a negative one; equal scores count half.
    The influences are those of DeLong's variance [De], by midranks in O(N log N) [SX]: their sum of squares over N^2 is
    his variance of the area, and the sum of products of the influences on two areas his covariance.

    Args:
        scores: `(N,)` floats.
        positive: `(N,)` numbers in [0, 1]: whether each example is positive, or its share that is.

    Returns:
        The area, NaN if all examples are positive or none is, and `(N,)` influences, whose mean is 0.

    Example:
        >>> area, influence = separation(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
        >>> area, influence.round(4).tolist()
        (0.75, [0.7071, -0.7071, -0.7071, 0.7071])
    """
    positive = np.asarray(positive, float)
    negative = 1 - positive
    _, rank = np.unique(scores, return_inverse=True)
    sums = [np.bincount(rank, weights) for weights in (positive, negative)]
    totals = [each.sum() for each in sums]
    if not min(totals) > 0:
        return float("nan"), np.zeros(len(positive))
    # Share of the other kind below, or above, each score; half of the equal ones.
    above = 1 - (np.cumsum(sums[0]) - sums[0] / 2) / totals[0]
    below = (np.cumsum(sums[1]) - sums[1] / 2) / totals[1]
    area = float(positive @ below[rank] / totals[0])
    # DeLong divides each sum of squares by one less than the number of examples of its kind.
    kinds = [total * np.sqrt(1 - 1 / max(total, 2)) for total in totals]
    of_positive = positive / kinds[0] * (below[rank] - area)
    of_negative = negative / kinds[1] * (above[rank] - area)
    return area, len(positive) * (of_positive + of_negative)
