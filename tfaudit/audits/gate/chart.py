"""What a gate measured, against its limits: of one variant, and of every variant of a study."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.style import (
    AMBER,
    GAIN,
    GREY,
    LOSS,
    WIDTH,
    Drawing,
    categories,
    row_axis,
    tooltips,
)

OUTCOMES = ["fail", "cannot judge", "pass"]
COLOURS = [LOSS, AMBER, GAIN]
SHAPES = ["cross", "diamond", "circle"]


def gate_chart(frame: pd.DataFrame) -> Drawing:
    """One line per check, each with its own scale from none to beyond the limit, which stands in the middle.

    A line is drawn in units of its limit: 0 is none (for intensification a slope of 1), 1 the limit. The bar is
    the interval; what lies beyond two limits, or below minus one, is cut off there.

    Args:
        frame: of `tfaudit.audits.gate.gate.Verdict.labelled_frame`.
    """
    shown = frame.copy()
    neutral = shown["neutral"].to_numpy()
    room = shown["limit"].to_numpy() - neutral
    for column in ("value", "low", "high"):
        gap = shown[column].to_numpy(float) - neutral
        # A limit of no change at all has no unit: whatever is above it is far beyond.
        scaled = np.divide(gap, room, out=np.sign(gap) * 2, where=room > 0)
        shown[f"{column}_share"] = np.clip(scaled, -1, 2)
    shown["title"] = shown["title"] + "\n" + shown["measured"] + " of " + shown["allowed"]
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
    colour = categories("outcome", OUTCOMES, COLOURS, symbolLimit=3)
    shape = alt.Shape("outcome:N", title=None, scale=alt.Scale(domain=OUTCOMES, range=SHAPES))
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low_share:Q"), x2=alt.X2("high_share:Q"), y=y, color=colour
    )
    points = base.mark_point(size=90, filled=True, opacity=1)
    points = points.encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltips("title", "outcome", "sentence")
    )
    limit = base.mark_rule(strokeDash=[4, 3], color=GREY).encode(x=alt.XDatum(1))
    return alt.layer(limit, bars, points)


def verdict_chart(frame: pd.DataFrame, limits: tuple[float | None, float | None]) -> Drawing:
    """Two panels with a row per variant: the change of accuracy and that of the worst class, with their intervals.

    A dashed line is the limit, colour and shape the outcome of the gate.

    Args:
        frame: of `tfaudit.audits.verdict.study_verdict.StudyVerdict.frame`.
        limits: on the drops of accuracy and of the worst class, percentage points; None for no line.
    """
    shown = frame[["title", "outcome", "reason", "worst_class"]]
    colour = categories("outcome", OUTCOMES, COLOURS, symbolLimit=3)
    shape = alt.Shape("outcome:N", title=None, scale=alt.Scale(domain=OUTCOMES, range=SHAPES))
    panels: list[Drawing] = []
    for name, prefix, limit in zip(
        ("accuracy", "worst class"), ("", "worst_"), limits, strict=True
    ):
        columns = {
            "change": f"{prefix}change_pp",
            "low": f"{prefix}low_pp",
            "high": f"{prefix}high_pp",
        }
        if not prefix:
            columns |= {"low": "change_low_pp", "high": "change_high_pp"}
        rows = shown.assign(**{column: frame[source] for column, source in columns.items()})
        base = alt.Chart(rows, width=WIDTH // 2, height=alt.Step(24), title=f"Change of {name}")
        y = row_axis(rows["title"], limit=160)
        if panels:
            y = y.axis(None)
        x = alt.X("change:Q", title="percentage points")
        bars = base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour
        )
        points = base.mark_point(size=80, filled=True, opacity=1)
        tooltip = tooltips("title", "outcome", "reason", *(["worst_class"] if prefix else []))
        layers = [bars, points.encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)]
        if limit is not None:
            layers.append(
                base.mark_rule(strokeDash=[4, 3], color=GREY).encode(x=alt.XDatum(-limit))
            )
        panels.append(alt.layer(*layers))
    return alt.hconcat(*panels)
