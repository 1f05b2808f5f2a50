"""The share of many classes that lose more than a bound, although each class alone is measured too poorly to tell.

The losses of the classes are a sample of an unknown distribution, which is estimated without assumptions on its shape
(nonparametric maximum likelihood [La], by expectation and maximisation). The interval of the share holds every share
that the likelihood-ratio test does not reject [MV].
"""

import dataclasses
import functools

import numpy as np
from scipy import optimize, special

STRATUM = 20
"""Number of classes that a stratum of sizes reaches before it ends."""

_ALIKE, _UNLIKE = 2.0, 4.0
"""Ratios of the largest to the smallest size of a stratum with enough classes, and of any."""

_STEPS = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 12, 20])
"""Distances of losses from the bound, in units of the bound: no change is among them."""

_SMALLEST_UNIT = 0.01

_FEW_WON = np.array([0, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08])
_WON = np.append(_FEW_WON, [0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5])
"""Shares of images that change without any effect on the loss: as many are lost as are won.

With half as many, a share of exactly 10 % was excluded in 37 % of studies of 1,000 classes.
"""

_ITERATIONS, _CHECKED_EVERY, _LEAST_GAIN = 1000, 10, 3e-3
_RELAXATION = 1.7
"""Exponent of the factors of each iteration: up to 2 the maximum is the same and reached sooner."""

_START = 1e-5
"""What is added to the best weights before those of a given share are sought: no weight is then 0 for good."""

_LEAST_LOG = -200.0
_NEVER = 1e-9
"""Share of classes that stands for none, so that logarithms exist."""


def strata_of_sizes(sizes: np.ndarray) -> np.ndarray:
    """Return strata of classes of like size, `(C,)` integers: only classes of one stratum speak for each other.

    What classes of 500 images lose says nothing about classes of 20. A stratum holds sizes up to twice its smallest; if
    these are fewer than `STRATUM` classes, up to four times.

    Args:
        sizes: `(C,)` numbers of images.

    Example:
        >>> strata_of_sizes(np.array([500] * 30 + [40, 20, 600]))[[0, 30, 31, 32]]
        array([1, 0, 0, 1])
    """
    strata = np.zeros(len(sizes), int)
    stratum, members, smallest = 0, 0, np.inf
    for row in np.argsort(sizes, kind="stable"):
        most = _ALIKE if members >= STRATUM else _UNLIKE
        if sizes[row] > most * smallest:
            stratum, members = stratum + 1, 0
        smallest = sizes[row] if members == 0 else smallest
        members += 1
        strata[row] = stratum
    return strata


def can_show(images: np.ndarray, bound: float) -> np.ndarray:
    """Return whether so many images of a class can show that it loses less than a bound, `(C,)` booleans.

    They cannot if a loss beyond the bound is still more likely than not, under a flat prior, when none of them is lost.

    Args:
        images: `(C,)` numbers of images.
        bound: the loss in question, a share in [0, 1].

    Example:
        >>> can_show(np.array([5, 12, 13]), 0.05)
        array([False, False,  True])
    """
    return (1 - bound) ** (images + 1.0) <= 0.5


@dataclasses.dataclass(frozen=True)
class LossMixture:
    """Likelihoods of what was measured of the classes, at J possible losses.

    Attributes:
        losses: `(J,)` losses, shares in [-1, 1].
        likelihood: `(U, J)` likelihood of each different measurement at each loss, up to a factor per measurement.
        classes: `(U,)` number of classes with this measurement.
        bound: the loss in question, one of `losses`.
    """

    losses: np.ndarray
    likelihood: np.ndarray
    classes: np.ndarray
    bound: float

    @classmethod
    def of_pairs(
        cls,
        lost: np.ndarray,
        won: np.ndarray,
        images: np.ndarray,
        bound: float,
        *,
        shift: np.ndarray | float = 0.0,
    ) -> "LossMixture":
        """Return the mixture of classes whose images are lost, won or neither, with multinomial likelihoods.

        How many images change although no loss results may differ from class to class.

        Args:
            lost: `(C,)` numbers of images that became wrong; of populations any numbers >= 0, see `Losses`.
            won: `(C,)` numbers of images that became right.
            images: `(C,)` numbers of images.
            bound: the loss in question, a share in [0, 1].
            shift: by how much less the classes lose with these members than on average over members, a share or `(C,)`
                shares; 0 by default.
        """
        shifts = np.broadcast_to(shift, np.shape(lost))
        rows, classes = np.unique(
            np.column_stack([lost, won, images, shifts]), axis=0, return_counts=True
        )
        losses, balanced = (axis.ravel() for axis in np.meshgrid(_losses(bound), _WON))
        is_share = np.abs(losses) + 2 * balanced <= 1
        losses, balanced = losses[is_share], balanced[is_share]
        lost, won, images, shifts = rows.T[:, :, None]
        seen = losses - shifts
        kept = 1 - np.abs(seen) - 2 * balanced
        logs = (
            special.xlogy(lost, balanced + np.maximum(seen, 0))
            + special.xlogy(won, balanced + np.maximum(-seen, 0))
            + special.xlogy(images - lost - won, np.maximum(kept, 0))
        )
        logs[kept < 0] = -np.inf
        return cls(losses, _scaled(logs), classes, bound)

    @property
    def share(self) -> float:
        """Return the most likely share of classes that lose more than the bound."""
        return float(np.clip(self._best[0][self._more].sum(), 0, 1))

    def least_share(self, critical: float, known: float = 1.0) -> float:
        """Return the least share of classes that lose more than the bound; losses of exactly the bound do not count.

        Args:
            critical: quantile of the signed root of the likelihood ratio.
            known: a share that is possible: the result is no larger, and soon found if none below is possible.
        """
        value = min(self.share, known)
        if value <= _NEVER or self._excess(_NEVER, self._more, critical) <= 0:
            return 0.0
        ends = self._more, critical
        if self._excess(value, *ends) >= 0:
            return value
        return float(optimize.brentq(self._excess, _NEVER, value, ends, xtol=1e-4, rtol=0.01))

    def most_share(self, critical: float, known: float = 0.0) -> float:
        """Return the largest share of classes that lose the bound or more.

        Args:
            critical: quantile of the signed root of the likelihood ratio.
            known: a share that is possible: the result is no smaller, and soon found if none above is possible.

        Example:
            >>> none = np.zeros(1000, int)
            >>> mixture = LossMixture.of_pairs(none, none, none + 50, bound=0.05)
            >>> round(mixture.share, 4), round(mixture.most_share(1.96), 4)
            (0.0, 0.0021)
        """
        at_least = self.losses > self.bound - _NEVER
        value = max(float(self._best[0][at_least].sum()), known, _NEVER)
        ends = at_least, critical
        if value < 1 - _NEVER and self._excess(value, *ends) >= 0:
            return value
        if value >= 1 - _NEVER or self._excess(1 - _NEVER, *ends) <= 0:
            return 1.0
        return float(optimize.brentq(self._excess, value, 1 - _NEVER, ends, xtol=1e-4, rtol=0.01))

    @property
    def _more(self) -> np.ndarray:
        return self.losses > self.bound + _NEVER

    def _excess(self, share: float, part: np.ndarray, critical: float) -> float:
        """Return by how much the root of the likelihood ratio of a share of a part exceeds its quantile."""
        return float(np.sqrt(self._deviance(part, share))) - critical

    @functools.cached_property
    def _best(self) -> tuple[np.ndarray, float]:
        return self._fitted(np.ones(len(self.losses), bool), 1.0, np.ones(len(self.losses)))

    def _deviance(self, part: np.ndarray, share: float) -> float:
        """Return twice the log-likelihood that is lost if a part of the losses has this share of the classes."""
        start = self._best[0] + _START
        return 2 * max(self._best[1] - self._fitted(part, share, start)[1], 0.0)

    def _fitted(
        self, part: np.ndarray, share: float, start: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the most likely weights of the losses if a part has this share, and their log-likelihood."""

        def normalised(weights: np.ndarray) -> np.ndarray:
            inside, outside = (max(weights[of].sum(), 1e-300) for of in (part, ~part))
            return weights * np.where(part, share / inside, (1 - share) / outside)

        weights = normalised(start)
        reached = -np.inf
        for iteration in range(_ITERATIONS):
            density = self.likelihood @ weights
            if iteration % _CHECKED_EVERY == 0:
                last, reached = reached, float(self.classes @ np.log(density))
                if reached - last < _LEAST_GAIN:
                    break
            factors = (self.classes / density) @ self.likelihood / self.classes.sum()
            weights = normalised(weights * factors**_RELAXATION)
        return weights, reached


def _losses(bound: float) -> np.ndarray:
    """Return the losses of a mixture, closest to each other near the bound."""
    steps = max(bound, _SMALLEST_UNIT) * _STEPS
    losses = np.concatenate([bound - steps[::-1], [bound], bound + steps])
    return losses[np.abs(losses) <= 1]


def _scaled(logs: np.ndarray) -> np.ndarray:
    """Return likelihoods from their logarithms, at most 1 for each measurement, and never 0."""
    return np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), _LEAST_LOG))
