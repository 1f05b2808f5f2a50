"""Changes of accuracy of slices."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.classes import WORSE
from tfaudit.charts.style import GREY, LOSS, WIDTH, Drawing, dashed_rule, row_axis, tooltips


def slices_chart(table: pd.DataFrame) -> Drawing:
    """Draw the change of every slice with its interval on the images tested; claimed losses are red.

    Args:
        table: `table` of a `Slices`.
    """
    shown = table.assign(
        name=table["slice"].astype(str) + ": " + table["description"],
        worse=table["verdict"].eq(WORSE),
    )
    colour = alt.condition("datum.worse", alt.value(LOSS), alt.value(GREY))
    x = alt.X("change_pp:Q", title="change of accuracy, points")
    y = row_axis(shown["name"], limit=260)
    base = alt.Chart(shown, width=WIDTH - 200, height=alt.Step(24)).encode(y=y, color=colour)
    figures = tooltips(change_pp="+.1f", relative_pp="+.1f", relative_p_holm=".2g")
    points = base.mark_circle(size=70, opacity=1).encode(
        x=x, tooltip=[*tooltips("name", "examples"), *figures, *tooltips("verdict")]
    )
    intervals = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("change_low_pp:Q"), x2=alt.X2("change_high_pp:Q")
    )
    none = dashed_rule(alt.Chart(pd.DataFrame({"none": [0.0]})), x=alt.X("none:Q"))
    return alt.layer(none, intervals, points)
