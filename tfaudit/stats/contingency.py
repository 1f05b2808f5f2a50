"""Paired yes-no answers, many tables at once: the exact test, an interval of the difference, chance-free agreement."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tfaudit.errors import InputError

__all__ = ["cohen_kappa", "mcnemar", "paired_interval"]

HALVINGS = 60
"""Bisection steps: the interval's ends are exact to the last bits of a double."""


def mcnemar(lost: ArrayLike, won: ArrayLike) -> np.ndarray:
    """Exact two-sided p-values of McNemar's test, one per table.

    Only the pairs that changed tell: without an effect each of them is lost or won with probability 1/2 (McNemar 1947;
    the exact binomial form). Without a change p = 1.

    Args:
        lost: integers >= 0 of any shape, pairs that were right and became wrong.
        won: the same shape, pairs that were wrong and became right.

    Returns:
        float64 of the same shape.

    Raises:
        InputError: counts that are not integers >= 0, or shapes that differ.

    Example:
        >>> mcnemar([8, 0, 5], [1, 0, 5])
        array([0.0390625, 1.       , 1.       ])
    """
    first, second = _counts(lost=lost, won=won)
    return np.minimum(1.0, 2 * stats.binom.cdf(np.minimum(first, second), first + second, 0.5))


def paired_interval(
    lost: ArrayLike, won: ArrayLike, pairs: ArrayLike, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Tango's score interval of the difference of two paired proportions, `(won - lost) / pairs`.

    It holds every difference D that the score test does not reject: `|won - lost - n D| <= z sqrt(n (2 q + D (1 - D)))`
    with q the maximum-likelihood share of lost pairs under D (Tango 1998, Statistics in Medicine 17, 891-908). It stays
    within [-1, 1], has a width where nothing changed, and holds 0 just where McNemar's asymptotic test does not reject.

    Args:
        lost: `(C,)` integers >= 0, pairs that were right and became wrong.
        won: `(C,)` pairs that were wrong and became right.
        pairs: `(C,)` all pairs, n; 0 gives NaN.
        confidence: level of the interval, in (0, 1).

    Returns:
        Lower and upper ends, float64 `(C,)` each, shares in [-1, 1].

    Raises:
        InputError: counts that are not integers >= 0, more changes than pairs, or a level outside (0, 1).

    Example:
        >>> low, high = paired_interval([3, 0], [9, 0], [32, 10])
        >>> low.round(3), high.round(3)
        (array([-0.027, -0.278]), array([0.39 , 0.278]))
    """
    if not 0 < confidence < 1:
        raise InputError("confidence", repr(confidence), "a level in (0, 1)")
    down, up, n = _counts(lost=lost, won=won, pairs=pairs)
    if (down + up > n).any():
        raise InputError("pairs: fewer pairs than changes; lost and won must be among them")
    share_down, share_up = (np.divide(each, n, out=np.full(n.shape, np.nan), where=n > 0) for each in (down, up))
    margin = stats.norm.ppf((1 + confidence) / 2) ** 2 / np.maximum(n, 1)
    low = _end(share_down, share_up, margin, -1.0)
    high = _end(share_down, share_up, margin, 1.0)
    return low, high


def _end(down: np.ndarray, up: np.ndarray, margin: np.ndarray, outer: float) -> np.ndarray:
    """The difference between the observed one and `outer` where the score test begins to reject, by bisection."""
    observed = up - down
    inside, outside = observed, np.full_like(observed, outer)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        linear = (2 + down - up) * middle - down - up
        root = np.sqrt(np.maximum(linear**2 + 8 * down * middle * (1 - middle), 0))  # rounding may leave -1e-17
        nuisance = (root - linear) / 4
        variance = 2 * nuisance + middle * (1 - middle)
        accepted = np.square(observed - middle) <= margin * variance
        inside, outside = np.where(accepted, middle, inside), np.where(accepted, outside, middle)
    return np.where(np.isnan(observed), np.nan, (inside + outside) / 2)


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Agreement of two raters beyond chance: `(observed - expected) / (1 - expected)` (Cohen 1960).

    Args:
        first: `(N,)` integers >= 0, the class that one rater gives each example.
        second: `(N,)` those of the other.

    Returns:
        1 for full agreement, 0 for what chance gives; NaN where both give one and the same class throughout.

    Raises:
        InputError: other shapes or types, or no example.

    Example:
        >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0])
        0.5
    """
    one, other = _counts(first=first, second=second)
    if one.ndim != 1 or not len(one):
        raise InputError("first", f"shape {one.shape}", "(examples,) with one example or more")
    classes = int(max(one.max(), other.max())) + 1
    shares = (np.bincount(each, minlength=classes) / len(each) for each in (one, other))
    expected = float(np.dot(*shares))
    return float((np.mean(one == other) - expected) / (1 - expected)) if expected < 1 else float("nan")


def _counts(**named: ArrayLike) -> list[np.ndarray]:
    """The arguments as integer arrays of one shape."""
    arrays = [np.asarray(values) for values in named.values()]
    for name, array in zip(named, arrays, strict=True):
        if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
            raise InputError(f"{name}: allowed are integers, 0 or more")
        if array.shape != arrays[0].shape:
            raise InputError(f"{name}: shape {array.shape}, {next(iter(named))} has {arrays[0].shape}; they must agree")
    return [array.astype(np.int64) for array in arrays]
