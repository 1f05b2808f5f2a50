"""Precision of the measured change of a class by members and images."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREY, HUES, WIDTH, Drawing, categories, tooltips
from tfaudit.errors import plural


def plan_chart(frame: pd.DataFrame, half_width: float) -> Drawing:
    """Draw half-widths of the interval over images, one line per number of members; both axes are logarithmic.

    Args:
        frame: table that `tfaudit.audits.planning.planning.Plan.frame` returns.
        half_width: wanted half-width in percentage points, drawn as a dashed line.
    """
    counts = sorted(set(frame["members"].tolist()))
    labels = {count: plural(count, "member") for count in counts}
    shown = frame.assign(label=frame["members"].map(labels))
    hues = [HUES[i % len(HUES)] for i in range(len(counts))]
    base = alt.Chart(shown, width=WIDTH, height=220)
    scale = alt.Scale(type="log", nice=False)
    x = alt.X("images:Q", title="images of the class", scale=scale, axis=alt.Axis(format=",d"))
    y = alt.Y("half_width_pp:Q", title="half-width of the interval, points", scale=scale)
    tooltip = [
        *tooltips("members", "images"),
        alt.Tooltip("half_width_pp:Q", format=".2f", title="half-width, points"),
    ]
    lines = base.mark_line(point=True).encode(
        x=x, y=y, color=categories("label", list(labels.values()), hues), tooltip=tooltip
    )
    wanted = base.mark_rule(strokeDash=[4, 3], color=GREY).encode(y=alt.YDatum(half_width))
    return alt.layer(wanted, lines)
