"""A row per group with its change and interval, the largest loss first; the first row, of all, stays on top."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import GAIN, GREY, LOSS, WIDTH, Drawing, dashed_rule, row_axis, tooltips

NAMED = 30
"""Largest number of groups that are drawn."""


def change_rows(table: pd.DataFrame, name: str, title: str, *, alpha: float = 0.05) -> Drawing:
    """Draw the changes of a table whose first row is about all examples; those shown to change have a colour.

    Args:
        table: columns `name`, `examples`, `change_pp`, `change_low_pp`, `change_high_pp` and `p_holm`.
        name: column of the names of the rows.
        title: title of the axis.
        alpha: level of the tests.
    """
    groups = table.iloc[1:].dropna(subset=["change_pp"]).sort_values("change_pp", kind="stable")
    shown = pd.concat([table.head(1), groups.head(NAMED)], ignore_index=True)
    sign = (shown["change_pp"] > 0).map({True: GAIN, False: LOSS})
    shown["colour"] = sign.where(shown["p_holm"] <= alpha, GREY)
    y = row_axis(shown[name], limit=170)
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(18)).encode(
        y=y, color=alt.Color("colour:N", scale=None)
    )
    axis = alt.X("change_pp:Q", title=title, axis=alt.Axis(tickCount=5))
    figures = dict.fromkeys(("change_pp", "change_low_pp", "change_high_pp"), "+.2f")
    points = base.mark_circle(size=60, opacity=1).encode(
        x=axis, tooltip=tooltips(name, "examples", **figures, p_holm=".2g")
    )
    ends = alt.X("change_low_pp:Q"), alt.X2("change_high_pp:Q")
    intervals = base.mark_rule(strokeWidth=2).encode(*ends)
    zero = dashed_rule(alt.Chart(pd.DataFrame({"none": [0]})), x=alt.X("none:Q"))
    chart = alt.layer(zero, intervals, points)
    heading = f"the {NAMED} largest losses of {len(groups):,} groups"
    return chart.properties(title=heading) if len(groups) > NAMED else chart
