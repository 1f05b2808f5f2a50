"""Measurements of a gate on one model against one model."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from tfaudit.audit.epoch_metrics import intensification
from tfaudit.audit.gate.measurements import Drops, Slope
from tfaudit.audit.model_pair import PairComparison, compare
from tfaudit.predictions import Predictions
from tfaudit.stats.change import normalised_balance
from tfaudit.stats.least_squares import slope
from tfaudit.stats.power import detectable_drop, detectable_shift, examples_needed

__all__ = ["PairMeasurements"]

RESAMPLES = 1000


@dataclasses.dataclass(frozen=True)
class PairMeasurements:
    """Measurements on one model against one model: exact McNemar tests, intervals over examples.

    Attributes:
        baseline: the uncompressed model.
        compressed: the compressed one, on the same examples.
        alpha: level of the tests.
        seed: seed of the bootstrap.
    """

    baseline: Predictions
    compressed: Predictions
    alpha: float
    seed: int = 0

    @cached_property
    def comparison(self) -> PairComparison:
        """Return the comparison that every measurement is read from."""
        return compare(self.baseline, self.compressed, alpha=self.alpha)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of the comparison."""
        return self.comparison.notes

    def overall(self) -> Drops:
        """Return the drop of accuracy, tested by McNemar's test over all examples."""
        whole = self.comparison.overall
        return Drops(
            names=("all examples",),
            examples=np.array([whole.examples]),
            drop=np.array([100 * (whole.lost - whole.won) / whole.examples]),
            low=np.array([-100 * whole.high]),
            high=np.array([-100 * whole.low]),
            p=np.array([whole.p]),
            detectable=100 * detectable_drop([whole.examples], [whole.won], alpha=self.alpha),
            grain=np.zeros(1),
        )

    def classes(self) -> Drops:
        """Return the drop of each class's recall, tested by McNemar's test."""
        pair = self.comparison
        return Drops(
            names=pair.class_names,
            examples=pair.examples,
            drop=_share(100 * (pair.lost - pair.won), pair.examples),
            low=-100 * pair.high,
            high=-100 * pair.low,
            p=pair.p_holm,
            detectable=100 * detectable_drop(pair.examples, pair.won, alpha=self._level),
            grain=np.zeros(len(pair.examples)),
        )

    @property
    def _level(self) -> float:
        """Return the strictest of Holm's levels."""
        return self.alpha / max(1, int(np.count_nonzero(self.comparison.examples)))

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes with a lower recall and adjusted p <= alpha, and the detectable drops."""
        harmed = (self.comparison.p_bh <= self.alpha) & (self.comparison.difference < 0)
        level = max(self.alpha * share, self._level)
        return harmed, 100 * detectable_drop(self.comparison.examples, self.comparison.won, alpha=level)

    def flips(self) -> float:
        """Return the share of the examples with another top-1 class."""
        whole = self.comparison.overall
        return (whole.lost + whole.won + whole.other_wrong) / whole.examples

    def negative_flips(self) -> float:
        """Return the share of the examples that turn from right to wrong."""
        return self.comparison.overall.lost / self.comparison.overall.examples

    def slope(self) -> Slope:
        """Return intensification with the percentile interval of a seeded bootstrap of each class's examples."""
        before, after = self.baseline, self.compressed
        value = intensification(before.labels, after.top1[0], before.top1[0])
        slopes = self._resampled_slopes()
        if not np.isfinite(value) or not np.isfinite(slopes).all():
            return Slope(value)
        low, high = np.quantile(slopes, [self.alpha / 2, 1 - self.alpha / 2])
        shift = detectable_shift(slopes.std(ddof=1), np.inf, alpha=self.alpha)
        return Slope(value, float(low), float(high), 1 + float(shift))

    def _resampled_slopes(self) -> np.ndarray:
        """Return the slopes of `RESAMPLES` bootstrap samples, drawn from each class's counts.

        The examples of a class are of four kinds: right in both models, lost, won, wrong in both. One lost and one won
        example are spread over all classes: without them a pair that does not differ would show no uncertainty.
        """
        pair = self.comparison
        examples, lost, won, recall = (
            values[pair.examples > 0] for values in (pair.examples, pair.lost, pair.won, pair.recall_before)
        )
        both = np.rint(recall * examples).astype(int) - lost
        kinds = np.stack([both, lost, won, examples - both - lost - won], -1).astype(float)
        kinds[:, 1:3] += (examples / examples.sum())[:, None]
        kinds /= kinds.sum(1, keepdims=True)
        drawn = np.random.default_rng(self.seed).multinomial(examples, kinds, size=(RESAMPLES, len(examples)))
        right = drawn[..., 0] + drawn[..., 1], drawn[..., 0] + drawn[..., 2]
        balances = [normalised_balance(hits / examples, hits.sum(-1) / examples.sum()) for hits in right]
        return slope(*balances)

    def remedy(self, drops: Drops, row: int, limit: float) -> str:
        """Return how many examples the limit takes, at the gains of the class or, if larger, of all examples."""
        gains = self.comparison.overall.won / self.comparison.overall.examples
        if len(drops.names) > 1 and drops.examples[row]:
            gains = max(gains, self.comparison.won[row] / drops.examples[row])
        detected = f"{drops.examples[row]:,} examples {drops.detects(row)}"
        if limit <= 0 or 2 * gains + limit / 100 > 1:
            return f"{detected}."
        needed = examples_needed(limit / 100, gains, alpha=drops.strictest_level(self.alpha))
        return f"{detected}; one of {limit:g} takes about {needed:,} examples."


def _share(counts: np.ndarray, examples: np.ndarray) -> np.ndarray:
    return np.divide(counts, examples, out=np.full(len(examples), np.nan), where=examples > 0)
