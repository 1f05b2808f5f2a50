"""Intervals of proportions, and tests of two independent ones, many at once."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError, require, require_level
from tfaudit.stats.contingency import counts, least_share
from tfaudit.stats.ratios import ratio

FISHER, Z = "Fisher exact", "z"

SMALL = 5
"""Cochran's rule: the normal approximation of the z-test needs this expected count in every cell."""


@dataclasses.dataclass(frozen=True)
class Proportions:
    """Pairs of shares and whether they differ; every field is `(A,)`, NaN where a total is 0.

    Attributes:
        first, second: hits / total of the two samples.
        ratio: first / second; NaN if `second` is 0.
        low, high: ends of Newcombe's interval of `first - second`.
        p: two-sided p-value of equal shares.
        test: the test that gave p, `FISHER` or `Z`; empty if there is none.
    """

    first: np.ndarray
    second: np.ndarray
    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    test: np.ndarray


def exact_interval(
    hits: ArrayLike, totals: ArrayLike, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of the exact intervals of shares of Clopper and Pearson [CP], `(A,)` each; NaN of no example.

    Args:
        hits: `(A,)` numbers of examples that count; fractions where ties count in part.
        totals: `(A,)` numbers of examples.
        confidence: level of the intervals, in (0, 1).

    Example:
        >>> [end.round(4).tolist() for end in exact_interval([0, 3], [1000, 1000])]
        [[0.0, 0.0006], [0.0037, 0.0087]]
    """
    count, total = np.asarray(hits, float), np.asarray(totals, float)
    tail = (1 - confidence) / 2
    return least_share(count, total, tail), 1 - least_share(total - count, total, tail)


def compare_proportions(
    hits: ArrayLike,
    totals: ArrayLike,
    other_hits: ArrayLike,
    other_totals: ArrayLike,
    *,
    always_exact: bool = False,
    confidence: float = 0.95,
) -> Proportions:
    """Test whether two independent samples share one proportion.

    The test is the z-test with pooled variance if all expected cell counts are 5 or more, otherwise Fisher's exact
    test.

    Args:
        hits: `(A,)` integers, number of examples of the first sample that have the attribute.
        totals: `(A,)` size of the first sample.
        other_hits: `(A,)` hits of the second sample.
        other_totals: `(A,)` size of the second sample.
        always_exact: whether to use Fisher's test throughout, False by default.
        confidence: level of the interval of the difference, in (0, 1).

    Raises:
        InputError: not integers >= 0 of one shape `(A,)`, more hits than examples, or a level outside (0, 1).

    Example:
        >>> compared = compare_proportions([30, 2], [100, 10], [15, 1], [100, 10])
        >>> compared.ratio, compared.p.round(4), compared.test.tolist()
        (array([2., 2.]), array([0.0111, 1.    ]), ['z', 'Fisher exact'])
    """
    require_level("confidence", confidence)
    count, total, other_count, other_total = counts(
        hits=hits, totals=totals, other_hits=other_hits, other_totals=other_totals
    )
    require(count.ndim == 1, "hits", count.shape, "the shape (attributes,)")
    for name, some, everyone in (("hits", count, total), ("other_hits", other_count, other_total)):
        for i in np.flatnonzero(some > everyone):
            raise InputError(name, f"{some[i]} of {everyone[i]}", "at most all")
    first = ratio(count, total)
    second = ratio(other_count, other_total)
    first_low, first_high = _wilson(first, total, confidence)
    second_low, second_high = _wilson(second, other_total, confidence)
    low = first - second - np.hypot(first - first_low, second_high - second)
    high = first - second + np.hypot(first_high - first, second - second_low)
    p = np.full(len(count), np.nan)
    test = np.full(len(count), "", object)
    for i in np.flatnonzero((total > 0) & (other_total > 0)):
        samples = [int(counted[i]) for counted in (count, total, other_count, other_total)]
        test[i], p[i] = _test(*samples, always_exact=always_exact)
    return Proportions(first, second, ratio(first, second), low, high, p, test)


def _wilson(
    share: np.ndarray, total: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of Wilson's intervals of shares; NaN where a total is 0."""
    z2 = stats.norm.isf((1 - confidence) / 2) ** 2
    total = np.where(total > 0, total, np.nan)
    middle = share + z2 / (2 * total)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * total)) / total)
    return (middle - half) / (1 + z2 / total), (middle + half) / (1 + z2 / total)


def _test(
    count: int, total: int, other_count: int, other_total: int, *, always_exact: bool
) -> tuple[str, float]:
    held = (count + other_count) / (total + other_total)
    if always_exact or min(total, other_total) * min(held, 1 - held) < SMALL:
        table = [[count, total - count], [other_count, other_total - other_count]]
        return FISHER, float(stats.fisher_exact(table).pvalue)
    error = np.sqrt(held * (1 - held) * (1 / total + 1 / other_total))
    return Z, float(2 * stats.norm.sf(abs(count / total - other_count / other_total) / error))
