"""Power: the smallest change that a test would detect, and how many examples detect a smaller one.

Impossible shares or counts, and a level or power outside (0, 1), raise `InputError`.
"""

import functools

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from tfaudit.errors import require

POWER = 0.8
BLOCK = 1024


def mcnemar_power(examples: int, drop: float, gains: float, *, alpha: float = 0.05) -> float:
    """Compute the power of the exact two-sided McNemar test to detect a drop of a share of right answers.

    Of n paired examples `L` are lost (right before, wrong after) and `G` gained, multinomial with the shares
    `gains + drop` and `gains`. Given `m = L + G`, the test rejects where `2 P(Bin(m, 1/2) <= G) <= alpha`; the power
    sums the probability of that over m (Duffy 1984). Detecting a *gain* by mistake does not count.

    Args:
        examples: n >= 0.
        drop: share of right answers before minus after, in [0, 1].
        gains: share of the examples that are gained, in [0, 1]; `2 * gains + drop <= 1`.
        alpha: level of the test.

    Example:
        >>> round(mcnemar_power(100, drop=0.1, gains=0.05), 3)
        0.544
    """
    require(examples >= 0, "examples", examples, "a number of 0 or more")
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    possible = gains >= 0 and drop >= 0 and 2 * gains + drop <= 1 + 1e-12
    require(possible, "drop, gains", (drop, gains), "shares, 2 gains + drop <= 1")
    moved = min(2 * gains + drop, 1.0)
    if moved == 0 or examples == 0:
        return 0.0
    centre, reach = examples * moved, 8 * np.sqrt(examples * moved) + 8  # beyond it lies less than 1e-12
    first, last = max(0, int(centre - reach)), min(examples, int(centre + reach))
    m = np.arange(first, last + 1)
    blocks = range(first // BLOCK, last // BLOCK + 1)
    most = np.concatenate([_most_gains(block, alpha) for block in blocks])[m - blocks[0] * BLOCK]
    rejected = np.where(most >= 0, special.bdtr(np.maximum(most, 0), m, gains / moved), 0.0)
    return float(stats.binom.pmf(m, examples, moved) @ rejected)


@functools.lru_cache(maxsize=1024)
def _most_gains(block: int, alpha: float) -> np.ndarray:
    """Return the most gains among m changes at which the test rejects, for `BLOCK` successive m; -1 for never."""
    m = np.arange(block * BLOCK, (block + 1) * BLOCK)
    most = stats.binom.ppf(alpha / 2, m, 0.5)
    most -= special.bdtr(most, m, 0.5) > alpha / 2 * (1 + 1e-12)
    most.flags.writeable = False
    return most


def detectable_drop(examples: ArrayLike, gained: ArrayLike, *, alpha: float = 0.05, power: float = POWER) -> np.ndarray:
    """Compute the smallest drop that the exact McNemar test detects with the given power, with gains as observed.

    Drops are `(C,)` shares; NaN where even the largest possible one has less power. Gains measure how much predictions
    change both ways: with a share `gained / examples` of them, a drop needs as many losses more.

    Args:
        examples: `(C,)` paired examples of each class.
        gained: `(C,)` counts of those that became right.
        alpha: level of the test.
        power: probability of detecting the drop, in (0, 1).

    Example:
        >>> detectable_drop([5, 100, 10_000], [0, 2, 200]).round(3)
        array([  nan, 0.11 , 0.006])
    """
    counts, gains = np.asarray(examples, int), np.asarray(gained, int)
    require(counts.ndim == 1 and counts.shape == gains.shape, "gained", gains.shape, f"the shape {counts.shape}")
    require(bool(((gains >= 0) & (gains <= counts)).all()), "gained", gains.tolist(), "counts from 0 to examples")
    require(0 < power < 1, "power", power, "a probability in (0, 1)")
    pairs, where = np.unique(np.stack([counts, gains], 1), axis=0, return_inverse=True)
    smallest = [_detectable(int(n), int(g), alpha, power) for n, g in pairs]
    return np.array(smallest)[where.reshape(-1)] if smallest else np.empty(0)


def _detectable(examples: int, gained: int, alpha: float, power: float) -> float:
    share = gained / max(examples, 1)
    largest = 1 - 2 * share

    def excess(drop: float) -> float:
        return mcnemar_power(examples, drop, share, alpha=alpha) - power

    possible = largest > 0 and excess(largest) >= 0
    return float(optimize.brentq(excess, 0, largest, xtol=1e-5)) if possible else float("nan")


def examples_needed(drop: float, gains: float, *, alpha: float = 0.05, power: float = POWER) -> int:
    """Compute how many paired examples detect a drop: exact to within a few, since exact power is not monotonic.

    Args:
        drop: share in (0, 1].
        gains: share of the examples that are gained; `2 * gains + drop <= 1`.
        alpha: level of the test.
        power: probability of detecting the drop, in (0, 1).

    Example:
        >>> examples_needed(drop=0.02, gains=0.02)
        1244
    """
    require(drop > 0, "drop", drop, "a share above 0")
    require(0 < power < 1, "power", power, "a probability in (0, 1)")
    enough = 1
    while mcnemar_power(enough, drop, gains, alpha=alpha) < power:
        enough *= 2
    low = enough // 2
    while enough - low > 1:
        middle = (low + enough) // 2
        weak = mcnemar_power(middle, drop, gains, alpha=alpha) < power
        low, enough = (middle, enough) if weak else (low, middle)
    return enough


def detectable_shift(error: ArrayLike, df: ArrayLike, *, alpha: float = 0.05, power: float = POWER) -> np.ndarray:
    """Compute the smallest shift of a mean, or of a difference of means, that a two-sided t-test detects.

    The shift, in standard errors, is the noncentrality at which the noncentral t distribution exceeds the critical
    value with the given power; the far tail does not count.

    Args:
        error: standard error of the estimate; any shape. Where it is 0, so is the shift.
        df: degrees of freedom, as `error`; infinite for a normal estimate.
        alpha: level of the test.
        power: probability of detecting the shift, in (0, 1).

    Example:
        >>> detectable_shift([1.0, 1.0, 0.0], [6, np.inf, np.nan]).round(3)
        array([3.367, 2.802, 0.   ])
    """
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require(0 < power < 1, "power", power, "a probability in (0, 1)")
    errors, free = np.broadcast_arrays(np.asarray(error, float), np.asarray(df, float))
    shifts = np.full(errors.shape, special.ndtri(1 - alpha / 2) + special.ndtri(power))
    finite = free < 1e6  # beyond it the t distribution is the normal one to 6 digits
    critical = special.stdtrit(free[finite], 1 - alpha / 2)
    shifts[finite] = special.nctdtrinc(free[finite], 1 - power, critical)
    return np.where(errors == 0, 0.0, np.where(np.isnan(free), np.nan, shifts * errors))
