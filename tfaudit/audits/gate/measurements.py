"""Measurements of a compressed model for a gate, made once: limits can change without reading predictions again."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy import special

from tfaudit.audits.classes.classes import (
    NEAR_ZERO,
    collapsed_classes,
    empty_class_notes,
    small_class_notes,
)
from tfaudit.audits.comparison import Comparison, OutcomeComparison, comparison_of
from tfaudit.audits.doubts import Doubt, OrderDoubts, doubts_of, order_doubts
from tfaudit.audits.robustness.condition_rates import (
    CorruptionLevel,
    level_in_words,
    matched_conditions,
)
from tfaudit.audits.ties import TieReading, no_ties, tie_reading
from tfaudit.errors import listed, plural, require
from tfaudit.outcomes import Outcomes
from tfaudit.predictions import Predictions
from tfaudit.stats.change_intervals import Change, GroupChanges, critical_value
from tfaudit.stats.changes import mean_change
from tfaudit.stats.class_metrics import MetricChanges
from tfaudit.stats.contingency import (
    flip_counts,
    mcnemar,
    paired_difference_p,
    paired_interval,
)
from tfaudit.stats.flips import flips, flips_between_members, negative_flips
from tfaudit.stats.group_codes import group_codes
from tfaudit.stats.mixtures import LossMixture, can_show, strata_of_sizes
from tfaudit.stats.moderated_variances import strength_slope
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.precision import MOST_IMAGES, SampleSize, Spread, smallest
from tfaudit.stats.proportions import exact_interval
from tfaudit.stats.ratios import ratio
from tfaudit.stats.skewed_mean import upper_quantile

Corrupted = tuple[Mapping[CorruptionLevel, Predictions], Mapping[CorruptionLevel, Predictions]]
"""Predictions of a baseline and of a compressed model by corruption and severity."""


LEAST_CLUSTERS = 20
"""Effective number of clusters of images below which nothing passes: the largest cluster may be missing."""

CHANGES = ("change_pp", "change_low_pp", "change_high_pp")
"""Columns of a change and of both ends of its interval."""

ANGLES = (45, 75)
"""Degrees between 0, where losses vary by class alone, and 90, where they all shift together."""


@dataclasses.dataclass(frozen=True)
class Losses:
    """Losses of accuracy or recall, percentage points: `(C,)` arrays, an entry per class or corruption, or one.

    Attributes:
        names: names of the classes, or of the corruptions with their severity.
        examples: number of test images.
        before, after: mean accuracy or recall, shares; NaN without images.
        loss: before minus after.
        low, high: ends of its interval at level 1 - alpha.
        sure_low: lower end of the interval at level 1 - alpha / C, which holds for all entries at once.
        p: p-value of no change, without correction.
        units: number of independent images, or of clusters of images; clusters of unequal sizes count as fewer.
        of_images, of_members, overlap: components of the variance of a population's loss; see `Change`.
        lost, won: images that became wrong and right. For populations the images are weighted by how much they change,
            and divided by `per_image`.
        per_image: by how much the variance of a population's losses exceeds that of one model with these changes, in
            all classes of like size together; 1 for single models.
        few_clusters: whether the images form fewer than `LEAST_CLUSTERS` clusters, so that no loss can pass.
        moderated: whether the variance between members borrows strength from other classes; see `Change.moderated`.
        change: change of accuracy or recall of a population, or of precision, with its variance; None for accuracy and
            recall of single models.
    """

    names: tuple[str, ...]
    examples: np.ndarray
    before: np.ndarray
    after: np.ndarray
    loss: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sure_low: np.ndarray
    p: np.ndarray
    units: np.ndarray
    of_images: np.ndarray
    of_members: np.ndarray
    overlap: np.ndarray
    lost: np.ndarray
    won: np.ndarray
    per_image: np.ndarray
    few_clusters: np.ndarray
    moderated: bool = False
    change: Change | None = None

    @property
    def weighted_images(self) -> np.ndarray:
        """`(C,)` numbers of images, as `lost` and `won` are counted."""
        return self.examples / self.per_image

    def table(self) -> pd.DataFrame:
        """Return a row per entry, without the first column, its name.

        Columns: `examples`, `drop_pp`, `low_pp`, `high_pp`, `sure_low_pp` (lower end of the interval that holds for all
        entries at once) and `p_holm` (of no change).
        """
        return pd.DataFrame(
            {
                "examples": self.examples,
                "drop_pp": self.loss,
                "low_pp": self.low,
                "high_pp": self.high,
                "sure_low_pp": self.sure_low,
                "p_holm": adjust(self.p, "holm"),
            }
        )

    def changes(self) -> pd.DataFrame:
        """Return the changes, which are the losses with the other sign, in a row per entry without its name.

        Columns: `examples`, `before` and `after`, `change_pp`, `change_low_pp` and `change_high_pp`, and `p_holm`.
        """
        ends = zip(CHANGES, (self.loss, self.high, self.low), strict=True)
        return pd.DataFrame(
            {
                "examples": self.examples,
                "before": self.before,
                "after": self.after,
                **{name: 0.0 - values for name, values in ends},
                "p_holm": adjust(self.p, "holm"),
            }
        )

    def head(self, count: int) -> Losses:
        """Return the first entries alone."""
        return self._part(slice(count))

    def only(self, row: int) -> Losses:
        """Return one entry that was chosen before the losses were known: it is not corrected for the others."""
        part = self._part(slice(row, row + 1))
        return dataclasses.replace(part, sure_low=part.low)

    def _part(self, entries: slice) -> Losses:
        rows: dict[str, Any] = {
            name: value[entries]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray | tuple)
        }
        return dataclasses.replace(self, change=None, **rows)

    @classmethod
    def joined(cls, parts: Sequence[Losses]) -> Losses:
        """Return losses of one entry each as losses of many, whose variances borrow nothing from each other."""
        rows: dict[str, Any] = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in dataclasses.fields(cls)
            if isinstance(getattr(parts[0], field.name), np.ndarray)
        }
        return cls(tuple(name for part in parts for name in part.names), **rows)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A quantity and the ends of its interval at level 1 - alpha, NaN if the quantity is exact on these data.

    `remark` is a sentence that helps to interpret the value, or "". `change` holds the variance of a rate of changed
    predictions over images and members; None for other quantities, and for single models.
    """

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    remark: str = ""
    change: Change | None = None


@runtime_checkable
class TestedSlices(Protocol):
    """Slices of the images, chosen on one half of them and tested on the other, such as those of `tfaudit.slices`."""

    @property
    def tested(self) -> np.ndarray:
        """`(N,)` booleans, whether an image belongs to the half on which slices are tested."""

    @property
    def groups(self) -> np.ndarray:
        """`(N,)` integers, the number of the slice of each tested image, from 1; 0 for all other images."""

    def frame(self) -> pd.DataFrame:
        """Return one row per slice, with columns `slice`, its number, and `description`."""


@dataclasses.dataclass(frozen=True)
class Measurements:
    """Measurements of a compressed model or population against its baseline, for any limits.

    Attributes:
        members: numbers of members of the baseline and of the compressed population.
        pairs: number of pairs of members; 0 if the populations are independent, 1 for one model against one.
        alpha: level of the tests; intervals are at level 1 - alpha.
        clustered: whether the intervals are over clusters of images.
        overall: loss of accuracy.
        classes: loss of recall of every class; of classes that are not `listed`, only of those with examples.
        precision: loss of precision of every class, NaN for a class that one of the two never predicts; `examples` are
            all images, since every image may be taken for the class.
        f1: loss of the mean F1 of all classes.
        roc_area: loss of the area under the ROC curve of two classes; None for more, or without scores.
        average_precision: loss of the average precision of each of two classes; empty for more, or without scores.
        collapsed: `(C,)` booleans, classes that the compressed models no longer know; see `collapsed_classes`.
        blind_members: `(C,)` number of compressed members that almost never find the class, with a recall of .05 or
            less.
        flips: share of the predictions that change; for populations, the mean over pairs of members.
        negative_flips: share of predictions that turn from right to wrong, likewise.
        retrained: share of predictions that differ between two baseline models; NaN for a single one.
        ties: predictions in which classes tie, and their effect under the deployed `argmax`.
        doubts: what forbids a verdict on these measurements.
        notes: caveats for the reader, one sentence each.
        variants: number of variants of which one may be recommended.
        corrected: the same at the level alpha / `variants`; None for a single variant.
        corruptions: loss of accuracy under every corruption at every severity, which take the place of classes; None
            if no model was evaluated under corruption.
        corrupted_members: the fewest members of both populations that a corruption was evaluated with.
        groups: loss of accuracy of every named group of every column; None without columns of groups.
        score: what an example's mean outcome is called.
        of_errors: whether the outcomes are errors: `overall` is the increase of their mean, in their unit.
        slices: loss of accuracy of every slice on the images that were not searched; None without features.
    """

    members: tuple[int, int]
    pairs: int
    alpha: float
    clustered: bool
    overall: Losses
    classes: Losses
    precision: Losses
    f1: Losses
    roc_area: Losses | None
    average_precision: tuple[Losses, ...]
    collapsed: np.ndarray
    blind_members: np.ndarray
    flips: Estimate
    negative_flips: Estimate
    retrained: float
    ties: TieReading
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    variants: int = 1
    corrected: Measurements | None = None
    corruptions: Losses | None = None
    corrupted_members: tuple[int, int] = (0, 0)
    groups: Losses | None = None
    slices: Losses | None = None
    score: str = "accuracy"
    of_errors: bool = False

    @property
    def single(self) -> bool:
        """Whether one model is measured against one."""
        return self.members == (1, 1)

    @property
    def exact(self) -> bool:
        """Whether one model is measured against one on independent images, which exact methods are for."""
        return self.single and not self.clustered

    @property
    def members_a_side(self) -> int:
        """The number of pairs, or the size of two equally large populations that would be as informative."""
        return self.pairs or round(2 / (1 / self.members[0] + 1 / self.members[1]))

    def of_corrupted_members(self) -> Measurements:
        """Return these measurements with the numbers of members that were evaluated under corruption."""
        members = self.corrupted_members
        return dataclasses.replace(self, members=members, pairs=min(self.pairs, *members))

    def with_corruptions(self, corrupted: Corrupted, *, paired: bool | None = None) -> Measurements:
        """Return these measurements, and the `corrected` ones, with the losses under corruption.

        Args:
            corrupted: predictions of the baseline and of the compressed model by corruption and severity, as for
                `tfaudit.robustness`; each is read once.
            paired: as for `measure`.

        Raises:
            InputError: conditions, examples or classes that differ, or no pairs.
        """
        levels = matched_conditions(*corrupted)
        measured = [self] if self.corrected is None else [self, self.corrected]
        parts: list[list[Losses]] = [[] for _ in measured]
        members = []
        for level in levels:
            baseline, compressed = (side[level] for side in corrupted)
            members.append((baseline.num_members, compressed.num_members))
            for own, losses in zip(measured, parts, strict=True):
                comparison = Comparison(baseline, compressed, paired, own.alpha)
                whole = np.zeros_like(baseline.labels), (level_in_words(level),)
                losses.append(_losses_of(comparison, *whole, at_once=len(levels)))
        fewest = min(before for before, _ in members), min(after for _, after in members)
        known = [
            dataclasses.replace(own, corruptions=Losses.joined(losses), corrupted_members=fewest)
            for own, losses in zip(measured, parts, strict=True)
        ]
        return known[0] if len(known) == 1 else dataclasses.replace(known[0], corrected=known[1])

    def with_groups(
        self,
        baseline: Predictions | Outcomes,
        compressed: Predictions | Outcomes,
        columns: pd.DataFrame,
        *,
        least: int = 0,
        paired: bool | None = None,
    ) -> Measurements:
        """Return these measurements, and the `corrected` ones, with the losses of named groups.

        Args:
            baseline: as for `measure`.
            compressed: as for `measure`.
            columns: `(N, columns)` groups of the examples, as for `tfaudit.groups`.
            least: number of examples below which the groups of a column are judged together, as one group.
            paired: as for `measure`.

        Raises:
            InputError: another number of rows, or no columns.
        """
        require(len(columns.columns) > 0, "groups", "no columns", "one column of groups or more")
        named = [
            _at_least(
                *group_codes(columns[name], baseline.num_examples, str(name)), least, str(name)
            )
            for name in columns
        ]
        count = sum(len(names) for _, names in named)
        comparison = comparison_of(baseline, compressed, paired, self.alpha)
        parts = [_losses_of(comparison, codes, names, at_once=count) for codes, names in named]
        corrected = self.corrected
        if corrected is not None:
            corrected = corrected.with_groups(
                baseline, compressed, columns, least=least, paired=paired
            )
        return dataclasses.replace(self, groups=Losses.joined(parts), corrected=corrected)

    def with_slices(
        self,
        baseline: Predictions,
        compressed: Predictions,
        found: TestedSlices,
        *,
        paired: bool | None = None,
    ) -> Measurements:
        """Return these measurements, and the `corrected` ones, with the losses of slices.

        Args:
            baseline: as for `measure`.
            compressed: as for `measure`.
            found: slices of these predictions.
            paired: as for `measure`.
        """
        names = [
            f"slice {row['slice']} ({row['description']})"
            for row in found.frame().to_dict("records")
        ]
        count = len(names)
        others = count + np.where(found.tested, baseline.labels, baseline.num_classes)
        groups = np.where(found.groups > 0, found.groups - 1, others)
        every = (*names, *baseline.class_names, "searched")
        comparison = Comparison(baseline, compressed, paired, self.alpha)
        losses = _losses_of(comparison, groups, every, at_once=max(count, 1)).head(count)
        corrected = self.corrected
        if corrected is not None:
            corrected = corrected.with_slices(baseline, compressed, found, paired=paired)
        return dataclasses.replace(self, slices=losses, corrected=corrected)

    def decides(self, losses: Losses, row: int, limit: float) -> SampleSize | None:
        """Return the design that would decide whether a loss is above or below the limit, if the measured loss is true.

        It needs the smallest number of images with these members, or else of members with these images, or else of
        both; None if the loss equals the limit, has no interval, or no design of any size decides.

        Args:
            losses: `overall`, `classes`, `precision` or `corruptions`.
            row: position of the loss.
            limit: limit in percentage points.
        """
        gap = abs(float(losses.loss[row]) - limit)
        images = int(losses.examples[row])
        if not gap > 1e-9 or images == 0 or np.isnan(losses.units[row]):
            return None
        share = self.alpha / (len(losses.names) if losses.loss[row] > limit else 1)
        if self.exact and losses.change is None:
            return _images_of_a_pair(losses, row, limit, 1 - share)
        parts = tuple(
            float(values[row]) for values in (losses.of_images, losses.of_members, losses.overlap)
        )
        units, level = losses.units[row], 1 - share
        unit = 0 if self.of_errors else 100
        return self._needed(gap, parts, units, images, level, unit=unit, moderated=losses.moderated)

    def decides_rate(self, rate: Estimate, limit: float) -> SampleSize | None:
        """Return the design that would decide whether `flips` or `negative_flips` is above or below a limit.

        It is that of `decides`, if the measured rate is true.
        """
        gap = abs(rate.value - limit)
        images = int(self.overall.examples[0])
        if not gap > 1e-9:
            return None
        if change := rate.change:
            # The interval of rare events reaches further up than one of equal sides, less so with more data.
            equal = float(change.interval(1 - self.alpha)[1][0]) - rate.value
            gap *= min(1.0, equal / (rate.high - rate.value)) if limit > rate.value else 1.0
            variances = change.of_images, change.of_members, change.overlap
            parts = tuple(float(variance[0]) for variance in variances)
            units = change.units[0]
            return self._needed(gap, parts, units, images, 1 - self.alpha, unit=1)

        def enough(count: int) -> bool:
            low, high = exact_interval(rate.value * count, count, 1 - self.alpha)
            return not low <= limit <= high

        needed = smallest(images, MOST_IMAGES, enough)
        return SampleSize(needed, 1) if needed else None

    def _needed(
        self,
        gap: float,
        parts: tuple[float, ...],
        units: float,
        images: int,
        confidence: float,
        *,
        unit: float,
        moderated: bool = False,
    ) -> SampleSize | None:
        """Return the design whose interval is narrower than a gap, from the parts of the variance over the units."""
        design = SampleSize(round(float(units)), self.members_a_side)
        of_images, of_members, overlap = parts
        spread = Spread.measured(
            of_images,
            of_members,
            overlap,
            design,
            paired=bool(self.pairs),
            unit=unit,
            moderated=moderated,
        )
        needed = spread.decides(gap, design, confidence)
        if needed is None:
            return None
        # Clusters of images count as units; new ones have as many images.
        return SampleSize(math.ceil(needed.images * images / design.images), needed.members)

    def share_beyond(self, limit: float) -> Estimate:
        """Return the share of classes that lose more than a limit, percentage points; see `LossMixture`.

        Members that are stronger or weaker than others shift the losses of all classes together, which no number of
        classes averages out. The ends are the furthest under all shifts, which count with their own likelihood. Classes
        of like size speak for each other; the distances of the strata's ends from their values add up as independent
        errors do [ZD]. A class with too few images to show a loss, or none, may have lost more.
        """
        losses = self.classes
        known = ~self.unknown_classes(limit)
        if not known.any():
            return Estimate(np.nan, 0.0, 1.0)
        strata = strata_of_sizes(losses.examples[known])
        weights = np.bincount(strata) / len(strata)
        counts = losses.lost, losses.won, losses.weighted_images
        lost, won, images = (part[known] for part in counts)
        # Few members hardly tell how much losses vary; all classes together count as one more.
        freedom = self.pairs or sum(self.members) - 1
        parts = (np.nansum(losses.of_images), np.nansum(losses.of_members))
        widths = (
            float(critical_value(1 - self.alpha / 2, *parts, losses.units.sum(), degrees))
            for degrees in (freedom, np.inf)
        )
        # A share is no smooth function of the losses: by one degree of freedom, up to 12 % of intervals miss it.
        critical = float(np.sqrt(special.chdtri(2, self.alpha)) * ratio(*widths))

        def mixtures(shift: np.ndarray) -> list[LossMixture]:
            rows = (np.flatnonzero(strata == stratum) for stratum in range(len(weights)))
            return [
                LossMixture.of_pairs(
                    lost[own], won[own], images[own], limit / 100, shift=shift[own]
                )
                for own in rows
            ]

        unshifted = mixtures(np.zeros(len(strata)))
        value = float(weights @ [one.share for one in unshifted])
        lows = np.array([one.least_share(critical) for one in unshifted])
        highs = np.array([one.most_share(critical) for one in unshifted])
        low, high = _end(unshifted, lows, weights), _end(unshifted, highs, weights)
        common = self._common_shift()[known]
        for angle in np.radians(ANGLES) if common.any() else ():
            shift, reach = common * np.sin(angle), critical * np.cos(angle)
            down, up = mixtures(-shift), mixtures(shift)
            lows = np.array(
                [one.least_share(reach, end) for one, end in zip(down, lows, strict=True)]
            )
            highs = np.array(
                [one.most_share(reach, end) for one, end in zip(up, highs, strict=True)]
            )
            low = min(low, _end(down, lows, weights))
            high = max(high, _end(up, highs, weights))
        part = float(known.mean())
        return Estimate(value, part * low, part * high + 1 - part)

    def unknown_classes(self, limit: float) -> np.ndarray:
        """Return which classes have too few images, or clusters, to show a loss beyond a limit, `(C,)` booleans."""
        losses = self.classes
        units = np.nan_to_num(np.fmin(losses.units, losses.examples))
        return ~can_show(units, limit / 100) | losses.few_clusters

    def _common_shift(self) -> np.ndarray:
        """Return by how much members can shift the losses of all classes together, `(C,)` shares; 0 for single models.

        It is the members' part of the change of accuracy at the level of the intervals, divided among the classes by
        `strength_slope`, as in `Change.moderated`.
        """
        losses = self.classes
        slope = strength_slope(losses.before)
        if (change := self.overall.change) is None:
            return np.zeros(len(slope))
        quantile = special.stdtrit(change.df_members, 1 - self.alpha / 2)
        common = float((quantile * np.sqrt(change.of_members))[0])
        return common * slope * losses.examples.sum() / np.nansum(losses.examples * slope)

    def images_for_every_class(self, limit: float) -> int | None:
        """Return how many images of each class a limit on the worst class needs; None if no number is enough.

        With these, all classes pass in 4 of 5 studies if compression does no harm.
        """
        losses = self.classes
        known = losses.examples > 0
        images = float(losses.examples[known].mean())
        members = self.members_a_side
        of_images, of_members, overlap = (
            float(np.nanmean(part[known]))
            for part in (losses.of_images, losses.of_members, losses.overlap)
        )
        shared = min(overlap, of_images, of_members)
        spread = Spread(
            image=(of_images - shared) * images,
            member=(of_members - shared) * members,
            residual=shared * images * members,
            paired=bool(self.pairs),
            unit=100,
            moderated=losses.moderated,
        )
        critical = special.ndtri(1 - self.alpha / 2)
        half_width = limit / (1 + special.ndtri(0.8 ** (1 / known.sum())) / critical)
        if not half_width > 0:
            return None
        # However many members agree, one image of a class may be lost and another won.
        least = int(100 * np.sqrt(2) * critical / half_width)
        return spread.images_needed(half_width, members, 1 - self.alpha, start=least)


def _images_of_a_pair(
    losses: Losses, row: int, limit: float, confidence: float
) -> SampleSize | None:
    """Return the images at which Tango's interval, with the present shares lost and won, excludes the limit."""
    images = int(losses.examples[row])
    lost = losses.lost[row]
    won = losses.won[row]
    above = losses.loss[row] > limit

    def enough(factor: float) -> bool:
        down, up, n = (round(factor * count) for count in (lost, won, images))
        (p,) = paired_difference_p([down], [up], [n], -limit / 100)
        return bool(p <= 1 - confidence) and (100 * (down - up) > limit * n) == above

    under, over = 0.0, 2.0
    while not enough(over):
        under = over
        over = 2 * over
        if over * images > MOST_IMAGES:
            return None
    while over - under > 0.01 * over:
        middle = (under + over) / 2
        under, over = (under, middle) if enough(middle) else (middle, over)
    return SampleSize(int(np.ceil(over * images)), 1)


def measure(
    baseline: Predictions,
    compressed: Predictions,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
    variants: int = 1,
) -> Measurements:
    """Measure the losses of a compressed model or population against its baseline.

    Losses of populations have intervals over images and members [C]; losses of one model against one have Tango's
    interval over images and p-values of McNemar's exact test. For one model against one, shares of changed predictions
    have the exact interval of Clopper and Pearson. These exact methods take images as independent: if the images form
    clusters, single models have intervals over the clusters [Mi], as populations have. Shares of changed predictions
    are then means over pairs of members, or over all combinations if members are not paired, with an interval for rare
    events [FF].

    Args:
        baseline: the uncompressed model or population.
        compressed: the compressed one, on the same examples.
        paired: whether each compressed member of a population is made from the baseline's member of the same name; by
            default as `compressed.parents` says.
        alpha: level of the tests; intervals are at level 1 - alpha.
        variants: number of variants of which one is to be recommended: the result is then `corrected` for them, too.

    Raises:
        InputError: different examples, one model against a population, no pairs, or a level outside (0, 1).

    Example:
        >>> labels = [0] * 100 + [1] * 100
        >>> before, after = Predictions.from_top1(labels, labels), Predictions.from_top1(labels, [1] * 30 + labels[30:])
        >>> measure(before, after).classes.loss
        array([30.,  0.])
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    comparison.require_like_sides()
    shared = _Shared.of(comparison)
    stricter = dataclasses.replace(comparison, alpha=alpha / variants)
    return dataclasses.replace(
        _measured(comparison, shared),
        variants=variants,
        corrected=_measured(stricter, shared) if variants > 1 else None,
    )


@dataclasses.dataclass(frozen=True)
class _Shared:
    """What does not depend on the level of intervals: changes of metrics besides accuracy and recall, and doubts."""

    precision: MetricChanges
    f1: MetricChanges
    roc_area: MetricChanges | None
    average_precision: tuple[MetricChanges | None, ...]
    orders: OrderDoubts

    @classmethod
    def of(cls, comparison: Comparison) -> _Shared:
        """Return the changes of a comparison."""
        classes = range(min(2, comparison.baseline.num_classes))
        return cls(
            comparison.precision_changes(),
            comparison.f1_change(),
            comparison.roc_area_change(),
            tuple(comparison.average_precision_change(number) for number in classes),
            order_doubts(comparison),
        )


def _measured(comparison: Comparison, shared: _Shared) -> Measurements:
    """Return the measurements at the level of a comparison."""
    baseline, compressed = comparison.baseline, comparison.compressed
    single = _is_single(comparison)
    overall = _losses_of(comparison, np.zeros_like(baseline.labels), ("all examples",))
    judged = (comparison.class_examples > 0) | baseline.listed
    names = tuple(itertools.compress(baseline.class_names, judged))
    classes = _losses_of(comparison, np.cumsum(judged)[baseline.labels] - 1, names)
    recalls = baseline.recall(), compressed.recall()
    collapsed = collapsed_classes(*recalls, comparison.class_units, alpha=comparison.alpha)
    ties = tie_reading(comparison)
    area = shared.roc_area
    return Measurements(
        members=comparison.members,
        pairs=1 if single else comparison.pairs,
        alpha=comparison.alpha,
        clustered=comparison.clusters is not None,
        overall=overall,
        classes=classes,
        precision=metric_losses(comparison, names, shared.precision.of(judged)),
        f1=metric_losses(comparison, ("all classes",), shared.f1),
        roc_area=None if area is None else metric_losses(comparison, ("both classes",), area),
        average_precision=tuple(
            metric_losses(comparison, (name,), change)
            for name, change in zip(baseline.class_names, shared.average_precision, strict=False)
            if change is not None
        ),
        collapsed=collapsed[judged],
        blind_members=(recalls[1] <= NEAR_ZERO).sum(0)[judged],
        flips=_flip_rate(comparison),
        negative_flips=_negative_flip_rate(comparison),
        retrained=_retrained(comparison),
        ties=ties,
        doubts=doubts_of(comparison, shared.orders),
        notes=(
            *ties.sentences(),
            *comparison.notes,
            *_few_clusters_notes(overall),
            *empty_class_notes(baseline.class_names, comparison.class_examples),
            *(small_class_notes(classes.examples, comparison.alpha) if comparison.exact else ()),
        ),
    )


def measure_outcomes(
    baseline: Any,
    compressed: Any,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Measurements:
    """Measure the loss of outcomes, such as whether answers are right, of a compressed model against its baseline.

    The methods are those of `measure`; outcomes between 0 and 1 have intervals over examples (Student's t) where
    those of single models are not exact. There are no classes.

    Args:
        baseline: outcomes of the uncompressed model or population.
        compressed: those of the compressed one, on the same examples.
        paired: as for `measure`.
        alpha: as for `measure`.

    Raises:
        InputError: different examples, one model against a population, no pairs, or a level outside (0, 1).

    Example:
        >>> measure_outcomes(Outcomes([1, 1, 1, 0.5] * 30), Outcomes([1, 1, 0, 0.5] * 30)).overall.loss
        array([25.])
    """
    comparison = OutcomeComparison(baseline, compressed, paired, alpha)
    single = _is_single(comparison)
    if baseline.errors:
        overall = _increase(comparison)
    else:
        overall = _losses_of(comparison, np.zeros(baseline.num_examples, int), ("all examples",))
    none = overall.head(0)
    return Measurements(
        members=comparison.members,
        pairs=1 if single else comparison.pairs,
        alpha=alpha,
        clustered=comparison.clusters is not None,
        overall=overall,
        classes=none,
        precision=none,
        f1=none,
        roc_area=None,
        average_precision=(),
        collapsed=np.zeros(0, bool),
        blind_members=np.zeros(0, int),
        flips=Estimate(),
        negative_flips=Estimate(),
        retrained=math.nan,
        ties=no_ties(comparison),
        doubts=(),
        notes=(*comparison.notes, *_few_clusters_notes(overall)),
        score="mean error" if baseline.errors else "mean outcome",
        of_errors=baseline.errors,
    )


def _increase(comparison: OutcomeComparison) -> Losses:
    """Return the increase of the mean error as a loss."""
    before, after = comparison.before, comparison.after
    change = mean_change(
        before,
        after,
        paired=bool(comparison.pairs),
        clusters=comparison.clusters,
        continuous=True,
    )
    differences = after.mean(0) - before.mean(0)
    low, high = change.interval(comparison.confidence)
    quantile = float(ratio(high - change.value, change.error)[0])
    if quantile > 0:  # NaN without an error
        further = upper_quantile(quantile, differences, comparison.clusters)
        high = change.value + further * change.error
    none = np.zeros(1)
    return Losses(
        names=("all examples",),
        examples=np.array([len(differences)]),
        before=np.array([before.mean()]),
        after=np.array([after.mean()]),
        loss=change.value,
        low=low,
        high=high,
        sure_low=low,
        p=change.p(),
        units=change.units,
        of_images=change.of_images,
        of_members=change.of_members,
        overlap=change.overlap,
        lost=none,
        won=none,
        per_image=np.ones(1),
        few_clusters=_few_clusters(comparison, change),
        change=change,
    )


def _is_single(comparison: OutcomeComparison) -> bool:
    """Return whether one model is compared with one; refuse one against a population."""
    comparison.require_like_sides()
    return comparison.members == (1, 1)


def _at_least(
    codes: np.ndarray, names: tuple[str, ...], least: int, column: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the groups of a column, the small ones as one, with names that say what the column is."""
    small = np.bincount(codes, minlength=len(names)) < least
    if not small.any():
        return codes, tuple(f"{column}: {name}" for name in names)
    position = np.where(small, np.sum(~small), np.cumsum(~small) - 1)
    kept = [
        f"{column}: {name}" for name, is_small in zip(names, small, strict=True) if not is_small
    ]
    together = [name for name, is_small in zip(names, small, strict=True) if is_small]
    joint = f"{column}: {plural(len(together), 'group')} below {least} ({listed(together, 5)})"
    return position[codes], (*kept, joint)


def _few_clusters_notes(overall: Losses) -> list[str]:
    """Return a note on too few clusters of images for a pass, or no notes."""
    if not overall.few_clusters[0]:
        return []
    return [
        f"The clusters are worth {overall.units[0]:.0f} of equal size; "
        f"with fewer than {LEAST_CLUSTERS}, nothing passes."
    ]


def _losses_of(
    comparison: OutcomeComparison, groups: np.ndarray, names: tuple[str, ...], *, at_once: int = 0
) -> Losses:
    """Return the losses of groups of images.

    Args:
        comparison: the populations.
        groups: `(N,)` integers, the group of each image.
        names: names of the groups.
        at_once: number of losses that `sure_low` holds for at once; by default that of the groups with images.
    """
    losses = _pair_losses if comparison.exact else _population_losses
    at_once = at_once or max(1, len(np.unique(groups)))
    return losses(comparison, groups, names, at_once)


def _pair_losses(
    comparison: OutcomeComparison, groups: np.ndarray, names: tuple[str, ...], at_once: int
) -> Losses:
    """Return the losses of one model against one."""
    before = comparison.before[0]
    lost, won = flip_counts(before, comparison.after[0], groups, len(names))
    examples = np.bincount(groups, minlength=len(names))
    change = ratio(won - lost, examples)
    return _losses(
        names,
        examples,
        ratio(np.bincount(groups, before, len(names)), examples),
        change,
        lambda confidence: paired_interval(lost, won, examples, confidence=confidence),
        comparison.alpha,
        at_once,
        p=np.where(examples > 0, mcnemar(lost, won), np.nan),
        units=examples,
        of_images=100**2 * ratio(ratio(lost + won, examples) - change**2, examples),
        of_members=np.zeros(len(names)),
        overlap=np.zeros(len(names)),
        lost=lost,
        won=won,
        per_image=np.ones(len(names)),
        few_clusters=np.zeros(len(names), bool),
    )


def _population_losses(
    comparison: OutcomeComparison, groups: np.ndarray, names: tuple[str, ...], at_once: int
) -> Losses:
    """Return the losses of a population against another, or of one model against one on clusters of images."""
    changes = comparison.changes(groups, len(names))
    before = ratio(np.bincount(groups, comparison.before.mean(0), len(names)), changes.examples)
    change = changes.absolute.moderated(before + changes.absolute.value / 2)
    images = comparison.after.mean(0) - comparison.before.mean(0)
    lost, won = (np.bincount(groups, np.maximum(sign * images, 0), len(names)) for sign in (-1, 1))
    per_image = _design_effect(comparison, groups, changes, lost + won)
    return _losses(
        names,
        changes.examples,
        before,
        change.value,
        lambda confidence: change.interval(confidence, most=1),
        comparison.alpha,
        at_once,
        p=change.p(),
        units=change.units,
        of_images=100**2 * change.of_images,
        of_members=100**2 * change.of_members,
        overlap=100**2 * change.overlap,
        lost=lost / per_image,
        won=won / per_image,
        per_image=per_image,
        few_clusters=_few_clusters(comparison, changes.absolute),
        moderated=change is not changes.absolute,
        change=change,
    )


def _few_clusters(comparison: OutcomeComparison, change: Change) -> np.ndarray:
    """Return whether the images of each group form too few clusters for a pass, `(G,)` booleans."""
    return (comparison.clusters is not None) & (change.units < LEAST_CLUSTERS)


def _end(mixtures: list[LossMixture], ends: np.ndarray, weights: np.ndarray) -> float:
    """Return an end of the share in all strata from `(S,)` ends on one side in each: distances add up squared [ZD]."""
    shares = np.array([mixture.share for mixture in mixtures])
    distance = np.sqrt(np.square(weights * (ends - shares)).sum())
    side = np.sign((ends - shares).sum())
    return float(np.clip(weights @ shares + side * distance, 0.0, 1.0))


def metric_losses(
    comparison: OutcomeComparison, names: tuple[str, ...], metric: MetricChanges
) -> Losses:
    """Return the losses of a metric, such as the precision of all classes."""
    change = metric.change
    count = len(change.value)
    return _losses(
        names,
        np.full(count, comparison.baseline.num_examples),
        metric.before,
        change.value,
        lambda confidence: change.interval(confidence, most=1),
        comparison.alpha,
        max(1, int(np.isfinite(change.value).sum())),
        p=change.p(),
        units=change.units,
        of_images=100**2 * change.of_images,
        of_members=100**2 * change.of_members,
        overlap=100**2 * change.overlap,
        lost=np.zeros(count),
        won=np.zeros(count),
        per_image=np.ones(count),
        few_clusters=_few_clusters(comparison, change),
        change=change,
    )


def _design_effect(
    comparison: OutcomeComparison, groups: np.ndarray, changes: GroupChanges, changed: np.ndarray
) -> np.ndarray:
    """Return the variance of losses over their variance if every change were one of a whole, independent image, `(C,)`.

    It is one figure for all classes of like size, without the least variance that is assumed for each of them, but with
    one more image lost by all members and another won: what members lose alike may be missing among few images.

    Args:
        comparison: the populations.
        groups: `(N,)` integers, the class of each image.
        changes: the changes of the classes.
        changed: `(C,)` numbers of images lost or won, each as far as it changed.
    """
    change = changes.absolute
    value = np.nan_to_num(change.value)
    count = np.maximum(changes.examples, 1)
    images = comparison.after.mean(0) - comparison.before.mean(0)
    residuals, classes = (images - value[groups]) / count[groups], groups
    if comparison.clusters is not None:
        cells = comparison.clusters.astype(np.int64) * len(count) + groups
        cells, cell_of = np.unique(cells, return_inverse=True)
        residuals, classes = np.bincount(cell_of, residuals), cells % len(count)
    seen = np.bincount(classes, np.square(residuals), len(count))
    whole = (changed / count - value**2) / count
    strata = strata_of_sizes(changes.examples)

    def in_all(values: np.ndarray) -> np.ndarray:
        return np.bincount(strata, np.nan_to_num(values))

    one_more = 2 / np.square(in_all(count) / in_all(np.ones(len(count))))
    of_members = np.maximum(in_all(change.of_members - change.overlap), 0.0)
    effect = (in_all(seen) + of_members + one_more) / (in_all(whole) + one_more)
    return effect[strata]


def _losses(
    names: tuple[str, ...],
    examples: np.ndarray,
    before: np.ndarray,
    value: np.ndarray,
    interval: Callable[[float], Sequence[np.ndarray]],
    alpha: float,
    at_once: int,
    **parts: Any,
) -> Losses:
    """Return losses from changes as shares, and a function that gives both ends of their interval at a level."""
    low, high = interval(1 - alpha)
    _, sure_high = interval(1 - alpha / at_once)
    return Losses(
        names=names,
        examples=examples,
        before=before.round(12),
        after=(before + value).round(12),
        loss=0.0 - 100 * value,
        low=-100 * high,
        high=-100 * low,
        sure_low=-100 * sure_high,
        **parts,
    )


def _flip_rate(comparison: Comparison) -> Estimate:
    """Return the rate at which predictions change, with its interval over images and members."""
    rate = flips(*comparison.best, paired=bool(comparison.pairs), clusters=comparison.clusters)
    return _rate(comparison, rate, _retrained(comparison))


def _retrained(comparison: Comparison) -> float:
    """Return the share of predictions that differ between two baseline models; NaN for a single one."""
    rows = np.arange(comparison.baseline.num_members)[comparison.rows[0]]
    models = [comparison.baseline.best(i) for i in rows]
    own = [one.differences(other) for one, other in itertools.combinations(models, 2)]
    return float(np.mean(own)) / comparison.baseline.num_examples if own else np.nan


def _negative_flip_rate(comparison: Comparison) -> Estimate:
    """Return the rate at which predictions turn from right to wrong, with its interval over images and members."""
    before = comparison.before
    after = comparison.after
    paired = bool(comparison.pairs)
    groups = np.zeros(before.shape[1], int)
    rate = negative_flips(
        before, after, groups, 1, paired=paired, clusters=comparison.clusters
    ).absolute
    return _rate(comparison, rate, flips_between_members(before).mean())


def _rate(comparison: Comparison, rate: Change, own: float) -> Estimate:
    """Return a rate with its interval; `own` is the rate between two members of the baseline, NaN for a single one."""
    (low,), (high,) = comparison.share_interval(rate, np.array([comparison.baseline.num_examples]))
    chance = f"Between two baseline models it is {100 * own:.2f} %."
    remark = "" if comparison.pairs or np.isnan(own) else chance
    over_members = None if comparison.exact else rate
    return Estimate(float(rate.value[0]), float(low), float(high), remark, over_members)
