"""Remedies against their controls."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    GAIN,
    GREY,
    LOSS,
    WIDTH,
    Drawing,
    categories,
    dashed_rule,
    row_axis,
    tooltips,
)


def remedies_chart(table: pd.DataFrame) -> Drawing:
    """Draw a panel per measure: remedy minus control with its interval, a row per remedy; the line marks no difference.

    Args:
        table: `table` of a `Remedies`.
    """
    panels = []
    colour = categories(
        "verdict", ["better", "worse", "cannot tell"], [GAIN, LOSS, GREY], symbolOpacity=1
    )
    for measure, rows in table.groupby("measure", sort=False):
        shown = rows.assign(before=100 * rows["control"], after=100 * rows["remedy"])
        base = alt.Chart(shown, width=WIDTH - 160, height=alt.Step(24)).encode(
            y=row_axis(table["title"], limit=190),
            color=colour,
            tooltip=[
                *tooltips("title", "measure", before=".2f", after=".2f", difference_pp="+.2f"),
                alt.Tooltip("verdict"),
            ],
        )
        x = alt.X(
            "difference_pp:Q", title="remedy minus control, points", axis=alt.Axis(tickCount=6)
        )
        bars = (
            base.transform_filter("isValid(datum.low_pp)")
            .mark_rule(strokeWidth=2)
            .encode(x=alt.X("low_pp:Q"), x2=alt.X2("high_pp:Q"))
        )
        dots = base.mark_circle(size=70, opacity=1).encode(x=x)
        none = dashed_rule(alt.Chart(shown), x=alt.XDatum(0))
        panels.append(alt.layer(none, bars, dots, title=measure))
    return alt.vconcat(*panels, spacing=16)
