"""The published test of centred accuracies, [F] 2.2: over the members alone, with fixed images."""

import numpy as np

from tfaudit.audits.classes.classes import directions
from tfaudit.audits.result import in_points
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import TTests, welch


def published_test(before: np.ndarray, after: np.ndarray, *, alpha: float) -> TTests:
    """Compute Welch's test of the accuracies of G groups minus the overall accuracy; NaN for a single member.

    Args:
        before: `(K0, G)` centred accuracies of the baseline's members.
        after: `(K1, G)` centred accuracies of the compressed members.
        alpha: level of the test; intervals are at level 1 - alpha.

    Example:
        >>> published_test(np.array([[0.1], [0.2]]), np.array([[0.1], [0.2]]), alpha=0.05).p
        array([1.])
    """
    if min(len(before), len(after)) < 2:
        return TTests(*np.full((6, before.shape[1]), np.nan))
    # Accuracies are ratios of counts: a difference below 1e-12 is rounding and must not look like variance.
    return welch(np.round(after, 12), np.round(before, 12), confidence=1 - alpha)


def published_columns(test: TTests, alpha: float) -> dict[str, np.ndarray]:
    """Return the columns of a published test, from `published_pp` to the uncorrected `published_direction`.

    Example:
        >>> test = published_test(np.array([[0.1], [0.2]]), np.array([[0.1], [0.2]]), alpha=0.05)
        >>> published_columns(test, 0.05)["published_direction"].tolist()
        ['no evidence']
    """
    return {
        **in_points("published", test.difference, test.low, test.high),
        "published_p": test.p,
        **{f"published_p_{method}": adjust(test.p, method) for method in ("holm", "bh")},
        "published_direction": directions(test.difference, test.p, alpha),
    }
