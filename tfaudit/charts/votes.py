"""Predictions of the members of every population for one image."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, BLUE, GREEN, GREY, PLUM, ROSE, TEAL, WIDTH, Drawing, row_axis

__all__ = ["OTHERS", "votes_chart"]

OTHERS = "other predictions"

_WRONG = (PLUM, BLUE, AMBER, ROSE, TEAL)
"""Colours of the wrong predictions with most votes."""


def votes_chart(votes: pd.DataFrame, truth: str) -> Drawing:
    """Draw one line per variant, divided by the shares of the predictions; the true class is green.

    The five wrong predictions with most votes over all variants have colours, the others are grey.

    Args:
        votes: rows of `title`, `name` (the predicted class) and `share`; titles are distinct.
        truth: name of the true class.
    """
    wrong = votes[votes["name"] != truth].groupby("name")["share"].sum().sort_values(ascending=False, kind="stable")
    named = [truth, *wrong.index[: len(_WRONG)]]
    shown = votes.assign(prediction=votes["name"].where(votes["name"].isin(named), OTHERS))
    summed = shown.groupby(["title", "prediction"], as_index=False, sort=False)["share"].sum()
    predictions = [*named, *[OTHERS] * (len(wrong) > len(_WRONG))]
    summed["order"] = summed["prediction"].map(predictions.index)
    summed["percent"] = 100 * summed["share"]
    colours = [GREEN, *_WRONG[: len(named) - 1], GREY][: len(predictions)]
    return (
        alt.Chart(summed, width=WIDTH, height=alt.Step(22))
        .mark_bar(height=15)
        .encode(
            x=alt.X("percent:Q", title="votes, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
            y=row_axis(votes["title"].drop_duplicates(), limit=150),
            color=alt.Color(
                "prediction:N",
                title=None,
                scale=alt.Scale(domain=predictions, range=colours),
                legend=alt.Legend(orient="top", columns=2, labelLimit=130),
            ),
            order="order:Q",
            tooltip=["title", "prediction", alt.Tooltip("percent:Q", title="votes, %", format=".0f")],
        )
    )
