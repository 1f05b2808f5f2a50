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
from tfaudit.audits.gate.measurements import Losses, Measurements, measure_outcomes, metric_losses
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed, require_type
from tfaudit.extensions.detection.average_precision import jackknifed
from tfaudit.extensions.detection.checks import box_checks
from tfaudit.extensions.detection.coco_files import Truth
from tfaudit.extensions.detection.doubts import doubts_of
from tfaudit.extensions.detection.limits import BoxLimits
from tfaudit.extensions.detection.matching import Matches, best_threshold, matched
from tfaudit.outcomes import Outcomes
from tfaudit.stats.class_metrics import MetricChanges
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.two_way import least_variance, mean_change

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

        Columns: `kind` (all, class, size, or the name of the groups); `name`; `boxes`; `found_before` and
        `found_after`, shares of them that are found; `change_pp` with `change_low_pp`, `change_high_pp` and `p_holm`,
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
        from tfaudit.extensions.detection.chart import boxes_chart

        return boxes_chart(self.table)

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
    names = truth.categories["name"].astype(str)
    kinds = {"class": names.iloc[boxes["category"]].reset_index(drop=True)}
    kinds["size"] = pd.cut(boxes["area"], [0, 32**2, 96**2, np.inf], right=False, labels=SIZES)
    columns = truth.groups[[]] if groups is None else groups
    kinds |= {str(name): columns[name][judged].reset_index(drop=True) for name in columns}
    losses = {"all": dataclasses.replace(measured.overall, names=("all boxes",))}
    for kind, column in kinds.items():
        grouped = measured.with_groups(first, second, column.to_frame(kind), paired=paired)
        if (of_kind := grouped.groups) is not None:
            plain = tuple(name.removeprefix(f"{kind}: ") for name in of_kind.names)
            losses[kind] = dataclasses.replace(of_kind, names=plain)
    unknown = np.full(len(losses["class"].names), np.nan)
    no_precision = dataclasses.replace(losses["class"], loss=unknown, low=unknown, high=unknown)
    measured = dataclasses.replace(measured, classes=losses["class"], precision=no_precision)
    images = Outcomes(np.zeros((1, len(truth.images))), clusters=np.arange(len(truth.images)))
    whole = OutcomeComparison(images, images, alpha=alpha)
    precision = _Precision(before, after, whole, paired=measured.pairs > 1)
    mean, at_half = (precision.losses(name, measure) for name, measure in MEASURES.items())
    absent = names[~names.isin(losses["class"].names)]
    notes = [
        f"Examples are true boxes; one counts as found at IoU .5 and a score of {chosen:.3g} or more"
        + (", where the baseline's F1 is best." if threshold is None else "."),
        *measured.notes,
    ]
    if len(absent):
        notes.append(f"Without true boxes, and not judged: {listed([*absent])}.")
    return Detection(
        table=_table(losses, precision, names),
        threshold=float(chosen),
        measurements=measured,
        precisions=(mean, at_half),
        false_positives=np.array([side.false_rate(1 - alpha) for side in (before, after)]),
        found=np.where(judged, [side.found.mean(0) for side in (before, after)], np.nan),
        notes=tuple(notes),
        doubts=doubts_of(truth, baseline, mean, at_half),
    )


MEASURES: Mapping[str, slice] = {"mAP": slice(None), "AP50": slice(1)}
"""Averages of precision, and the IoUs that they are over."""


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
    def false(self) -> np.ndarray:
        """`(K, N, C)` numbers of false positives of each member in each image, by class."""
        sizes = len(self.truth.images), len(self.truth.categories)
        counts = np.zeros((len(self.matches), *sizes), np.int32)
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

    @functools.cached_property
    def precisions(self) -> tuple[np.ndarray, np.ndarray]:
        """Average precisions `(K, C, T)` and their pseudo-values `(K, G, C, T)`."""
        return jackknifed(
            self.matches,
            self.boxes["image"].to_numpy(),
            self.boxes["category"].to_numpy(),
            len(self.truth.images),
            len(self.truth.categories),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _Precision:
    """Average precisions of both populations."""

    before: _Side
    after: _Side
    images: OutcomeComparison
    paired: bool

    def losses(self, name: str, measure: slice, category: int | None = None) -> Losses:
        """Return the loss of an average of precision, over all classes that have boxes or of one class."""
        counts = np.bincount(
            self.before.boxes["category"], minlength=len(self.before.truth.categories)
        )
        classes = np.flatnonzero(counts) if category is None else [category]
        whole, pseudo = (
            [
                side.precisions[part][..., classes, measure].mean((-2, -1))
                for side in (self.before, self.after)
            ]
            for part in (0, 1)
        )
        before, after = (np.atleast_1d(values.mean()) for values in whole)
        change = mean_change(*pseudo, paired=self.paired, continuous=True)
        freedom = np.array([pseudo[0].shape[1] - 1.0])  # also where nothing varies
        change = dataclasses.replace(change, value=after - before, df_images=freedom)
        # as if one more box of each class were lost and another found
        least = np.mean(least_variance(counts[classes])) / len(classes)
        change = change.at_least(np.array([least]))
        return metric_losses(self.images, (name,), MetricChanges(before, after, change))


def _table(losses: Mapping[str, Losses], precision: _Precision, names: pd.Series) -> pd.DataFrame:
    rows = []
    for kind, of_kind in losses.items():
        for place, p in enumerate(adjust(of_kind.p, "holm")):
            name = of_kind.names[place]
            row = {
                "kind": kind,
                "name": name,
                "boxes": int(of_kind.examples[place]),
                "found_before": of_kind.before[place],
                "found_after": of_kind.after[place],
                "change_pp": 0.0 - of_kind.loss[place],
                "change_low_pp": 0.0 - of_kind.high[place],
                "change_high_pp": 0.0 - of_kind.low[place],
                "p_holm": p,
            }
            if kind in ("all", "class"):
                number = None if kind == "all" else int(names.tolist().index(name))
                row |= _precision_columns(precision, number)
            rows.append(row)
    return pd.DataFrame(rows)


def _precision_columns(precision: _Precision, category: int | None) -> dict[str, float]:
    """Return the average precisions and false positives of one class, or of all."""
    mean, at_half = (
        precision.losses(name, measure, category) for name, measure in MEASURES.items()
    )
    classes = slice(None) if category is None else [category]
    before, after = (
        float(side.false[..., classes].sum(2).mean())
        for side in (precision.before, precision.after)
    )
    return {
        "map_before": float(mean.before[0]),
        "map_after": float(mean.after[0]),
        "map_change_pp": 0.0 - float(mean.loss[0]),
        "map_change_low_pp": 0.0 - float(mean.high[0]),
        "map_change_high_pp": 0.0 - float(mean.low[0]),
        "ap50_before": float(at_half.before[0]),
        "ap50_after": float(at_half.after[0]),
        "false_before": before,
        "false_after": after,
    }
