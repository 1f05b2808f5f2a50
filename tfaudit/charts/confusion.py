"""Predictions for the images of one class, before and after compression."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, before_after, row_axis

__all__ = ["confusion_chart"]


def confusion_chart(predictions: pd.DataFrame) -> Drawing:
    """Draw two bars per predicted class, in the order of the rows.

    Args:
        predictions: rows of `name`, the predicted class, distinct; `before` and `after`, its shares of all predictions.
    """
    long = predictions.melt("name", ["before", "after"], var_name="when", value_name="share")
    long["percent"] = 100 * long["share"]
    return (
        alt.Chart(long, width=WIDTH, height=alt.Step(11, **{"for": "offset"}))
        .mark_bar()
        .encode(
            x=alt.X("percent:Q", title="predictions, %", axis=alt.Axis(tickCount=5)),
            y=row_axis(predictions["name"], limit=150),
            yOffset=alt.YOffset("when:N", sort=["before", "after"]),
            color=before_after("when"),
            tooltip=["name", "when", alt.Tooltip("percent:Q", title="predictions, %", format=".2f")],
        )
    )
