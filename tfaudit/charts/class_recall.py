"""Recall of one class in every member of every variant."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, BLUE, GREY, WIDTH, Drawing, row_axis

__all__ = ["class_recall_chart"]


def class_recall_chart(recalls: pd.DataFrame) -> Drawing:
    """Draw one line per variant, one dot per member, a bar at the mean; a dashed line at the mean of the first variant.

    Args:
        recalls: rows of `title`, `member` and `recall`, a share; the baseline's first. Titles are distinct.
    """
    measured = recalls.dropna(subset=["recall"]).assign(percent=lambda rows: 100 * rows["recall"])
    titles = measured["title"].drop_duplicates()
    y = row_axis(titles, limit=150)
    x = alt.X("percent:Q", title="recall, %", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5))
    tooltip = ["title", "member", alt.Tooltip("percent:Q", title="recall, %", format=".2f")]
    base = alt.Chart(measured, width=WIDTH, height=alt.Step(24))
    first = base.transform_filter(alt.datum.title == titles.iloc[0] if len(titles) else "false")
    level = first.mark_rule(color=GREY, strokeDash=[4, 4], strokeWidth=1.5).encode(x=x.aggregate("mean"))
    dots = base.mark_circle(size=45, opacity=0.6, color=BLUE).encode(x=x, y=y, tooltip=tooltip)
    means = base.mark_tick(color=AMBER, thickness=3, size=18).encode(x=x.aggregate("mean"), y=y)
    return alt.layer(level, dots, means)
