"""Changes of the share of true boxes that are found."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREY, LOSS, WIDTH, Drawing, dashed_rule, row_axis, tooltips


def boxes_chart(table: pd.DataFrame) -> Drawing:
    """Draw the change of each row with its interval; significant losses are red.

    Args:
        table: `table` of a `Detection`.
    """
    shown = table.assign(
        row=table["kind"] + ": " + table["name"],
        lost=(table["p_holm"] < 0.05) & (table["change_pp"] < 0),
    )
    colour = alt.condition("datum.lost", alt.value(LOSS), alt.value(GREY))
    base = alt.Chart(shown, width=WIDTH - 200, height=alt.Step(24)).encode(
        y=row_axis(shown["row"], limit=260), color=colour
    )
    points = base.mark_circle(size=70, opacity=1).encode(
        x=alt.X("change_pp:Q", title="change of boxes found, points"),
        tooltip=[*tooltips("row", "boxes"), *tooltips(change_pp="+.1f", p_holm=".2g")],
    )
    intervals = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("change_low_pp:Q"), x2=alt.X2("change_high_pp:Q")
    )
    none = dashed_rule(alt.Chart(pd.DataFrame({"none": [0.0]})), x=alt.X("none:Q"))
    return alt.layer(none, intervals, points)
