"""A bar per class with its interval, the largest first; the dashed line is the figure of all images."""

from collections.abc import Mapping

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    SLATE,
    WIDTH,
    Drawing,
    dashed_rule,
    distinct_names,
    light,
    row_axis,
    tooltips,
)

NAMED = 30
"""Largest number of classes that are drawn."""


def class_bars(
    table: pd.DataFrame,
    figure: str,
    title: str,
    colour: str,
    formats: Mapping[str, str],
    *,
    tick: str = "",
    legend: str = "",
) -> Drawing:
    """Draw the classes of a table whose first row is all images; those with the verdict "more than average" are darker.

    Args:
        table: columns `class`, `verdict`, `examples`, the figure, and the ends of its interval, `low` and `high`.
        figure: name of the column to draw.
        title: title of its axis.
        colour: colour of the bars.
        formats: formats of the numbers in tooltips, by column.
        tick: column of grey ticks; none by default.
        legend: words on the ticks, in the heading.
    """
    classes = table.iloc[1:].dropna(subset=[figure]).reset_index(drop=True)
    classes["class"] = distinct_names(classes["class"])
    ordered = classes.sort_values(figure, ascending=False, kind="stable")
    shown = ordered.head(NAMED).assign(more=ordered["verdict"].eq("more than average"))
    y = row_axis(shown["class"], limit=130)
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(18))
    bars = base.mark_bar(height=9).encode(
        x=alt.X(f"{figure}:Q", title=title, axis=alt.Axis(tickCount=4)),
        y=y,
        color=alt.condition("datum.more", alt.value(colour), alt.value(light(colour))),
        tooltip=[*tooltips("class", "examples", **formats), alt.Tooltip("verdict")],
    )
    interval = {"x": alt.X("low:Q"), "x2": alt.X2("high:Q")}
    layers = [bars, base.mark_rule(strokeWidth=1.5).encode(y=y, **interval)]
    heading = []
    if len(ordered) > NAMED:
        heading.append(f"the {NAMED} largest of {len(ordered):,} classes")
    if tick and shown[tick].notna().any():
        heading.append(legend)
        mark = base.mark_tick(color=SLATE, thickness=2, size=13)
        layers.append(mark.encode(x=alt.X(f"{tick}:Q"), y=y))
    line = alt.Chart(pd.DataFrame({"all": table[figure].head(1)}))
    chart = alt.layer(dashed_rule(line, x=alt.X("all:Q")), *layers)
    return chart.properties(title="; ".join(heading)) if heading else chart
