"""What forbids a verdict on a detector: boxes or classes that mean something else than COCO's do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from tfaudit.audits.doubts import ACCURACY, GAIN_PP, ORDER, Doubt
from tfaudit.audits.gate.measurements import Losses
from tfaudit.extensions.detection.coco_files import SIDES, Truth
from tfaudit.extensions.detection.matching import matched

GOOD, NEARLY_NOTHING = 0.5, 0.1
"""AP50 of a baseline from which on nothing is in doubt, and below which it has nothing to lose."""

BETTER = 0.1
"""Share of the true boxes that another reading must find beyond those found."""


def doubts_of(
    truth: Truth, baseline: Sequence[pd.DataFrame], mean: Losses, at_half: Losses
) -> tuple[Doubt, ...]:
    """Return the doubts: another reading of boxes or classes fits, nearly nothing is found, or compression helps much.

    Args:
        truth: the true boxes.
        baseline: detections of each member of the baseline.
        mean: loss of mAP.
        at_half: loss of AP50.
    """
    before = float(at_half.before[0])
    if mean.loss[0] < -GAIN_PP:
        gains = f"mAP rises from {mean.before[0]:.3f} to {mean.after[0]:.3f} by compression"
        remedy = "Is the baseline's file that of its best weights, on images prepared alike?"
        values = float(mean.before[0]), float(mean.after[0])
        return (Doubt(ACCURACY, f"{gains}, which compression does not do.", remedy, *values),)
    if before >= GOOD:
        return ()
    own = _share(truth, baseline[0])
    for name, reading, rows in _readings(baseline[0], len(truth.categories)):
        share = _share(truth, rows)
        if share > own + BETTER:
            reason = f"The baseline finds {100 * own:.1f} % of the true boxes, and would find {100 * share:.1f} %"
            remedy = "COCO's boxes are x, y, width and height in pixels, its classes the ids of the categories."
            return (Doubt(name, f"{reason} if {reading}.", remedy, own, share),)
    if before >= NEARLY_NOTHING:
        return ()
    reason = f"The baseline finds nearly nothing: its AP50 is {before:.3f}, and {NEARLY_NOTHING} is required."
    remedy = "Are its boxes pixels of these images, and its classes the ids of their categories?"
    return (Doubt(ACCURACY, reason, remedy, before, NEARLY_NOTHING),)


def _share(truth: Truth, detections: pd.DataFrame) -> float:
    """Return the share of the true boxes that some detection finds."""
    found = np.isfinite(matched(truth, detections).found_at)
    return float(found[~truth.boxes["crowd"]].mean())


def _readings(rows: pd.DataFrame, classes: int) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield other readings of detections: the name of the doubt, the reading in words, and the detections."""
    start, ends = rows[SIDES[:2]].to_numpy(), rows[SIDES[2:]].to_numpy()
    boxes = {
        "its boxes were x1, y1, x2, y2": (start, np.maximum(ends - start, 0)),
        "x and y were the centre of its boxes": (start - ends / 2, ends),
    }
    for reading, (first, size) in boxes.items():
        sides = pd.DataFrame(np.hstack([first, size]), columns=SIDES, index=rows.index)
        yield ACCURACY, reading, rows.assign(**sides)
    for step in (-1, 1):
        moved = rows.assign(category=rows["category"] + step)
        inside = moved[moved["category"].between(0, classes - 1)].reset_index(drop=True)
        yield ORDER, f"its classes were {'one higher' if step > 0 else 'one lower'}", inside
