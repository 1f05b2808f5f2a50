"""No interval of a share reaches below 0 or above 100 %, and none of a change of shares beyond 100 points."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.extension_contracts import contributed
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.predictions import Predictions

LABELS = np.arange(60) % 3
HALVES = pd.DataFrame({"half": np.where(np.arange(60) < 30, "a", "b")})
UNBOUNDED = ("corruption_error", "range_", "published")
"""Ratios, values of the images, and Welch's intervals as published."""

LIMITS = Limits(overall_drop_pp=1, worst_class_drop_pp=1, flips=0.1, negative_flips=0.1)


def two(*shares):
    """Two members that are right on these shares of the images: intervals from two members are wide."""
    right = np.arange(60) < 60 * np.array(shares)[:, None]
    return Predictions.from_top1(LABELS, np.where(right, LABELS, (LABELS + 1) % 3))


def robust(before, after):
    result = robustness({("fog", 1): before}, {("fog", 1): after}, clean=(after, before))
    return [result.frame(), result.severity_frame(), result.class_frame()]


def tables(before, after):
    checks = gate(before, after, LIMITS)
    return {
        "classes": [class_impact(before, after).frame()],
        "groups": [groups(before, after, HALVES["half"]).frame()],
        "negative flips": [flip_rates(before, after).frame()],
        "exemplars": [exemplars(before, after).difficulty],
        **{name: frames(before, after) for name, frames in contributed("IN_RANGE")},
        "robustness": robust(before, after),
        "gate": [checks.classes, checks.frame().query("check == 'overall_drop_pp'")],
        "rates": [checks.frame().query("check in ('flips', 'negative_flips')")],
    }


def ends(frame):
    """The ends of intervals, each with the range of its figure."""
    for name in frame:
        if not name.endswith(("low", "high", "low_pp", "high_pp")):
            continue
        if name in ("relative_low", "relative_high") or name.startswith(UNBOUNDED):
            continue
        wide = 200 if name.startswith(("relative", "excess")) else 100
        points = name.endswith("_pp") or "drop" in str(frame.get("check", ""))
        yield name, frame[name].astype(float), (-wide, wide) if points else (0, 1)


@pytest.mark.parametrize("name", tables(two(1, 0.9), two(0.5, 0.9)))
def test_no_end_leaves_the_range_of_its_figure(name):
    seen = []
    for before, after in (
        (two(1, 0.9), two(0.5, 0.9)),
        (two(0.9, 1), two(0.05, 0.6)),
        (two(0.05, 0.6), two(0.95, 0.7)),
    ):
        for frame in tables(before, after)[name]:
            for column, values, (least, most) in ends(frame):
                assert values.dropna().between(least, most).all(), (column, values.tolist())
                seen += [values.min() == least, values.max() == most]
    assert any(seen)
