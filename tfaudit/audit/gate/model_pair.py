"""What a gate measures on one model against one model."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from tfaudit.audit.epoch_metrics import intensification
from tfaudit.audit.gate.measurements import Drops, Slope, smallest
from tfaudit.audit.model_pair import PairComparison, compare
from tfaudit.predictions import Predictions
from tfaudit.stats.balance import normalised_balance, slope
from tfaudit.stats.power import detectable_drop, detectable_shift, examples_needed

__all__ = ["PairMeasurements"]

RESAMPLES = 1000


@dataclasses.dataclass(frozen=True)
class PairMeasurements:
    """One model against one model: exact McNemar tests, intervals over examples."""

    baseline: Predictions
    compressed: Predictions
    alpha: float
    seed: int = 0

    @cached_property
    def pair(self) -> PairComparison:
        """The comparison that everything is read from."""
        return compare(self.baseline, self.compressed, alpha=self.alpha)

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the comparison."""
        return self.pair.notes

    def overall(self) -> Drops:
        """McNemar over all examples."""
        whole = self.pair.overall
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
        """McNemar per class."""
        pair = self.pair
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
        """Of the strictest of Holm's tests."""
        return self.alpha / max(1, int(np.count_nonzero(self.pair.examples)))

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower recall and adjusted p <= alpha."""
        harmed = (self.pair.p_bh <= self.alpha) & (self.pair.difference < 0)
        level = max(self.alpha * share, self._level)
        return harmed, 100 * detectable_drop(self.pair.examples, self.pair.won, alpha=level)

    def flips(self) -> float:
        """Share of the examples with another top-1 class."""
        whole = self.pair.overall
        return (whole.lost + whole.won + whole.other_wrong) / whole.examples

    def negative_flips(self) -> float:
        """Share of the examples that were right and became wrong."""
        return self.pair.overall.lost / self.pair.overall.examples

    def slope(self) -> Slope:
        """With the percentile interval of a seeded bootstrap of each class's examples."""
        before, after = self.baseline, self.compressed
        value = intensification(before.labels, after.top1[0], before.top1[0])
        slopes = self._resampled_slopes()
        if not np.isfinite(value) or not np.isfinite(slopes).all():
            return Slope(value)
        low, high = np.quantile(slopes, [self.alpha / 2, 1 - self.alpha / 2])
        shift = detectable_shift(slopes.std(ddof=1), np.inf, alpha=self.alpha)
        return Slope(value, float(low), float(high), 1 + float(shift))

    def _resampled_slopes(self) -> np.ndarray:
        """A class's examples are of four kinds: right in both models, lost, won, wrong in both. So counts suffice.

        One example lost and one won, spread over all classes, are added: without them a pair that does not differ on
        these examples would show no uncertainty at all.
        """
        pair, held = self.pair, self.pair.examples > 0
        examples, lost, won = pair.examples[held], pair.lost[held], pair.won[held]
        both = np.rint(pair.recall_before[held] * examples).astype(int) - lost
        kinds = np.stack([both, lost, won, examples - both - lost - won], -1).astype(float)
        kinds[:, 1:3] += (examples / examples.sum())[:, None]
        kinds /= kinds.sum(1, keepdims=True)
        drawn = np.random.default_rng(self.seed).multinomial(examples, kinds, size=(RESAMPLES, len(examples)))
        right = drawn[..., 0] + drawn[..., 1], drawn[..., 0] + drawn[..., 2]
        balances = [normalised_balance(each / examples, each.sum(-1) / examples.sum()) for each in right]
        return slope(*balances)

    def remedy(self, drops: Drops, row: int, limit: float) -> str:
        """Examples, at the share of gains of the class or of all examples, whichever is larger."""
        gains = self.pair.overall.won / self.pair.overall.examples
        if len(drops.names) > 1 and drops.examples[row]:
            gains = max(gains, self.pair.won[row] / drops.examples[row])
        shown = f"{drops.examples[row]:,} examples {smallest(drops.detectable[row])}"
        if limit <= 0 or 2 * gains + limit / 100 > 1:
            return f"{shown}."
        level = self.alpha / max(1, int(np.count_nonzero(drops.examples)))
        return f"{shown}; one of {limit:g} takes about {examples_needed(limit / 100, gains, alpha=level):,} examples."


def _share(counts: np.ndarray, examples: np.ndarray) -> np.ndarray:
    return np.divide(counts, examples, out=np.full(len(examples), np.nan), where=examples > 0)
