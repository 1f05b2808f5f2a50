"""Accuracy on exemplars and on other examples."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, GREEN, GREY, PLUM, WIDTH, Drawing, row_axis

__all__ = ["difficulty_bars", "difficulty_chart"]

GROUPS, COLOURS = ["PIE", "non-PIE", "all"], [PLUM, GREEN, GREY]


def difficulty_chart(difficulty: pd.DataFrame) -> Drawing:
    """Draw [F] figure 3: mean accuracy, with its interval over members, on PIEs, on the other examples and on all.

    Args:
        difficulty: of an `Exemplars`; or of several, with a column `title`.
    """
    table = difficulty.copy()
    table["title"] = table.get("title", "")
    for column in ("accuracy", "low", "high"):
        table[column] = 100 * table[column]
    table["panel"] = "top-" + table["k"].astype(str) + " of the " + table["population"] + " models"
    order = list(dict.fromkeys(table["title"]))
    panels = list(dict.fromkeys(table.sort_values(["k"], kind="stable")["panel"]))
    colour = alt.Color(
        "group:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=GROUPS, range=COLOURS),
        legend=alt.Legend(orient="top"),
    )
    shape = alt.Shape("group:N", title=None, scale=alt.Scale(domain=GROUPS, range=["circle", "square", "diamond"]))
    y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
    base = alt.Chart(width=170, height=alt.Step(26))
    x = alt.X("accuracy:Q", title="accuracy, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    interval = base.mark_rule(strokeWidth=2, opacity=0.6, clip=True).encode(
        x=alt.X("low:Q", title="accuracy, %"), x2="high:Q", y=y, color=colour
    )
    points = base.mark_point(size=60, filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        shape=shape,
        tooltip=["title", "group", "examples", alt.Tooltip("accuracy:Q", format=".2f")],
    )
    return alt.layer(interval, points, data=table).facet(
        facet=alt.Facet("panel:N", sort=panels, title=None), columns=2, spacing=20
    )


def difficulty_bars(difficulty: pd.DataFrame) -> Drawing:
    """Draw the difficulty of one variant: three bars for each population and k.

    Args:
        difficulty: of an `Exemplars`.
    """
    table = difficulty.assign(panel=difficulty["population"] + ", top-" + difficulty["k"].astype(str))
    for column in ("accuracy", "low", "high"):
        table[column] = 100 * table[column]
    colour = alt.Color(
        "group:N", title=None, scale=alt.Scale(domain=GROUPS, range=COLOURS), legend=alt.Legend(orient="top")
    )
    y = row_axis(table.sort_values(["k"], kind="stable")["panel"].drop_duplicates(), limit=150)
    base = alt.Chart(table, width=WIDTH, height=alt.Step(16, **{"for": "offset"})).encode(
        y=y,
        yOffset=alt.YOffset("group:N", sort=GROUPS),
        tooltip=[
            "panel",
            "group",
            "examples",
            *(alt.Tooltip(f"{name}:Q", format=".2f") for name in ("accuracy", "low", "high")),
        ],
    )
    x = alt.X("accuracy:Q", title="accuracy, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    bars = base.mark_bar().encode(x=x, color=colour)
    intervals = base.mark_rule(strokeWidth=2, color=AMBER, clip=True).encode(
        x=alt.X("low:Q", title="accuracy, %"), x2="high:Q"
    )
    return alt.layer(bars, intervals)
