"""Recall of every class over sparsity."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import recall_before
from tfaudit.charts.style import WIDTH, Drawing, tooltips

LINES = 200  # classes at most: those of the largest change


def recalls_chart(table: pd.DataFrame) -> Drawing:
    """Draw a panel per method: recall over sparsity, a line per class coloured by its recall before compression.

    Args:
        table: `table` of a `ClassRecalls`.
    """
    change = (table["recall"] - table["recall_before"]).abs().groupby(table["class_index"]).max()
    largest = change.sort_values(ascending=False, kind="stable").index[:LINES]
    shown = table[table["class_index"].isin(largest)].dropna(subset=["recall"])
    percent = {name: 100 * shown[name] for name in ("level", "recall", "recall_before")}
    shown = shown.assign(**percent)
    colour = recall_before("recall_before")
    x = alt.X(
        "level:Q",
        title="sparsity, %",
        scale=alt.Scale(nice=False, padding=8),
        axis=alt.Axis(tickCount=6),
    )
    y = alt.Y(
        "recall:Q",
        title="recall, %",
        scale=alt.Scale(zero=False, nice=True),
        axis=alt.Axis(tickCount=5),
    )
    tooltip = tooltips("class", "method", level=".4g", recall=".2f", recall_before=".2f")
    some = (
        f"the {LINES} classes with the largest change, of {len(change)}"
        if len(change) > LINES
        else ""
    )
    panels = []
    for method, rows in shown.groupby("method", sort=False):
        base = alt.Chart(rows, width=WIDTH - 40, height=220).encode(
            x=x, y=y, color=colour, tooltip=tooltip
        )
        lines = base.mark_line(strokeWidth=1.8, opacity=0.85).encode(
            detail=alt.Detail("class_index:N")
        )
        points = base.mark_circle(size=28, opacity=1)
        panels.append(alt.layer(lines, points, title=f"{method}  {some}"))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=20)
