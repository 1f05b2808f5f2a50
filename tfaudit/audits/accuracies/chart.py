"""Accuracy of every member of every variant, a panel per rank."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, member_dots, row_axis, tooltips


def accuracies_chart(table: pd.DataFrame) -> Drawing:
    """Draw a panel per rank: a line per variant, a dot per member, a bar at the mean.

    Args:
        table: `table` of an `Accuracies`.
    """
    y = row_axis(table["title"], limit=150)
    panels = []
    for k, rows in table.assign(percent=100 * table["accuracy"]).groupby("k"):
        axis = alt.Axis(tickCount=5, format=".6~g")
        x = alt.X(
            "percent:Q",
            title=f"top-{k} accuracy, %",
            scale=alt.Scale(zero=False, padding=8),  # no dot lies on a label
            axis=axis,
        )
        base = alt.Chart(rows, width=WIDTH - 80, height=alt.Step(22))
        tooltip = tooltips("title", "member", percent=".2f")
        panels.append(alt.layer(*member_dots(base, x, y, tooltip)))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=20)
