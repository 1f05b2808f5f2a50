"""Variances between members that borrow strength from other groups [Sm]."""

import numpy as np
from scipy import optimize, special

from tfaudit.stats.ratios import ratio

LEAST_GROUPS = 10
"""Number of groups below which variances between members are not moderated: error rates would rise."""

_EXTREME = 0.01, 0.99
"""Accuracies beyond which members count as differing as they do there."""


def moderated_variances(
    variances: np.ndarray, overlap: np.ndarray, freedom: np.ndarray, accuracy: np.ndarray
) -> np.ndarray:
    """Compute variances between members as weighted means of each group's own and of what all groups suggest.

    The prior variance of a group counts as one degree of freedom, the own variance as those that it has.

    Args:
        variances: `(G,)` variances of the groups' changes due to members; NaN where unknown.
        overlap: `(G,)` the part that falls with the number of images, too.
        freedom: `(G,)` degrees of freedom of the variances.
        accuracy: `(G,)` mean accuracy of each group, a share.

    Returns:
        The moderated variances; NaN where a group has none, and everywhere if fewer than `LEAST_GROUPS` groups have
        one, or none is above 0.

    Example:
        >>> variances = np.repeat([1.0, 4.0], [9, 1])
        >>> moderated_variances(variances, np.zeros(10), np.full(10, 2.0), np.full(10, 0.5)).round(2)[-2:]
        array([1.04, 3.04])
    """
    slope = np.square(strength_slope(accuracy))
    differ = np.isfinite(slope) & (variances > 0)
    if np.isfinite(variances).sum() < LEAST_GROUPS or not differ.any():
        return np.full(len(variances), np.nan)
    beyond = float((variances - overlap)[differ].sum())
    prior = overlap + max(beyond, 0.0) / slope[differ].sum() * slope
    excess = ratio(variances, prior) * freedom
    enough = differ & (prior > 0)
    typical = _typical_excess(excess[enough], freedom[enough])
    return (typical * prior + freedom * variances) / (freedom + 1)


def strength_slope(accuracy: np.ndarray) -> np.ndarray:
    """Return by how much accuracies move, relative to one another, if a member is stronger or weaker than others.

    It is the density of the normal distribution at the quantile of each accuracy, at most as extreme as `_EXTREME`.

    Example:
        >>> strength_slope(np.array([0.5, 0.9])).round(3)
        array([0.399, 0.175])
    """
    quantile = special.ndtri(np.clip(accuracy, *_EXTREME))
    return np.exp(-np.square(quantile) / 2) / np.sqrt(2 * np.pi)


def _typical_excess(excess: np.ndarray, freedom: np.ndarray) -> float:
    """Return the scale of F-distributed ratios by maximum likelihood.

    Args:
        excess: ratios of own to prior variances, times their degrees of freedom; above 0.
        freedom: degrees of freedom of the numerators; the denominators have one.
    """
    weights = (freedom + 1) / (freedom + 1).sum()
    expected = weights @ (freedom / (freedom + 1))
    logs = np.log(excess)

    def gap(log_scale: float) -> float:
        return float(weights @ special.expit(logs - log_scale) - expected)

    return float(np.exp(optimize.brentq(gap, logs.min() - 40, logs.max() + 40)))
