"""Paired right-or-wrong predictions, many tables at once: McNemar's test, Tango's interval, Cohen's kappa.

Counts may be fractions: a prediction in which two classes tie may be half lost. Counts that are not numbers >= 0 of one
shape, more changes than pairs, and a level outside (0, 1) raise `InputError`.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from tfaudit.errors import InputError, require_level
from tfaudit.stats.ratios import ratio

FAR = 0.02
"""Tail below which ends of `paired_interval` come from exact intervals of the lost and the won share [ZD]."""

_LEAST_LOG_TAIL, _BISECTIONS = -600.0, 50


def mcnemar(lost: ArrayLike, won: ArrayLike, *, mid: bool = False) -> np.ndarray:
    """Compute exact two-sided p-values of McNemar's test, float64, one per table.

    Only pairs that changed count: without an effect each is lost or won with probability 1/2 (McNemar 1947). Without
    changes p = 1. The exact test is conservative: with few pairs it rejects less often than its level. The mid-p value
    gives half weight to outcomes as likely as the observed one, and comes close to the level (Fagerland, Lydersen and
    Laake 2013, BMC Medical Research Methodology 13:91).

    The incomplete beta function extends the binomial distribution to fractional counts. A sum of fractions varies less
    than as many whole changes, so the test stays conservative.

    Args:
        lost: numbers >= 0 of any shape, pairs that were right and became wrong.
        won: the same shape, pairs that were wrong and became right.
        mid: whether to compute the mid-p value; the exact p-value by default.

    Example:
        >>> mcnemar([8, 0, 5], [1, 0, 5]), mcnemar([8, 7.5], [1, 1.5], mid=True).round(3)
        (array([0.0390625, 1.       , 1.       ]), array([0.021, 0.052]))
    """
    down, up = amounts(lost=lost, won=won)
    fewer = np.minimum(down, up)
    changed = down + up
    below = _at_most(fewer, changed)
    p = np.minimum(1.0, 2 * below)
    if not mid:
        return p
    as_likely = (below - _at_most(fewer - 1, changed)) * np.where(down == up, 0.5, 1.0)
    return np.where(changed > 0, p - as_likely, 1.0)


def _at_most(count: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """Return the probability of at most `count` heads in `changed` tosses; `count` is at most half of `changed`."""
    possible = count > -1
    certain = changed == 0
    shapes = np.where(certain, 1.0, changed - count), np.where(possible, count + 1, 1.0)
    return np.where(certain, 1.0, np.where(possible, special.betainc(*shapes, 0.5), 0.0))


def mcnemar_false_alarms(changed: ArrayLike, alpha: float) -> np.ndarray:
    """Compute the probability that McNemar's exact test rejects without an effect, float64, one per table.

    The probability is at most alpha, and 0 if too few pairs changed. The expected number of rejections is therefore the
    sum over the tables, not their number times alpha.

    Args:
        changed: numbers >= 0 of any shape, pairs that were lost or won; fractions are rounded down.
        alpha: level of the tests, in (0, 1).

    Example:
        >>> mcnemar_false_alarms([0, 5, 6, 100], 0.05)
        array([0.       , 0.       , 0.03125  , 0.0352002])
    """
    require_level("alpha", alpha)
    n = np.floor(amounts(changed=changed)[0])
    # The quantile is the smallest count whose tail reaches alpha / 2: smaller counts reject, and it too if it is exact.
    most = stats.binom.ppf(alpha / 2, n, 0.5)
    most = np.where(2 * stats.binom.cdf(most, n, 0.5) <= alpha, most, most - 1)
    return 2 * stats.binom.cdf(most, n, 0.5)


def paired_interval(
    lost: ArrayLike, won: ArrayLike, pairs: ArrayLike, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Compute a confidence interval of the difference of paired proportions, `(won - lost) / pairs`.

    Tango's score interval encloses every difference D that the score test does not reject:
    `|won - lost - n D| <= z sqrt(n (2 q + D (1 - D)))` with q the maximum-likelihood share of lost pairs under D (Tango
    1998, Statistics in Medicine 17, 891-908). It has a width even if nothing changed. If `mcnemar`, which is more
    conservative, does not reject 0 at the level 1 - confidence, the interval is widened to contain 0, so it never
    contradicts that p-value.

    The score test's far tails are too light where few pairs change, which matters for intervals that hold for many
    classes at once: of 1,000 classes with 500 pairs that all lose exactly 4 points, one or more seem to lose more in up
    to 14.3 % of studies instead of 2.5 % (`python -m benchmarks.verdicts far`). Where a tail is below `FAR`, an end is
    therefore at the distance `sqrt(a^2 + b^2 + 2 r a b)` from the difference or further: a and b are the distances to
    the ends of the exact intervals of Clopper and Pearson of both shares, -r is their correlation [ZD]. With it that
    happens in 1.7 %.

    Args:
        lost: `(C,)` numbers >= 0, pairs that were right and became wrong.
        won: `(C,)` pairs that were wrong and became right.
        pairs: `(C,)` number of all pairs, n; 0 gives NaN.
        confidence: level of the interval, in (0, 1).

    Returns:
        The lower and the upper ends, float64 `(C,)` in [-1, 1].

    Example:
        >>> low, high = paired_interval([3, 0, 1], [9, 0, 7], [32, 10, 21])
        >>> low.round(3), high.round(3)
        (array([-0.027, -0.278,  0.   ]), array([0.39 , 0.278, 0.517]))
    """
    require_level("confidence", confidence)
    down, up, n = amounts(lost=lost, won=won, pairs=pairs)
    if (down + up > n + 1e-9).any():
        raise InputError("pairs", "fewer pairs than changes", "at least lost + won")
    tail = (1 - confidence) / 2
    margin = special.ndtri(max(tail, FAR)) ** 2 / np.maximum(n, 1)
    low, high = _ends(ratio(down, n), ratio(up, n), margin)
    if tail < FAR:
        low = np.minimum(low, _far_low(down, up, n, tail))
        high = np.maximum(high, -_far_low(up, down, n, tail))
    possible = mcnemar(down, up) > 1 - confidence
    low = np.where(possible, np.minimum(low, 0.0), low)
    return low, np.where(possible, np.maximum(high, 0.0), high)


def paired_difference_p(
    lost: ArrayLike, won: ArrayLike, pairs: ArrayLike, difference: ArrayLike
) -> np.ndarray:
    """Return the two-sided p-values of a difference, `(C,)`: `paired_interval` excludes it if p <= 1 - confidence.

    Args:
        lost: `(C,)` numbers >= 0, pairs that were right and became wrong.
        won: `(C,)` pairs that were wrong and became right.
        pairs: `(C,)` number of all pairs; without any p = 1.
        difference: a share or `(C,)` shares, to be compared with `(won - lost) / pairs`.

    Example:
        >>> paired_difference_p([3, 3], [9, 9], [32, 32], [-0.02, -0.03]).round(3)
        array([0.057, 0.047])
    """
    down, up, n = amounts(lost=lost, won=won, pairs=pairs)
    shares = ratio(down, n), ratio(up, n)
    difference = np.asarray(difference)
    if difference.dtype.kind not in "iuf":
        raise InputError("difference", f"values of {difference.dtype}", "numbers")
    square, variance = _score(*shares, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = n * square / np.maximum(variance, 0)
    p = special.chdtrc(1, np.where(square > 0, statistic, 0.0))
    observed = shares[1] - shares[0]
    far = p < 2 * FAR
    p = np.where(far, 2 * _far_tail(down, up, n, difference, far), p)
    towards_0 = (difference * observed >= 0) & (np.abs(difference) <= np.abs(observed))
    return np.where(towards_0, np.maximum(p, mcnemar(down, up)), p)


def least_share(count: np.ndarray, total: np.ndarray, tail: float | np.ndarray) -> np.ndarray:
    """Return the lower ends of exact intervals of shares, Clopper and Pearson's [CP]; NaN of none.

    The upper end of a share is 1 less the lower end of the rest. Counts may be fractions.

    Args:
        count: numbers from 0 to `total` of any shape.
        total: numbers of 0 or more.
        tail: probability of each tail, (1 - confidence) / 2.

    Example:
        >>> least_share(np.array([0, 8]), np.array([10, 10]), 0.025).round(3)
        array([0.   , 0.444])
    """
    least = special.betaincinv(np.maximum(count, 1e-9), total - count + 1, tail)
    return np.where(count > 0, least, np.where(total > 0, 0.0, np.nan))


def flip_counts(
    before: np.ndarray, after: np.ndarray, groups: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count the lost and the won predictions of every group, `(G,)` floats each.

    Args:
        before: `(N,)` numbers in [0, 1], whether the first model is right.
        after: `(N,)` the same for the second model.
        groups: `(N,)` integers, the group of each image from 0 to G - 1.
        count: G, the number of groups.

    Example:
        >>> flip_counts(np.array([1, 1, 0]), np.array([1, 0, 0.5]), np.array([0, 1, 1]), 2)
        (array([0., 1.]), array([0. , 0.5]))
    """
    change = after * 1.0 - before
    lost, won = (np.bincount(groups, np.maximum(flips, 0), count) for flips in (-change, change))
    return lost, won


def exact_changes(
    lost: np.ndarray, won: np.ndarray, pairs: np.ndarray, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both ends of `paired_interval` and the p-values of `mcnemar`, `(C,)` each, NaN without pairs.

    Example:
        >>> [figure.round(3).tolist() for figure in exact_changes(*np.array([[6, 0], [0, 0], [20, 0]]))]
        [[-0.519, nan], [-0.091, nan], [0.031, nan]]
    """
    low, high = paired_interval(lost, won, pairs, confidence=confidence)
    return low, high, np.where(pairs > 0, mcnemar(lost, won), np.nan)


def _score(
    down: np.ndarray, up: np.ndarray, difference: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distance of differences from the observed one, and its variance under each, for one pair."""
    linear = (2 + down - up) * difference - down - up
    root = np.sqrt(
        np.maximum(linear**2 + 8 * down * difference * (1 - difference), 0)
    )  # rounding may leave -1e-17
    variance = (root - linear) / 2 + difference * (1 - difference)
    return np.square(up - down - difference), variance


def _ends(down: np.ndarray, up: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Find the differences below and above the observed one at which the score test begins to reject, `(2, C)`."""
    inside = np.stack([up - down] * 2)
    outside = np.where(np.isnan(inside), np.nan, [[-1.0], [1.0]])
    for _ in range(60):  # bisection: exact to the last bits of a double
        middle = (inside + outside) / 2
        square, variance = _score(down, up, middle)
        accepted = square <= margin * variance
        inside = np.where(accepted, middle, inside)
        outside = np.where(accepted, outside, middle)
    return (inside + outside) / 2


def _far_low(
    down: np.ndarray, up: np.ndarray, n: np.ndarray, tail: float | np.ndarray
) -> np.ndarray:
    """Return the lower ends of differences from exact intervals of both shares, at tails below `FAR` [ZD]."""
    lost, won = ratio(down, n), ratio(up, n)
    below = won - least_share(up, n, tail)
    above = 1 - least_share(n - down, n, tail) - lost
    correlation = np.sqrt(np.nan_to_num(ratio(lost * won, (1 - lost) * (1 - won))))
    distance = np.sqrt(below**2 + above**2 + 2 * correlation * below * above)
    return np.maximum(won - lost - distance, -1.0)


def _far_tail(
    down: np.ndarray, up: np.ndarray, n: np.ndarray, difference: np.ndarray, far: np.ndarray
) -> np.ndarray:
    """Return the tails, at most `FAR`, at which the ends of `_far_low` are the differences; found where `far`."""
    tails = np.full(far.shape, FAR)
    down, up, n, difference = (
        np.broadcast_to(part, far.shape)[far] for part in (down, up, n, difference)
    )
    above = n * difference > up - down
    down, up = np.where(above, up, down), np.where(above, down, up)
    difference = np.where(above, -difference, difference)
    inside, outside = np.full(down.shape, _LEAST_LOG_TAIL), np.full(down.shape, np.log(FAR))
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        excluded = _far_low(down, up, n, np.exp(middle)) > difference
        inside, outside = np.where(excluded, inside, middle), np.where(excluded, middle, outside)
    tails[far] = np.exp(outside)
    return tails


def chance_agreement(first: np.ndarray, second: np.ndarray, examples: int) -> tuple[float, float]:
    """Compute the agreement of two raters expected by chance, and its standard error under chance alone.

    With shares p and q of the classes, the expected agreement is `e = sum_c p_c q_c` and the variance
    `(e + e^2 - sum_c p_c q_c (p_c + q_c)) / N` (Fleiss, Cohen and Everitt 1969, their null variance of kappa times
    `(1 - e)^2`).

    Args:
        first: `(C,)` shares of the classes for one rater.
        second: `(C,)` shares of the classes for the other rater.
        examples: N, the number of examples.

    Example:
        >>> chance_agreement(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 4)
        (0.5, 0.25)
    """
    expected = float(first @ second)
    variance = (expected + expected**2 - float(first * second @ (first + second))) / examples
    return expected, float(np.sqrt(max(variance, 0.0)))


def amounts(**named: ArrayLike) -> list[np.ndarray]:
    """Return the arguments as float arrays, or raise `InputError` unless they are numbers >= 0 of one shape.

    Example:
        >>> amounts(lost=[1, 2.5])
        [array([1. , 2.5])]
    """
    return [array.astype(float) for array in _of_one_shape(named, "iuf", "numbers >= 0")]


def counts(**named: ArrayLike) -> list[np.ndarray]:
    """Return the arguments as integer arrays, or raise `InputError` unless they are integers >= 0 of one shape.

    Example:
        >>> counts(lost=[1, 2], won=[3, 4])
        [array([1, 2]), array([3, 4])]
    """
    return [array.astype(np.int64) for array in _of_one_shape(named, "iu", "integers >= 0")]


def _of_one_shape(named: Mapping[str, ArrayLike], kinds: str, expected: str) -> list[np.ndarray]:
    arrays = [np.asarray(values) for values in named.values()]
    for name, array in zip(named, arrays, strict=True):
        numeric = array.dtype.kind in "iuf"
        if array.size and (array.dtype.kind not in kinds or not array.min() >= 0):
            got = f"{array.dtype} from {array.min()}" if numeric else f"values of {array.dtype}"
            raise InputError(name, got, expected)
        if array.shape != arrays[0].shape:
            raise InputError(
                name, f"shape {array.shape}", f"{arrays[0].shape}, the shape of {next(iter(named))}"
            )
    return arrays
