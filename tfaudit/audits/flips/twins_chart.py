"""Predictions that differ between members of one population."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import BLUE, WIDTH, Drawing, tooltips


def twins_chart(frame: pd.DataFrame) -> Drawing:
    """Draw one point per pair of members at the number of predictions that differ.

    Args:
        frame: `frame` of a `RetrainedTwins`.
    """
    tooltip = tooltips("first", "second", "changed", percent=".2f")
    x = alt.X(
        "changed:Q",
        title="predictions that differ between two baseline models",
        scale=alt.Scale(zero=True),
    )
    base = alt.Chart(frame.assign(percent=100 * frame["share"]), width=WIDTH, height=40)
    return base.mark_circle(size=55, opacity=0.7, color=BLUE).encode(x=x, tooltip=tooltip)
