"""Adjustment of p-values for multiple testing, and of levels for several looks."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError, number, require, require_least, require_level, require_one_of


def weighted_holm(p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Adjust p-values after Holm, with more of the level for tests of larger weight [H].

    In the order of p-value over weight, each is multiplied by the sum of the weights from it on; never below the one
    before. Equal weights give Holm's correction.

    Args:
        p: `(C,)` p-values in [0, 1].
        weights: `(C,)` numbers above 0, chosen without a look at the p-values.

    Example:
        >>> weighted_holm(np.array([0.02, 0.02]), np.array([2.0, 1.0]))
        array([0.03, 0.03])
    """
    # statsmodels has Holm's, too, but runs the garbage collector at every call, which takes longer than a class audit.
    order = np.argsort(p / weights, kind="stable")
    left = np.cumsum(weights[order][::-1])[::-1]
    adjusted = np.empty_like(p)
    scaled = p[order] * (left / weights[order])
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


_METHODS = {
    "holm": lambda p: weighted_holm(p, np.ones_like(p)),
    "bh": stats.false_discovery_control,
}


def adjust(p: ArrayLike, method: str) -> np.ndarray:
    """Adjust p-values: a test is significant at level alpha if its adjusted p-value is <= alpha.

    Args:
        p: `(C,)` p-values. NaN marks a test that was not made; it stays NaN and does not count.
        method: "holm" (family-wise error rate) or "bh" (false discovery rate, Benjamini and Hochberg).

    Raises:
        InputError: an unknown method, another shape, or p-values outside [0, 1].

    Example:
        >>> adjust([0.01, float("nan"), 0.04], "holm")
        array([0.02,  nan, 0.04])
    """
    require_one_of("method", method, _METHODS)
    adjusted = np.array(p, np.float64)
    require(adjusted.ndim == 1, "p", adjusted.shape, "the shape (tests,)")
    made = ~np.isnan(adjusted)
    if ((adjusted[made] < 0) | (adjusted[made] > 1)).any():
        raise InputError(
            "p", f"{adjusted[made].min():g} to {adjusted[made].max():g}", "values in [0, 1]"
        )
    if made.any():
        adjusted[made] = _METHODS[method](adjusted[made])
    return adjusted


MOST_INTERIM_ANALYSES = 1000
"""Maximum number of looks; the level of one look is then at least 5e-11 for alpha = 0.05."""


def interim_level(alpha: float, looks: int, look: int | None = None) -> float:
    """Return the level of one of several tests of a question, so that any of them errs at most at level alpha.

    Without the number of the look all have the same level, alpha / looks (Bonferroni). With it, look k of n has the
    level `alpha (k^3 - (k - 1)^3) / n^3` [KD], which leaves most for the last, close to O'Brien and Fleming. Both
    add up to alpha, and so hold for looks at the same data, at growing data and at new data.

    Args:
        alpha: level of all looks together.
        looks: maximum number of looks, 1 to 1,000.
        look: number of this look, from 1; None if it is not counted.

    Raises:
        InputError: a level outside (0, 1), or a number of looks or of the look that is out of range.

    Example:
        >>> [round(interim_level(0.05, 5, look), 4) for look in (None, 1, 2, 3, 4, 5)]
        [0.01, 0.0004, 0.0028, 0.0076, 0.0148, 0.0244]
    """
    require_level("alpha", alpha)
    require(
        1 <= number(looks) <= MOST_INTERIM_ANALYSES,
        "looks",
        looks,
        f"1 to {MOST_INTERIM_ANALYSES:,}",
    )
    if look is None:
        return alpha / looks
    require(1 <= number(look) <= looks, "look", look, f"1 to {looks}, the number of looks")
    return alpha * (look**3 - (look - 1) ** 3) / looks**3


def interim_sizes(most: int) -> tuple[int, ...]:
    """Return the numbers of members at which a growing population is judged: from 3 on about half more each time.

    Args:
        most: number of members at the last look, 1 or more.

    Example:
        >>> interim_sizes(30), interim_sizes(3), interim_sizes(1)
        ((3, 5, 8, 12, 18, 30), (3,), (1,))
    """
    require_least(1, most=most)
    sizes = []
    size = 3
    while 1.5 * size <= most:
        sizes.append(size)
        size = math.ceil(1.5 * size)
    return (*sizes, most)
