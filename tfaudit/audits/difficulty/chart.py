"""Accuracy on exemplars over all variants."""

import altair as alt
import pandas as pd

from tfaudit.audits.exemplars.chart import COLOURS, GROUPS
from tfaudit.charts.style import WIDTH, Drawing, tooltips


def difficulty_levels_chart(difficulty: pd.DataFrame) -> Drawing:
    """Draw the uncompressed models' top-1 accuracy on PIEs, on the others and on all, a row per variant.

    Args:
        difficulty: of `DifficultyLevels`.
    """
    rows = difficulty[(difficulty["population"] == "baseline") & (difficulty["k"] == 1)].dropna(
        subset=["accuracy"]
    )
    shown = rows.assign(
        **{name: 100 * rows[name].clip(0, 1) for name in ("accuracy", "low", "high")},
    )
    order = list(dict.fromkeys(difficulty["title"]))
    scale = alt.Scale(domain=GROUPS, range=COLOURS)
    colour = alt.Color(
        "group:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolOpacity=1)
    )
    y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
    x = alt.X(
        "accuracy:Q",
        title="top-1 accuracy of uncompressed models, %",
        scale=alt.Scale(zero=False, nice=True),
    )
    base = alt.Chart(shown, width=WIDTH - 80, height=alt.Step(24))
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour
    )
    tooltip = tooltips("title", "group", "examples", accuracy=".2f", low=".2f", high=".2f")
    dots = base.mark_circle(size=60, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return alt.layer(bars, dots)
