"""Accuracy of every member of every variant, a panel per rank."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import PLUM, SLATE, WIDTH, Drawing, tooltips


def accuracies_chart(table: pd.DataFrame) -> Drawing:
    """Draw a panel per rank: a line per variant, a dot per member, a bar at the mean.

    Args:
        table: `table` of an `Accuracies`.
    """
    order = list(dict.fromkeys(table["title"]))
    panels = []
    for k, rows in table.assign(percent=100 * table["accuracy"]).groupby("k"):
        axis = alt.Axis(tickCount=5, format=".6~g")
        x = alt.X(
            "percent:Q",
            title=f"top-{k} accuracy, %",
            scale=alt.Scale(zero=False, nice=True),
            axis=axis,
        )
        y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
        base = alt.Chart(rows, width=WIDTH - 80, height=alt.Step(22))
        tooltip = tooltips("title", "member", percent=".2f")
        dots = base.mark_circle(size=45, opacity=0.6, color=SLATE).encode(x=x, y=y, tooltip=tooltip)
        means = base.mark_tick(color=PLUM, thickness=3, size=16).encode(x=x.aggregate("mean"), y=y)
        panels.append(alt.layer(dots, means))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=20)
