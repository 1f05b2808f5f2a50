"""Accuracy of every member of every variant."""

import json

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, member_dots, row_axis, tooltips


def accuracy_chart(accuracies: pd.DataFrame) -> Drawing:
    """Draw [F] table 1: one line per variant, one dot per member, a bar at the mean.

    If variants differ so much that the members of one would shrink to a dot, a second panel shows the differences from
    the mean of each variant, which its label gives.

    Args:
        accuracies: `accuracies` of a `Summary`; only top-1 is drawn.
    """
    top1 = accuracies[accuracies["k"] == 1].assign(percent=lambda rows: 100 * rows["accuracy"])
    by = top1.groupby("title")["percent"]
    spans = by.max() - by.min()
    # Without a format a single value has ticks with six decimals.
    x = alt.X("percent:Q", title="top-1 accuracy, %", axis=alt.Axis(tickCount=5, format=".6~g"))
    y = row_axis(top1["title"], limit=190)
    drawn = _members(top1, x, y)
    if top1["percent"].max() - top1["percent"].min() <= 12 * spans.median() or not spans.any():
        return drawn
    top1["from_mean"] = top1["percent"] - by.transform("mean")
    means = {title: f"mean {mean:.2f} %" for title, mean in by.mean().items()}
    y = row_axis(top1["title"], limit=190)
    y["axis"]["labelExpr"] = (
        f"[datum.value, ({json.dumps(means, ensure_ascii=False)})[datum.value]]"
    )
    title = "top-1 accuracy of the members, points from their mean"
    x = alt.X("from_mean:Q", title=title, axis=alt.Axis(tickCount=5))
    return alt.vconcat(drawn, _members(top1, x, y, step=38), spacing=20)


def _members(rows: pd.DataFrame, x: alt.X, y: alt.Y, *, step: int = 30) -> Drawing:
    base = alt.Chart(rows, width=WIDTH, height=alt.Step(step))
    scaled = x.scale(zero=False, padding=8)  # no dot lies on a label
    tooltip = tooltips("title", "member", percent=".2f")
    return alt.layer(*member_dots(base, scaled, y, tooltip))
