"""What the members of every population say about one image."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, BLUE, GREEN, GREY, PLUM, WIDTH, Drawing, row_axis

__all__ = ["OTHERS", "votes_chart"]

OTHERS = "other answers"

_WRONG = (PLUM, BLUE, AMBER, "#c76b8f", "#2f9fb3")
"""Of so many answers besides the true class each one has a colour."""


def votes_chart(votes: pd.DataFrame, truth: str) -> Drawing:
    """One line per variant, divided by the shares of the answers; the true class is green.

    The five wrong answers with most votes over all variants have colours, the others are grey.

    Args:
        votes: rows of `title`, `name`, the answer, and `share`; the variants in their order. Titles differ.
        truth: name of the true class.
    """
    wrong = votes[votes["name"] != truth].groupby("name")["share"].sum().sort_values(ascending=False, kind="stable")
    named = [truth, *wrong.index[: len(_WRONG)]]
    shown = votes.assign(answer=votes["name"].where(votes["name"].isin(named), OTHERS))
    summed = shown.groupby(["title", "answer"], as_index=False, sort=False)["share"].sum()
    answers = [*named, *[OTHERS] * (len(wrong) > len(_WRONG))]
    summed["place"] = summed["answer"].map(answers.index)
    summed["percent"] = 100 * summed["share"]
    colours = [GREEN, *_WRONG[: len(named) - 1], GREY][: len(answers)]
    return (
        alt.Chart(summed, width=WIDTH, height=alt.Step(22))
        .mark_bar(height=15)
        .encode(
            x=alt.X("percent:Q", title="votes, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
            y=row_axis(votes["title"].drop_duplicates(), limit=150),
            color=alt.Color(
                "answer:N",
                title=None,
                scale=alt.Scale(domain=answers, range=colours),
                legend=alt.Legend(orient="top", columns=2, labelLimit=130),
            ),
            order="place:Q",
            tooltip=["title", "answer", alt.Tooltip("percent:Q", title="votes, %", format=".0f")],
        )
    )
