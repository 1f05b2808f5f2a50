"""Losses of a compressed detector: true boxes no longer found, false positives, average precision."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.comparison import OutcomeComparison
from tfaudit.audits.doubts import Doubt
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.measurements import (
    CHANGES,
    Losses,
    Measurements,
    measure_outcomes,
    metric_losses,
)
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed, require_type
from tfaudit.extensions.detection.average_precision import jackknifed
from tfaudit.extensions.detection.checks import box_checks
from tfaudit.extensions.detection.coco_files import Truth
from tfaudit.extensions.detection.doubts import doubts_of
from tfaudit.extensions.detection.limits import BoxLimits
from tfaudit.extensions.detection.matching import Matches, best_threshold, matched
from tfaudit.outcomes import Outcomes
from tfaudit.stats.changes import group_changes, mean_change
from tfaudit.stats.class_metrics import MetricChanges
from tfaudit.stats.least_variance import least_variance

SIZES = ("small", "medium", "large")
"""Sizes of true boxes: COCO's, with areas below 32 x 32 pixels, below 96 x 96, and above."""


@dataclasses.dataclass(frozen=True, eq=False)
class Detection(Result):
    """What a compressed detector lost against its baseline.

    Attributes:
        table: one row for all boxes, and one per class, size and group; see `frame`.
        threshold: score from which on a detection counts.
        measurements: losses of boxes; the class of a box takes the place of an image's.
        precisions: losses of mAP and of AP50.
        false_positives: false positives per image before and after, each with both ends of its interval, `(2, 3)`.
        found: `(2, B)` shares of the members before and after that find each true box; NaN in crowds.
        notes: caveats for the reader, one sentence each.
        doubts: what forbids a verdict.
    """

    table: pd.DataFrame
    threshold: float
    measurements: Measurements
    precisions: tuple[Losses, Losses]
    false_positives: np.ndarray
    found: np.ndarray
    notes: tuple[str, ...]
    doubts: tuple[Doubt, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row for all boxes, and one per class, size and group of boxes.

        Columns: `kind` (all, class, size, or the name of the groups); `name`; `examples`, the number of boxes; `before`
        and `after`, shares of them that are found; `change_pp` with `change_low_pp`, `change_high_pp` and `p_holm`,
        corrected for the rows of one kind; and for all and for classes `map_before` and `map_after` (AP at IoU .5 to
        .95) with `map_change_pp`, `map_change_low_pp` and `map_change_high_pp`, `ap50_before` and `ap50_after`, and
        false positives per image, `false_before` and `false_after`.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return the threshold, and what the row of all boxes says."""
        whole = self.table.iloc[0].drop(["kind", "name"])
        return {"threshold": self.threshold} | {str(name): value for name, value in whole.items()}

    def chart(self) -> Drawing:
        """Draw the change of the boxes found, with intervals, by class, size and group."""
        from tfaudit.charts.change_rows import change_rows

        title = "change of boxes found, points"
        return change_rows(self.labelled(), "box", title, alpha=self.measurements.alpha)

    def labelled(self) -> pd.DataFrame:
        """Return `frame` with a column `box` that names each row, such as "size: small"."""
        kind = self.table["kind"].where(self.table["kind"] != "all", "")
        return self.table.assign(box=kind.str.cat(self.table["name"], ": ").str.removeprefix(": "))

    def verdict(self, limits: BoxLimits | None = None) -> Verdict:
        """Return the verdict of the gate of detectors, by the rules of `tfaudit.gate`."""
        limits = BoxLimits() if limits is None else limits
        require_type("tfaudit.BoxLimits", BoxLimits, limits=limits)
        checks, classes = box_checks(
            self.measurements, self.precisions[0], self.false_positives, limits
        )
        return Verdict(
            checks=checks,
            classes=classes,
            alpha=self.measurements.alpha,
            examples=int(self.precisions[0].examples[0]),
            members=self.measurements.members,
            ties=self.measurements.ties,
            notes=self.notes,
        ).with_doubts(self.doubts)


def detect(
    truth: Truth,
    baseline: Sequence[pd.DataFrame],
    compressed: Sequence[pd.DataFrame],
    *,
    threshold: float | None = None,
    groups: pd.DataFrame | None = None,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Detection:
    """Compare a compressed detector with its baseline: which true boxes it no longer finds, false positives, mAP.

    Detections find true boxes as COCO defines it, at an intersection over union of .5 [Li]. Whether a box is found is
    its outcome; losses by class, size and group have the intervals of `tfaudit.gate` on outcomes, over images as
    clusters of boxes, and over members. Average precisions are pycocotools'; their intervals are those of the
    jackknife over 50 groups of images. False positives per image have the interval of rare events [FF].

    Args:
        truth: the true boxes, as `read_truth` returns them.
        baseline: detections of each member of the uncompressed population, as `read_detections` returns them.
        compressed: the same of the compressed one.
        threshold: score from which on a detection counts; by default the one at which the baseline's F1 is best.
        groups: table of groups of the true boxes, such as columns of `truth.groups`; none by default.
        paired: whether each compressed member is made from the baseline's member of its place; False by default.
        alpha: level of the tests; intervals are at level 1 - alpha.

    Raises:
        InputError: no true boxes, one model against several, or a level outside (0, 1).
    """
    judged = ~truth.boxes["crowd"].to_numpy()
    boxes = truth.boxes[judged].reset_index(drop=True)
    if boxes.empty:
        raise InputError("truth", "no true boxes", "one or more that mark no crowd")
    matches = [[matched(truth, member) for member in side] for side in (baseline, compressed)]
    chosen = best_threshold(matches[0], len(boxes)) if threshold is None else threshold
    before, after = (_Side(tuple(side), truth, boxes, chosen) for side in matches)
    first, second = (
        Outcomes(side.found[:, judged], clusters=boxes["image"]) for side in (before, after)
    )
    measured = measure_outcomes(first, second, paired=paired, alpha=alpha)
    losses = {"all": dataclasses.replace(measured.overall, names=("all boxes",))}
    for kind, column in _kinds(truth, boxes, groups, judged).items():
        joined = measured.with_groups(first, second, column.to_frame(kind), paired=paired)
        if joined.groups is not None:
            names = tuple(name.removeprefix(f"{kind}: ") for name in joined.groups.names)
            losses[kind] = dataclasses.replace(joined.groups, names=names)
    unknown = np.full(len(losses["class"].names), np.nan)
    no_precision = dataclasses.replace(losses["class"], loss=unknown, low=unknown, high=unknown)
    precisions = _precision_losses(before, after, paired=measured.pairs > 1, alpha=alpha)
    mean, at_half = precisions.only(0), precisions.only(1)
    return Detection(
        table=_table(losses, precisions, before, after),
        threshold=float(chosen),
        measurements=dataclasses.replace(measured, classes=losses["class"], precision=no_precision),
        precisions=(mean, at_half),
        false_positives=np.array([side.false_rate(1 - alpha) for side in (before, after)]),
        found=np.where(judged, [side.found.mean(0) for side in (before, after)], np.nan),
        notes=(
            "Examples are true boxes; of false positives and mAP, images.",
            f"A box counts as found at IoU .5 and a score of {chosen:.3g} or more"
            + (", where the baseline's F1 is best." if threshold is None else "."),
            *measured.notes,
            *_notes_on_absent(truth, losses["class"].names),
        ),
        doubts=doubts_of(truth, baseline, mean, at_half),
    )


def _kinds(
    truth: Truth, boxes: pd.DataFrame, groups: pd.DataFrame | None, judged: np.ndarray
) -> dict[str, pd.Series]:
    """Return the class, the size and the groups of the boxes that are judged."""
    names = truth.categories["name"].astype(str)
    kinds = {
        "class": pd.Series(pd.Categorical.from_codes(boxes["category"], pd.Index(names))),
        "size": pd.cut(boxes["area"], [0, 32**2, 96**2, np.inf], right=False, labels=SIZES),
    }
    for name, column in ({} if groups is None else groups).items():
        kinds[str(name)] = column[judged].reset_index(drop=True)
    return kinds


def _notes_on_absent(truth: Truth, present: Sequence[str]) -> list[str]:
    """Return a note on the classes without true boxes, or no notes."""
    absent = [name for name in truth.categories["name"].astype(str) if name not in present]
    return [f"Without true boxes, and not judged: {listed(absent)}."] if absent else []


@dataclasses.dataclass(frozen=True, eq=False)
class _Side:
    """The matches of one population, and the score from which on its detections count."""

    matches: tuple[Matches, ...]
    truth: Truth
    boxes: pd.DataFrame  # those that are judged
    threshold: float

    @property
    def found(self) -> np.ndarray:
        """`(K, B)` booleans, whether each member finds each true box."""
        return np.array([member.found_at for member in self.matches]) >= self.threshold

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """`(C,)` number of true boxes of each class."""
        return np.bincount(self.boxes["category"], minlength=len(self.truth.categories))

    @functools.cached_property
    def false(self) -> np.ndarray:
        """`(K, N, C)` numbers of false positives of each member in each image, by class."""
        counts = np.zeros((len(self.matches), len(self.truth.images), len(self.counts)), np.int32)
        for count, member in zip(counts, self.matches, strict=True):
            wrong = member.counted[0] & ~member.hits[0] & (member.score >= self.threshold)
            np.add.at(count, (member.image[wrong], member.category[wrong]), 1)
        return counts

    def false_rate(self, confidence: float) -> tuple[float, float, float]:
        """Return the false positives per image and both ends of their interval.

        One more image may have as many as any image has.
        """
        counts = self.false.sum(2)
        most = max(int(counts.max()), 1)
        rate = mean_change(np.zeros(counts.shape), counts / most, paired=True)
        (low,), (high,) = rate.rate_interval(confidence)
        return float(counts.mean()), most * float(low), most * float(high)

    def averages(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mAP and AP50 of all classes, then of each that has boxes, `(K, S)`; and pseudo-values, `(K, G, S)`."""
        image, category = (self.boxes[name].to_numpy() for name in ("image", "category"))
        sizes = len(self.truth.images), len(self.counts)
        whole, pseudo = jackknifed(self.matches, image, category, *sizes)
        return self._averaged(whole), self._averaged(pseudo)

    def _averaged(self, precisions: np.ndarray) -> np.ndarray:
        known = precisions[..., self.counts > 0, :]
        pair = np.stack([known.mean(-1), known[..., 0]], -1)
        every = np.concatenate([pair.mean(-2, keepdims=True), pair], -2)
        return every.reshape(*every.shape[:-2], -1)


def _precision_losses(before: _Side, after: _Side, *, paired: bool, alpha: float) -> Losses:
    """Return the losses of mAP and AP50 of all classes, then of each class that has boxes."""
    (first, pseudo_first), (second, pseudo_second) = before.averages(), after.averages()
    means = first.mean(0), second.mean(0)
    groups, count = pseudo_first.shape[1:]
    change = group_changes(
        pseudo_first.reshape(len(first), -1),
        pseudo_second.reshape(len(second), -1),
        np.tile(np.arange(count), groups),
        count,
        paired=paired,
        continuous=True,
    ).absolute
    freedom = np.full(count, groups - 1.0)  # also where nothing varies
    change = dataclasses.replace(change, value=means[1] - means[0], df_images=freedom)
    # As if one more box of each class were lost, and another found.
    least = np.asarray(least_variance(before.counts[before.counts > 0]))
    change = change.at_least(np.repeat([least.mean() / len(least), *least], 2))
    images = len(before.truth.images)
    every = Outcomes(np.zeros((1, images)), clusters=np.arange(images))
    names = tuple(map(str, range(count)))
    comparison = OutcomeComparison(every, every, alpha=alpha)
    return metric_losses(comparison, names, MetricChanges(*means, change))


def _table(
    losses: Mapping[str, Losses], precisions: Losses, before: _Side, after: _Side
) -> pd.DataFrame:
    """Return the table of a `Detection`; average precisions stand in the rows of all boxes and of classes."""
    parts = []
    for kind, of_kind in losses.items():
        names = pd.DataFrame({"kind": kind, "name": of_kind.names})
        parts.append(names.join(of_kind.changes()))
    both = precisions.changes()[["before", "after", *CHANGES]].add_prefix("map_")
    of_classes = both[::2].reset_index(drop=True)
    for name, side in (("before", before), ("after", after)):
        of_classes[f"ap50_{name}"] = both[f"map_{name}"][1::2].to_numpy()
        rates = side.false.mean((0, 1))
        of_classes[f"false_{name}"] = [rates.sum(), *rates[side.counts > 0]]
    return pd.concat(parts, ignore_index=True).join(of_classes)
