"""Checks of a compressed detector against its limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from tfaudit.audits.gate.checks import CANNOT_JUDGE, FAIL, PASS, Check, Checks
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import Losses, Measurements
from tfaudit.extensions.detection.limits import BoxLimits


def box_checks(
    measured: Measurements, precision: Losses, false_positives: np.ndarray, limits: BoxLimits
) -> tuple[tuple[Check, ...], pd.DataFrame]:
    """Return one check per limit that is set, and the check of every class's boxes, as `Checks.class_frame` does.

    Args:
        measured: losses of boxes, in all and by class.
        precision: loss of mAP.
        false_positives: false positives per image before and after, each with both ends of its interval, `(2, 3)`.
        limits: the limits.
    """
    allowed = limits.as_dict()
    recall = allowed.get("box_recall_drop_pp")
    of_boxes = Checks(measured, Limits(worst_class_drop_pp=recall))
    checks = []
    if recall is not None:
        check = of_boxes.worst_class_drop_pp(recall)
        checks.append(dataclasses.replace(check, name="box_recall_drop_pp"))
    if (limit := allowed.get("false_positives_per_image")) is not None:
        few = bool(precision.few_clusters[0])
        checks.append(_of_false_positives(false_positives, limit, few, 1 - measured.alpha))
    if (limit := allowed.get("map_drop_pp")) is not None:
        whole = dataclasses.replace(measured, overall=precision, score="mean average precision")
        check = Checks(whole, Limits()).overall_drop_pp(limit)
        checks.append(dataclasses.replace(check, name="map_drop_pp"))
    return tuple(checks), of_boxes.class_frame()


def _of_false_positives(rates: np.ndarray, limit: float, few: bool, confidence: float) -> Check:
    """Return the check of the compressed detector's false positives per image; few images never pass."""
    value, low, high = map(float, rates[1])
    outcome = FAIL if low > limit else PASS if high < limit and not few else CANNOT_JUDGE
    found = f"{value:.3f} false positives per image ({100 * confidence:g} % interval {low:.3f} to {high:.3f})"
    return Check(
        name="false_positives_per_image",
        limit=limit,
        value=value,
        low=low,
        high=high,
        outcome=outcome,
        reason=f"{found}, limit {limit:g}.",
        sentence=f"{found}, {rates[0, 0]:.3f} before compression, limit {limit:g}.",
    )
