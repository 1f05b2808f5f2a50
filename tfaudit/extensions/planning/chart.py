"""Precision and promises of planned studies by members and images."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import HUES, WIDTH, Drawing, categories, dashed_rule, tooltips
from tfaudit.errors import plural


def plan_chart(frame: pd.DataFrame, half_width: float) -> Drawing:
    """Draw half-widths of the interval over images, one line per number of members; both axes are logarithmic.

    Args:
        frame: table that `tfaudit.extensions.planning.planning.Plan.frame` returns.
        half_width: wanted half-width in percentage points, drawn as a dashed line.
    """
    scale = alt.Scale(type="log", nice=False)
    y = alt.Y("half_width_pp:Q", title="half-width of the interval, points", scale=scale)
    figure = alt.Tooltip("half_width_pp:Q", format=".2f", title="half-width, points")
    return _lines(frame, y, figure, half_width)


def gate_plan_chart(frame: pd.DataFrame, wanted: float) -> Drawing:
    """Draw the share of studies that pass over images, one line per number of members; images are logarithmic.

    Args:
        frame: table that `tfaudit.extensions.planning.planning.GatePlan.frame` returns.
        wanted: wanted share, drawn as a dashed line.
    """
    percent = alt.Axis(format="%")
    y = alt.Y("passes:Q", title="studies that pass", scale=alt.Scale(domain=[0, 1]), axis=percent)
    figure = alt.Tooltip("passes:Q", format=".0%", title="studies that pass")
    return _lines(frame, y, figure, wanted)


def _lines(frame: pd.DataFrame, y: alt.Y, figure: alt.Tooltip, wanted: float) -> Drawing:
    counts = sorted(set(frame["members"].tolist()))
    labels = {count: plural(count, "member") for count in counts}
    shown = frame.assign(label=frame["members"].map(labels))
    hues = [HUES[i % len(HUES)] for i in range(len(counts))]
    base = alt.Chart(shown, width=WIDTH, height=220)
    scale = alt.Scale(type="log", nice=False)
    x = alt.X("images:Q", title="examples of the class", scale=scale, axis=alt.Axis(format=",d"))
    lines = base.mark_line(point=True).encode(
        x=x,
        y=y,
        color=categories("label", list(labels.values()), hues),
        tooltip=[*tooltips("members", "images"), figure],
    )
    return alt.layer(dashed_rule(base, y=alt.YDatum(wanted)), lines)
