"""Measurements of a gate on a population against a population."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from scipy import special

from tfaudit.audit.distortion.recall_distortion import distortion
from tfaudit.audit.exemplars import Exemplars, exemplars
from tfaudit.audit.gate.measurements import Drops, Slope
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.power import detectable_shift
from tfaudit.stats.t_tests import TTests, paired_test, welch

__all__ = ["PopulationMeasurements"]

MOST_MEMBERS = 10_000
"""Populations larger than this are no remedy."""


@dataclasses.dataclass(frozen=True)
class PopulationMeasurements:
    """Measurements on two populations: tests and intervals over members, with the test images taken as fixed.

    Attributes:
        baseline: 2 or more uncompressed members.
        compressed: 2 or more compressed members.
        alpha: level of the tests.
        paired: whether compressed members are made from the baseline's members of the same names: Student's paired
            test takes the place of Welch's.
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
            rows = [
                [side.members.index(member) for member in self._shared] for side in (self.compressed, self.baseline)
            ]
            return paired_test(compressed[rows[0]], baseline[rows[1]], confidence=1 - self.alpha)
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
            grain=np.divide(100.0, examples, out=np.full(len(examples), np.nan), where=examples > 0),
        )

    def _detectable(self, test: TTests, share: float = 0.0) -> np.ndarray:
        level = self.alpha * max(share, 1 / max(1, int(np.isfinite(test.p).sum())))
        quantile = special.stdtrit(test.df, 1 - self.alpha / 2)
        width = test.high - test.low
        error = np.divide(width / 2, quantile, out=np.zeros(width.shape), where=width != 0)
        shift = detectable_shift(error, test.df, alpha=level)
        return np.where(np.isfinite(test.p) & (shift <= 1), shift, np.nan)

    def harmed(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes with a lower centred recall and adjusted p <= alpha, [F] 2.2; the detectable drops."""
        after, before = self._recalls
        test = self._test(
            after - self.compressed.accuracy()[:, None],
            before - self.baseline.accuracy()[:, None],
        )
        harmed = (adjust(test.p, "bh") <= self.alpha) & (test.difference < 0)
        return harmed, 100 * self._detectable(test, share)

    @cached_property
    def pies(self) -> Exemplars:
        """Return the examples whose modal label changes."""
        return exemplars(self.baseline, self.compressed)

    def flips(self) -> float:
        """Return the share of PIEs."""
        return len(self.pies.index) / self.baseline.num_examples

    def negative_flips(self) -> float:
        """Return the share of PIEs whose baseline mode is right."""
        return self.pies.summary()["baseline_mode_right"] / self.baseline.num_examples

    def slope(self) -> Slope:
        """Return the mean slope of the members that both populations have, with Student's interval."""
        if len(self._shared) < 2:
            return Slope()
        result = distortion(self.baseline, self.compressed)
        slopes, mean = result.alpha, mean_interval(result.alpha, confidence=1 - self.alpha)
        shift = detectable_shift(slopes.std(ddof=1) / np.sqrt(len(slopes)), len(slopes) - 1, alpha=self.alpha)
        chance = f"Independently trained members have the slope {result.slope_between_dense:.2f} without compression."
        return Slope(
            float(mean.mean), float(mean.low), float(mean.high), 1 + float(shift), "" if self.paired else chance
        )

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
        level = drops.strictest_level(self.alpha)
        freedom = 1 if self.paired else 2
        now = len(self._shared) if self.paired else (self.baseline.num_members + self.compressed.num_members) / 2
        members = np.arange(2, MOST_MEMBERS + 1)
        shrink = np.sqrt(now / members) / detectable_shift(1, freedom * (now - 1), alpha=level)
        shifts = drops.detectable[row] * shrink * detectable_shift(1, freedom * (members - 1), alpha=level)
        return next(iter(members[shifts <= limit].tolist()), 0)
