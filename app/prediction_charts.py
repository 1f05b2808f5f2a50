"""Predictions of the members for the images of one class, and for one image."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    GAIN,
    GREY,
    WIDTH,
    WRONG,
    Drawing,
    before_after,
    categories,
    dashed_rule,
    member_dots,
    row_axis,
    tooltips,
)

OTHERS = "other predictions"


def _percent(title: str) -> alt.X:
    """Return the axis of the column `percent`."""
    return alt.X("percent:Q", title=title, axis=alt.Axis(tickCount=5))


def _percent_tooltips(*columns: str, title: str, form: str = ".2f") -> list[alt.Tooltip]:
    """Return the tooltips of the named columns, then the tooltip of `percent`."""
    texts = tooltips(*(f"{column}:N" for column in columns))
    return [*texts, alt.Tooltip("percent:Q", title=title, format=form)]


def class_recall_chart(recalls: pd.DataFrame) -> Drawing:
    """Draw one line per variant, one dot per member, a bar at the mean; a dashed line at the mean of the first variant.

    Args:
        recalls: rows of `title`, `member` and `recall`, a share; the baseline's rows come first. Titles are distinct.
    """
    measured = recalls.dropna(subset=["recall"]).assign(percent=lambda rows: 100 * rows["recall"])
    y = row_axis(measured["title"], limit=150)
    x = _percent("recall, %").scale(zero=False, nice=True)
    tooltip = _percent_tooltips("title", "member", title="recall, %")
    base = alt.Chart(measured, width=WIDTH, height=alt.Step(24))
    first = base.transform_filter(
        alt.datum.title == measured["title"].iloc[0] if len(measured) else "false"
    )
    level = dashed_rule(first, 1.5, x=x.aggregate("mean"))
    return alt.layer(level, *member_dots(base, x, y, tooltip))


def confusion_chart(predictions: pd.DataFrame) -> Drawing:
    """Draw two bars per predicted class, in the order of the rows.

    Args:
        predictions: rows of `name`, the predicted class (distinct), `before` and `after`, its shares of all
            predictions.
    """
    long = predictions.melt("name", ["before", "after"], var_name="when", value_name="share")
    long["percent"] = 100 * long["share"]
    bars = alt.Chart(long, width=WIDTH, height=alt.Step(11, **{"for": "offset"})).mark_bar()
    return bars.encode(
        x=_percent("predictions, %"),
        y=row_axis(predictions["name"], limit=150),
        yOffset=alt.YOffset("when:N", sort=["before", "after"]),
        color=before_after("when"),
        tooltip=_percent_tooltips("name", "when", title="predictions, %"),
    )


def votes_chart(votes: pd.DataFrame, truth: str) -> Drawing:
    """Draw one line per variant, divided by the shares of the predictions; the true class has the colour of gains.

    The five wrong predictions with the most votes over all variants have colours of their own; others are grey.

    Args:
        votes: rows of `title`, `name` (the predicted class) and `share`; titles are distinct.
        truth: name of the true class.
    """
    wrong = (
        votes[votes["name"] != truth]
        .groupby("name")["share"]
        .sum()
        .sort_values(ascending=False, kind="stable")
    )
    named = [truth, *wrong.index[: len(WRONG)]]
    shown = votes.assign(prediction=votes["name"].where(votes["name"].isin(named), OTHERS))
    summed = shown.groupby(["title", "prediction"], as_index=False, sort=False)["share"].sum()
    predictions = [*named, OTHERS] if len(wrong) > len(WRONG) else named
    summed = summed.assign(
        order=summed["prediction"].map(predictions.index), percent=100 * summed["share"]
    )
    colours = [GAIN, *WRONG[: len(named) - 1], GREY][: len(predictions)]
    bars = alt.Chart(summed, width=WIDTH, height=alt.Step(22)).mark_bar(height=15)
    return bars.encode(
        x=_percent("votes, %").scale(domain=[0, 100]),
        y=row_axis(votes["title"], limit=150),
        color=categories("prediction", predictions, colours, columns=2, labelLimit=130),
        order=alt.Order("order:Q"),
        tooltip=_percent_tooltips("title", "prediction", title="votes, %", form=".0f"),
    )
