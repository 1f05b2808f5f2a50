"""Accuracy of every member of every variant."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import PLUM, SLATE, WIDTH, Drawing, numbers


def accuracy_chart(accuracies: pd.DataFrame) -> Drawing:
    """Draw [F] table 1: one line per variant, one dot per member, a bar at the mean.

    The lines share one scale, unless variants differ so much that the members of one would collapse into a dot.

    Args:
        accuracies: of a `Summary`; only top-1 is drawn.
    """
    top1 = accuracies[accuracies["k"] == 1].assign(percent=lambda rows: 100 * rows["accuracy"])
    order = list(top1["title"].unique())
    axis = alt.Axis(tickCount=5, format=".6~g")  # else a single value has ticks with six decimals
    x = alt.X("percent:Q", title="top-1 accuracy, %", scale=alt.Scale(zero=False, nice=True), axis=axis)
    tooltip = ["title", "member", *numbers(percent=".2f")]
    spans = top1.groupby("title")["percent"].agg(lambda values: values.max() - values.min())
    if top1["percent"].max() - top1["percent"].min() <= 12 * spans.median() or not spans.any():
        y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=190))
        base = alt.Chart(top1, width=WIDTH, height=alt.Step(30))
        dots = base.mark_circle(size=55, opacity=0.7, color=SLATE).encode(x=x, y=y, tooltip=tooltip)
        means = base.mark_tick(color=PLUM, thickness=3, size=20).encode(x=x.aggregate("mean"), y=y)
        return alt.layer(dots, means)
    base = alt.Chart(width=WIDTH, height=26)
    dots = base.mark_circle(size=55, opacity=0.7, color=SLATE).encode(x=x.title(None), tooltip=tooltip)
    means = base.mark_tick(color=PLUM, thickness=3, size=20).encode(x=x.title(None).aggregate("mean"))
    row = alt.Row("title:N", sort=order, title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=190))
    panels = alt.layer(dots, means, data=top1).facet(row=row, spacing=14)
    return panels.properties(title="top-1 accuracy, %; each line has its own scale").resolve_scale(x="independent")
