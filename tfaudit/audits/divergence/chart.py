"""Shifts of the probabilities by class."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    HUES,
    WIDTH,
    Drawing,
    dashed_rule,
    distinct_names,
    light,
    row_axis,
    tooltips,
)

NAMED = 30  # classes at most: those that are moved most


def shifts_chart(table: pd.DataFrame) -> Drawing:
    """Draw the shift of each class with its interval, the largest first; classes moved more than average are darker.

    Args:
        table: `table` of a `Divergence`.
    """
    classes = table.iloc[1:].dropna(subset=["shift"]).reset_index(drop=True)
    classes["class"] = distinct_names(classes["class"])
    ordered = classes.sort_values("shift", ascending=False, kind="stable")
    shown = ordered.head(NAMED).assign(more=ordered["verdict"].eq("more than average"))
    colour = alt.condition("datum.more", alt.value(HUES[0]), alt.value(light(HUES[0])))
    y = row_axis(shown["class"], limit=130)
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(18))
    x = alt.X("shift:Q", title="mean square root of the divergence", axis=alt.Axis(tickCount=4))
    tooltip = [
        *tooltips("class", "examples", agreement=".4f", kl=".2g", shift=".3g"),
        *tooltips("verdict", relative_p_holm=".2g"),
    ]
    bars = base.mark_bar(height=9).encode(x=x, y=y, color=colour, tooltip=tooltip)
    intervals = base.mark_rule(strokeWidth=1.5).encode(
        x=alt.X("shift_low:Q"), x2=alt.X2("shift_high:Q"), y=y
    )
    line = alt.Chart(pd.DataFrame({"all": table["shift"].head(1)}))
    few = "" if len(ordered) <= NAMED else f"the {NAMED} classes moved most, of {len(ordered):,}"
    chart = alt.layer(dashed_rule(line, x=alt.X("all:Q")), bars, intervals)
    return chart.properties(title=few) if few else chart
