"""Measured losses against the limits of a gate, for one variant and for every variant of a study."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.audits.gate.checks import CANNOT_JUDGE, FAIL, PASS, PASSES_UNCORRECTED
from tfaudit.charts.style import (
    AMBER,
    GAIN,
    LOSS,
    WIDTH,
    Drawing,
    categories,
    dashed_rule,
    row_axis,
    tooltips,
)

MARKS = {
    FAIL: (LOSS, "cross"),
    CANNOT_JUDGE: (AMBER, "diamond"),
    PASSES_UNCORRECTED: (AMBER, "triangle-up"),
    PASS: (GAIN, "circle"),
}
"""Colour and shape of each outcome."""


def outcome_encoding(frame: pd.DataFrame) -> dict[str, alt.Color | alt.Shape]:
    """Return colour and shape of the column `outcome`; the legend has `PASSES_UNCORRECTED` only if a row has it."""
    names = [
        name
        for name in MARKS
        if name != PASSES_UNCORRECTED or frame["outcome"].eq(PASSES_UNCORRECTED).any()
    ]
    colours, shapes = zip(*(MARKS[name] for name in names), strict=True)
    scale = alt.Scale(domain=names, range=shapes)
    return {
        "color": categories("outcome", names, colours),
        "shape": alt.Shape("outcome:N", title=None, scale=scale),
    }


def gate_chart(frame: pd.DataFrame) -> Drawing:
    """Draw one line per check, each with its own scale from no loss to beyond the limit, which is in the middle.

    A line is drawn in units of its limit: 0 is no loss, 1 the limit. The bar is the interval; it is cut off at two
    limits and at minus one.

    Args:
        frame: table that `tfaudit.audits.gate.gate.Verdict.labelled_frame` returns.
    """
    shown = frame.copy()
    limit = shown["limit"].to_numpy()
    for column in ("value", "low", "high"):
        value = shown[column].to_numpy(float)
        # A limit of no change has no unit: anything above it is far beyond.
        scaled = np.divide(value, limit, out=np.sign(value) * 2, where=limit > 0)
        shown[f"{column}_share"] = np.clip(scaled, -1, 2)
    shown["title"] += "\n" + shown["measured"] + " of " + shown["allowed"]
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(38))
    lines = alt.Axis(labelExpr="split(datum.value, '\\n')", labelLimit=140, labelPadding=8)
    y = alt.Y("title:N", sort=list(shown["title"]), title=None, axis=lines)
    scale = alt.Scale(domain=[-1.05, 2.05], nice=False)
    labels = "datum.value == 0 ? 'none' : datum.value == 1 ? 'limit' : ''"
    x = alt.X(
        "value_share:Q",
        title=None,
        scale=scale,
        axis=alt.Axis(values=[-1, 0, 1, 2], labelExpr=labels),
    )
    interval = alt.X("low_share:Q"), alt.X2("high_share:Q")
    layers = _outcomes(base, x, y, interval, tooltips("title", "outcome", "sentence"), 90)
    return alt.layer(dashed_rule(base, x=alt.XDatum(1)), *layers)


def _outcomes(
    base: alt.Chart,
    x: alt.X,
    y: alt.Y,
    interval: tuple[alt.X, alt.X2],
    tooltip: list[alt.Tooltip],
    size: int = 80,
) -> tuple[alt.Chart, alt.Chart]:
    """Return the marks of intervals and values, with the colour and shape of the outcome."""
    low, high = interval
    looks = outcome_encoding(base.data)
    bars = base.mark_rule(strokeWidth=2).encode(x=low, x2=high, y=y, color=looks["color"])
    points = base.mark_point(size=size, filled=True, opacity=1)
    return bars, points.encode(x=x, y=y, tooltip=tooltip, **looks)


def verdict_chart(frame: pd.DataFrame, limits: tuple[float | None, float | None]) -> Drawing:
    """Draw the changes of accuracy and of the worst class with their intervals, in two panels with one row per variant.

    The dashed line is the limit; colour and shape show the outcome of the gate.

    Args:
        frame: table that `tfaudit.audits.verdict.study_verdict.StudyVerdict.frame` returns.
        limits: limits on the drops of accuracy and of the worst class, percentage points; None for no line.
    """
    shown = frame[["title", "outcome", "reason", "worst_class"]]
    panels: list[Drawing] = []
    changes = {
        "accuracy": ["change_pp", "change_low_pp", "change_high_pp"],
        "worst class": ["worst_change_pp", "worst_low_pp", "worst_high_pp"],
    }
    for (name, columns), limit in zip(changes.items(), limits, strict=True):
        rows = shown.join(frame[columns].set_axis(["change", "low", "high"], axis=1))
        base = alt.Chart(rows, width=WIDTH // 2, height=alt.Step(24), title=f"Change of {name}")
        y = row_axis(rows["title"], limit=160)
        about = ["worst_class"] if panels else []
        layers = _outcomes(
            base,
            alt.X("change:Q", title="percentage points"),
            y.axis(None) if panels else y,
            (alt.X("low:Q"), alt.X2("high:Q")),
            tooltips("title", "outcome", "reason", *about),
        )
        rules = [] if limit is None else [dashed_rule(base, x=alt.XDatum(-limit))]
        panels.append(alt.layer(*layers, *rules))
    return alt.hconcat(*panels)
