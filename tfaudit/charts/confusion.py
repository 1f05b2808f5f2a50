"""What a class is taken for, before compression and after."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, before_after, row_axis

__all__ = ["confusion_chart"]


def confusion_chart(answers: pd.DataFrame) -> Drawing:
    """Two bars per answer, in the order of the rows.

    Args:
        answers: rows of `name`, the answer, all different; `before` and `after`, its shares of all answers.
    """
    long = answers.melt("name", ["before", "after"], var_name="when", value_name="share")
    long["percent"] = 100 * long["share"]
    return (
        alt.Chart(long, width=WIDTH, height=alt.Step(11, **{"for": "offset"}))
        .mark_bar()
        .encode(
            x=alt.X("percent:Q", title="answers, %", axis=alt.Axis(tickCount=5)),
            y=row_axis(answers["name"], limit=150),
            yOffset=alt.YOffset("when:N", sort=["before", "after"]),
            color=before_after("when"),
            tooltip=["name", "when", alt.Tooltip("percent:Q", title="answers, %", format=".2f")],
        )
    )
