"""What a gate measures on a population against a population."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from scipy import special

from tfaudit.audit.distortion.recall_distortion import Distortion, distortion
from tfaudit.audit.exemplars import Exemplars, exemplars
from tfaudit.audit.gate.measurements import Drops, Slope, smallest
from tfaudit.errors import require
from tfaudit.predictions import Predictions
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.power import detectable_shift
from tfaudit.stats.t_tests import WelchTest, paired_test, welch

__all__ = ["PopulationMeasurements"]

MOST_MEMBERS = 10_000


@dataclasses.dataclass(frozen=True)
class PopulationMeasurements:
    """Tests and intervals over members; the test images are taken as given.

    Attributes:
        baseline: K >= 2 members.
        compressed: K >= 2 members.
        alpha: level of the tests.
        paired: members of one name belong together, the one made from the other: Student's paired test in place of
            Welch's.
    """

    baseline: Predictions
    compressed: Predictions
    alpha: float
    paired: bool = False

    def __post_init__(self) -> None:
        shared = len(self._shared)
        require(not self.paired or shared >= 2, "paired", f"{shared} members of one name", "2 or more of them")

    @cached_property
    def _shared(self) -> list[object]:
        return [member for member in self.baseline.members if member in set(self.compressed.members)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the intervals cover."""
        return ("Intervals and tests are over the members of the populations, for these very images.",)

    def _test(self, compressed: np.ndarray, baseline: np.ndarray) -> WelchTest:
        """Of `(K, C)` figures of the members, by the test that fits how they came about."""
        if self.paired:
            rows = [[each.members.index(m) for m in self._shared] for each in (self.compressed, self.baseline)]
            return paired_test(compressed[rows[0]], baseline[rows[1]], confidence=1 - self.alpha)
        # Recalls are ratios of counts: rounding must not look like variance.
        return welch(np.round(compressed, 12), np.round(baseline, 12), confidence=1 - self.alpha)

    def overall(self) -> Drops:
        """The test of the accuracies."""
        test = self._test(self.compressed.accuracy()[:, None], self.baseline.accuracy()[:, None])
        return self._drops(("all examples",), np.array([self.baseline.num_examples]), test)

    def classes(self) -> Drops:
        """The test of each class's recall."""
        examples = np.bincount(self.baseline.labels, minlength=self.baseline.num_classes)
        return self._drops(self.baseline.class_names, examples, self._test(*self._recalls))

    @cached_property
    def _recalls(self) -> tuple[np.ndarray, np.ndarray]:
        return self.compressed.recall(), self.baseline.recall()

    def _drops(self, names: tuple[str, ...], examples: np.ndarray, test: WelchTest) -> Drops:
        return Drops(
            names=names,
            examples=examples,
            drop=np.round(-100 * test.difference, 9),  # a drop of just the limit is not beyond it
            low=-100 * test.high,
            high=-100 * test.low,
            p=adjust(test.p, "holm"),
            detectable=100 * self._detectable(test),
            grain=np.divide(100.0, examples, out=np.full(len(examples), np.nan), where=examples > 0),
        )

    def _detectable(self, test: WelchTest, share: float = 0.0) -> np.ndarray:
        level = self.alpha * max(share, 1 / max(1, int(np.isfinite(test.p).sum())))
        quantile = special.stdtrit(test.df, 1 - self.alpha / 2)
        width = test.high - test.low
        error = np.divide(width / 2, quantile, out=np.zeros(width.shape), where=width != 0)
        shift = detectable_shift(error, test.df, alpha=level)
        return np.where(np.isfinite(test.p) & (shift <= 1), shift, np.nan)

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower centred recall, [F] 2.2, and adjusted p <= alpha."""
        after, before = self._recalls
        test = self._test(
            after - self.compressed.accuracy()[:, None],
            before - self.baseline.accuracy()[:, None],
        )
        harmed = (adjust(test.p, "bh") <= self.alpha) & (test.difference < 0)
        return harmed, 100 * self._detectable(test, share)

    @cached_property
    def pies(self) -> Exemplars:
        """Examples whose modal label changes."""
        return exemplars(self.baseline, self.compressed)

    def flips(self) -> float:
        """Share of PIEs."""
        return len(self.pies.index) / self.baseline.num_examples

    def negative_flips(self) -> float:
        """Share of PIEs whose baseline mode is right."""
        return self.pies.summary()["baseline_mode_right"] / self.baseline.num_examples

    def slope(self) -> Slope:
        """Mean over the members that both populations have, with Student's interval."""
        if len(self._shared) < 2:
            return Slope()
        found = distortion(self.baseline, self.compressed)
        mean, error = mean_interval(found.alpha, confidence=1 - self.alpha), found.alpha.std(ddof=1)
        shift = detectable_shift(error / np.sqrt(len(found.alpha)), len(found.alpha) - 1, alpha=self.alpha)
        return Slope(float(mean.mean), float(mean.low), float(mean.high), 1 + float(shift), self._apart(found))

    def _apart(self, found: Distortion) -> str:
        if self.paired:
            return ""
        return f"Members trained apart have {found.slope_between_dense:.2f} without compression."

    def remedy(self, drops: Drops, row: int, limit: float) -> str:
        """Examples where one weighs more than the limit, else members per population."""
        if not drops.grain[row] <= limit:
            weight = f", each of which weighs {drops.grain[row]:.2f} points" if drops.examples[row] else ""
            enough = f"; to vouch for {limit:g} takes {int(np.ceil(100 / limit)):,} or more" if limit > 0 else ""
            return f"There are {drops.examples[row]:,} examples{weight}{enough}."
        sizes = f"{self.baseline.num_members} and {self.compressed.num_members} members"
        shown = f"{f'{len(self._shared)} pairs of members' if self.paired else sizes} {smallest(drops.detectable[row])}"
        members = self._members_needed(drops, row, limit)
        return f"{shown}; one of {limit:g} takes about {members:,} members each." if members else f"{shown}."

    def _members_needed(self, drops: Drops, row: int, limit: float) -> int:
        """Errors fall with the root of the members, quantiles of t with their degrees of freedom; 0: too many."""
        level = self.alpha / max(1, int(np.count_nonzero(drops.examples)))
        freedom = 1 if self.paired else 2
        now = len(self._shared) if self.paired else (self.baseline.num_members + self.compressed.num_members) / 2
        members = np.arange(2, MOST_MEMBERS + 1)
        shrink = np.sqrt(now / members) / detectable_shift(1, freedom * (now - 1), alpha=level)
        shifts = drops.detectable[row] * shrink * detectable_shift(1, freedom * (members - 1), alpha=level)
        return next(iter(members[shifts <= limit].tolist()), 0)
