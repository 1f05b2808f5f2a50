"""The share of many classes that lose more than a bound, although each class alone is measured too poorly to tell.

The losses of the classes are a sample of an unknown distribution, which is estimated without assumptions on its shape
(nonparametric maximum likelihood [La], by expectation and maximisation). The interval of the share holds every share
that the likelihood-ratio test does not reject [MV].
"""

import dataclasses
import functools

import numpy as np
from scipy import optimize, special

_STEPS = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 12, 20])
"""Distances of losses from the bound, in units of the bound: no change is among them."""

_SMALLEST_UNIT = 0.01

_WON = np.array([0, 0.003, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5])
"""Shares of images that change without any effect on the loss: as many are lost as are won."""

_ITERATIONS, _CHECKED_EVERY, _LEAST_GAIN = 1000, 10, 3e-3
_RELAXATION = 1.7
"""Exponent of the factors of each iteration: up to 2 the maximum is the same and reached sooner."""

_LEAST_LOG = -200.0
_NEVER = 1e-9
"""Share of classes that stands for none, so that logarithms exist."""


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
        cls, lost: np.ndarray, won: np.ndarray, images: np.ndarray, bound: float
    ) -> "LossMixture":
        """Return the mixture of classes whose images are lost, won or neither, with multinomial likelihoods.

        How many images change although no loss results may differ from class to class.

        Args:
            lost: `(C,)` numbers of images that became wrong; of populations any numbers >= 0, see `Losses`.
            won: `(C,)` numbers of images that became right.
            images: `(C,)` numbers of images.
            bound: the loss in question, a share in [0, 1].
        """
        counts, classes = np.unique(
            np.column_stack([lost, won, images]), axis=0, return_counts=True
        )
        losses, balanced = (axis.ravel() for axis in np.meshgrid(_losses(bound), _WON))
        is_share = np.abs(losses) + 2 * balanced <= 1
        losses, balanced = losses[is_share], balanced[is_share]
        shares = np.stack([balanced + np.maximum(losses, 0), balanced + np.maximum(-losses, 0)])
        lost, won, images = counts.T[:, :, None]
        kept = np.maximum(1 - shares.sum(0), 0)
        logs = (
            special.xlogy(lost, shares[0])
            + special.xlogy(won, shares[1])
            + special.xlogy(images - lost - won, kept)
        )
        return cls(losses, _scaled(logs), classes, bound)

    def share_beyond(self, critical: float = 1.96) -> tuple[float, float, float]:
        """Return the estimated share of classes that lose more than the bound, and both ends of its interval.

        Losses of exactly the bound count for the upper end, but not for the lower end.

        Args:
            critical: quantile of the signed root of the likelihood ratio, 1.96 by default for an interval of 95 %.

        Example:
            >>> none = np.zeros(1000, int)
            >>> share = LossMixture.of_pairs(none, none, none + 50, bound=0.05).share_beyond()
            >>> [round(figure, 4) for figure in share]
            [0.0, 0.0, 0.0021]
        """
        weights = self._best[0]
        more = self.losses > self.bound + _NEVER
        at_least = self.losses > self.bound - _NEVER

        def excess(share: float, part: np.ndarray) -> float:
            return np.sqrt(self._deviance(part, share)) - critical

        value, most = (float(np.clip(weights[part].sum(), 0, 1)) for part in (more, at_least))
        low, high = 0.0, 1.0
        if value > _NEVER and excess(_NEVER, more) > 0:
            low = optimize.brentq(excess, _NEVER, value, (more,), xtol=1e-4, rtol=0.01)
        if most < 1 - _NEVER and excess(1 - _NEVER, at_least) > 0:
            least = max(most, _NEVER)
            high = optimize.brentq(excess, least, 1 - _NEVER, (at_least,), xtol=1e-4, rtol=0.01)
        return value, low, high

    @functools.cached_property
    def _best(self) -> tuple[np.ndarray, float]:
        return self._fitted(np.ones(len(self.losses), bool), 1.0)

    def _deviance(self, part: np.ndarray, share: float) -> float:
        """Return twice the log-likelihood that is lost if a part of the losses has this share of the classes."""
        return 2 * max(self._best[1] - self._fitted(part, share)[1], 0.0)

    def _fitted(self, part: np.ndarray, share: float) -> tuple[np.ndarray, float]:
        """Return the most likely weights of the losses if a part has this share, and their log-likelihood."""

        def normalised(weights: np.ndarray) -> np.ndarray:
            inside, outside = (max(weights[of].sum(), 1e-300) for of in (part, ~part))
            return weights * np.where(part, share / inside, (1 - share) / outside)

        weights = normalised(np.ones(len(self.losses)))
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
