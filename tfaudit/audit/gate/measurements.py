"""Measurements of a gate on a pair of models and on two populations; shares are in [0, 1]."""

import dataclasses
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tfaudit.audit.distortion.recall_distortion import distortion
from tfaudit.audit.epoch_metrics import intensification
from tfaudit.audit.exemplars import exemplars
from tfaudit.audit.model_pair import Overall, PairComparison, compare
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.least_squares import slope
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.power import detectable_drop, detectable_shift, examples_needed
from tfaudit.stats.ratios import normalised_balance, ratio
from tfaudit.stats.t_tests import TTests, paired_test, welch

RESAMPLES = 1000
"""Bootstrap samples of the slope of a pair."""

MOST_MEMBERS = 10_000
"""Populations larger than this are no remedy."""


@dataclasses.dataclass(frozen=True)
class Drops:
    """Drops of accuracy or recall: `(C,)` arrays, one entry per class or one for all examples, percentage points.

    Attributes:
        names: names of the classes.
        examples: number of test examples.
        drop: before minus after; NaN without examples.
        low, high: ends of its interval at level 1 - alpha, without correction for the number of classes.
        p: p-value of no change, after Holm's correction over the classes.
        detectable: smallest drop that a test detects with power 80 % at the strictest of Holm's levels; else NaN.
        grain: weight of one example, if the interval does not cover the sampling of examples; else 0.
    """

    names: tuple[str, ...]
    examples: np.ndarray
    drop: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    detectable: np.ndarray
    grain: np.ndarray

    def detects(self, row: int) -> str:
        """Return the smallest detectable drop as the end of a sentence: "detect a drop of 31.25 points or more"."""
        smallest = self.detectable[row]
        return "detect no drop reliably" if np.isnan(smallest) else f"detect a drop of {smallest:.2f} points or more"


def _strictest_level(examples: np.ndarray, alpha: float) -> float:
    """Return the strictest of the levels at which Holm's correction tests the classes with examples."""
    return alpha / max(1, int(np.count_nonzero(examples)))


@dataclasses.dataclass(frozen=True)
class Slope:
    """Intensification, [R] 5; NaN if it is undefined.

    `low` and `high` are the ends of its interval at level 1 - alpha; a test detects a slope of `detectable` or more
    above 1 with power 80 %; `remark` is a sentence that helps to interpret the value, or "".
    """

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    detectable: float = np.nan
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class PairMeasurements:
    """Measurements on one model against one model: exact McNemar tests, intervals over examples.

    Tests are at level `alpha`; `seed` is that of the bootstrap.
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
        overall = self.comparison.overall
        return self._drops(("all examples",), overall, overall.p, self.alpha)

    def classes(self) -> Drops:
        """Return the drop of each class's recall, tested by McNemar's test."""
        level = _strictest_level(self.comparison.examples, self.alpha)
        return self._drops(self.comparison.class_names, self.comparison, self.comparison.p_holm, level)

    def _drops(self, names: tuple[str, ...], counts: PairComparison | Overall, p: ArrayLike, level: float) -> Drops:
        examples, lost, won = (np.atleast_1d(count) for count in (counts.examples, counts.lost, counts.won))
        return Drops(
            names=names,
            examples=examples,
            drop=ratio(100 * (lost - won), examples),
            low=np.atleast_1d(-100 * counts.high),
            high=np.atleast_1d(-100 * counts.low),
            p=np.atleast_1d(p),
            detectable=100 * detectable_drop(examples, won, alpha=level),
            grain=np.zeros(len(examples)),
        )

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return `(C,)` booleans, the classes with a lower recall and adjusted p <= alpha; and the detectable drops.

        The drops are `(C,)` percentage points, NaN if none is detectable. Their level is that of Benjamini and
        Hochberg's procedure when `share` of the classes, as many as may be harmed, is harmed.
        """
        harmed = (self.comparison.p_bh <= self.alpha) & (self.comparison.difference < 0)
        level = max(self.alpha * share, _strictest_level(self.comparison.examples, self.alpha))
        return harmed, 100 * detectable_drop(self.comparison.examples, self.comparison.won, alpha=level)

    def flips(self) -> tuple[float, float]:
        """Return the shares of the examples with another top-1 class, and of those that turn from right to wrong."""
        whole = self.comparison.overall
        return (whole.lost + whole.won + whole.other_wrong) / whole.examples, whole.lost / whole.examples

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
        """Return the detectable drop and the examples a limit takes, at the larger gains of the class and of all."""
        gains = self.comparison.overall.won / self.comparison.overall.examples
        if len(drops.names) > 1 and drops.examples[row]:
            gains = max(gains, self.comparison.won[row] / drops.examples[row])
        detected = f"{drops.examples[row]:,} examples {drops.detects(row)}"
        if limit <= 0 or 2 * gains + limit / 100 > 1:
            return f"{detected}."
        needed = examples_needed(limit / 100, gains, alpha=_strictest_level(drops.examples, self.alpha))
        return f"{detected}; one of {limit:g} takes about {needed:,} examples."


@dataclasses.dataclass(frozen=True)
class PopulationMeasurements:
    """Measurements on two populations, of 2 or more members each, with the test images taken as fixed.

    Tests at level `alpha` and intervals are over members. If compressed members are made from the baseline's members of
    the same names (`paired`), Student's paired test takes the place of Welch's.
    """

    baseline: Predictions
    compressed: Predictions
    alpha: float
    paired: bool = False

    def __post_init__(self) -> None:
        shared = len(self._shared)
        if self.paired and shared < 2:
            raise InputError("paired", f"{shared} members of the same name in both populations", "2 or more")

    @cached_property
    def _shared(self) -> list[object]:
        return [member for member in self.baseline.members if member in set(self.compressed.members)]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the intervals cover."""
        return ("Intervals and tests are over the members of the populations, with these test images fixed.",)

    def _test(self, compressed: np.ndarray, baseline: np.ndarray) -> TTests:
        """Test `(K, C)` accuracies or recalls of the members, by the paired test or by Welch's."""
        if self.paired:
            sides = (self.compressed, compressed), (self.baseline, baseline)
            pairs = (rates[[side.members.index(member) for member in self._shared]] for side, rates in sides)
            return paired_test(*pairs, confidence=1 - self.alpha)
        # Recalls are ratios of counts: rounding must not look like variance.
        return welch(np.round(compressed, 12), np.round(baseline, 12), confidence=1 - self.alpha)

    def overall(self) -> Drops:
        """Return the drop of the mean accuracy."""
        test = self._test(self.compressed.accuracy()[:, None], self.baseline.accuracy()[:, None])
        return self._drops(("all examples",), np.array([self.baseline.num_examples]), test)

    def classes(self) -> Drops:
        """Return the drop of each class's mean recall."""
        examples = np.bincount(self.baseline.labels, minlength=self.baseline.num_classes)
        return self._drops(self.baseline.class_names, examples, self._test(*self._recalls))

    @cached_property
    def _recalls(self) -> tuple[np.ndarray, np.ndarray]:
        return self.compressed.recall(), self.baseline.recall()

    def _drops(self, names: tuple[str, ...], examples: np.ndarray, test: TTests) -> Drops:
        return Drops(
            names=names,
            examples=examples,
            drop=np.round(-100 * test.difference, 9),  # a drop of exactly the limit is not beyond it
            low=-100 * test.high,
            high=-100 * test.low,
            p=adjust(test.p, "holm"),
            detectable=100 * self._detectable(test),
            grain=ratio(100, examples),
        )

    def _detectable(self, test: TTests, share: float = 0.0) -> np.ndarray:
        level = self.alpha * max(share, 1 / max(1, int(np.isfinite(test.p).sum())))
        quantile = special.stdtrit(test.df, 1 - self.alpha / 2)
        width = test.high - test.low
        error = np.divide(width / 2, quantile, out=np.zeros(width.shape), where=width != 0)
        shift = detectable_shift(error, test.df, alpha=level)
        return np.where(np.isfinite(test.p) & (shift <= 1), shift, np.nan)

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for centred recall, [F] 2.2."""
        after, before = self._recalls
        test = self._test(after - self.compressed.accuracy()[:, None], before - self.baseline.accuracy()[:, None])
        harmed = (adjust(test.p, "bh") <= self.alpha) & (test.difference < 0)
        return harmed, 100 * self._detectable(test, share)

    def flips(self) -> tuple[float, float]:
        """Return the shares of PIEs, and of PIEs whose baseline mode is right."""
        pies, examples = exemplars(self.baseline, self.compressed), self.baseline.num_examples
        return len(pies.index) / examples, pies.summary()["baseline_mode_right"] / examples

    def slope(self) -> Slope:
        """Return the mean slope of the members that both populations have, with Student's interval."""
        if len(self._shared) < 2:
            return Slope()
        result = distortion(self.baseline, self.compressed)
        slopes, mean = result.alpha, mean_interval(result.alpha, confidence=1 - self.alpha)
        shift = detectable_shift(slopes.std(ddof=1) / np.sqrt(len(slopes)), len(slopes) - 1, alpha=self.alpha)
        chance = f"Independently trained members have the slope {result.slope_between_dense:.2f} without compression."
        remark = "" if self.paired else chance
        return Slope(float(mean.mean), float(mean.low), float(mean.high), 1 + float(shift), remark)

    def remedy(self, drops: Drops, row: int, limit: float) -> str:
        """Return how many examples the limit takes if one weighs more than it, else how many members."""
        if not drops.grain[row] <= limit:
            weight = f", each of which weighs {drops.grain[row]:.2f} points" if drops.examples[row] else ""
            enough = f"; a limit of {limit:g} takes {int(np.ceil(100 / limit)):,} or more" if limit > 0 else ""
            return f"There are {drops.examples[row]:,} examples{weight}{enough}."
        members = f"{self.baseline.num_members} and {self.compressed.num_members} members"
        detected = f"{f'{len(self._shared)} pairs of members' if self.paired else members} {drops.detects(row)}"
        needed = self._members_needed(drops, row, limit)
        return f"{detected}; one of {limit:g} takes about {needed:,} members each." if needed else f"{detected}."

    def _members_needed(self, drops: Drops, row: int, limit: float) -> int:
        """Return the members that a population takes, 0 if more than `MOST_MEMBERS`.

        The standard error falls with the square root of the members, the quantile of t with their degrees of freedom.
        """
        level = _strictest_level(drops.examples, self.alpha)
        freedom = 1 if self.paired else 2
        now = len(self._shared) if self.paired else (self.baseline.num_members + self.compressed.num_members) / 2
        members = np.arange(2, MOST_MEMBERS + 1)
        shrink = np.sqrt(now / members) / detectable_shift(1, freedom * (now - 1), alpha=level)
        shifts = drops.detectable[row] * shrink * detectable_shift(1, freedom * (members - 1), alpha=level)
        return next(iter(members[shifts <= limit].tolist()), 0)


Measurements: TypeAlias = PairMeasurements | PopulationMeasurements
"""What the checks measure on; both classes have the same methods."""
