"""Numbers of exemplars, and accuracy on exemplars and on other examples."""

import altair as alt
import pandas as pd

from tfaudit.charts.panels import in_grid
from tfaudit.charts.style import (
    AMBER,
    GREEN,
    GREY,
    PIE_LABELS,
    PLUM,
    WIDTH,
    Drawing,
    categories,
    row_axis,
    tooltips,
)

GROUPS = ["PIE", "non-PIE", "all"]
COLOURS = [PLUM, GREEN, GREY]

ACCURACY = alt.X(
    "accuracy:Q",
    title="accuracy, %",
    scale=alt.Scale(domain=[0, 100]),
    axis=alt.Axis(tickCount=5),
)
INTERVAL = {"x": alt.X("low:Q", title="accuracy, %"), "x2": alt.X2("high:Q")}


def difficulty_chart(difficulty: pd.DataFrame) -> Drawing:
    """Draw [F] figure 3: mean accuracy, with its interval over members, on PIEs, on the other examples and on all.

    Args:
        difficulty: `difficulty` of an `Exemplars`, or of several, concatenated with a column `title`.
    """
    table = difficulty.copy()
    table["title"] = table.get("title", "")
    table[["accuracy", "low", "high"]] *= 100
    table["panel"] = "top-" + table["k"].astype(str) + " of the " + table["population"] + " models"
    panels = list(dict.fromkeys(table.sort_values(["k"], kind="stable")["panel"]))
    shapes = alt.Scale(domain=GROUPS, range=["circle", "square", "diamond"])
    colour = categories("group", GROUPS, COLOURS, labelExpr=PIE_LABELS).sort(None)
    shape = alt.Shape("group:N", title=None, scale=shapes)
    y = row_axis(table["title"], limit=150)
    tooltip = tooltips("title", "group", "examples", accuracy=".2f")

    def panel(name: str) -> Drawing:
        base = alt.Chart(table[table["panel"] == name], width=WIDTH, height=alt.Step(26)).encode(
            y=y
        )
        interval = base.mark_rule(strokeWidth=2, opacity=0.6, clip=True).encode(
            **INTERVAL, color=colour.legend(None)
        )
        points = base.mark_point(size=60, filled=True, opacity=1).encode(
            x=ACCURACY, color=colour.legend(None), shape=shape.legend(None), tooltip=tooltip
        )
        return alt.layer(interval, points).properties(title=name)

    return in_grid([panel(name) for name in panels], most=1, legend=[colour, shape])


def difficulty_bars(difficulty: pd.DataFrame) -> Drawing:
    """Draw the difficulty of one variant: three bars for each population and k.

    Args:
        difficulty: `difficulty` of an `Exemplars`.
    """
    table = difficulty.assign(
        panel=difficulty["population"] + ", top-" + difficulty["k"].astype(str)
    )
    table[["accuracy", "low", "high"]] *= 100
    y = row_axis(table.sort_values(["k"], kind="stable")["panel"], limit=150)
    base = alt.Chart(table, width=WIDTH, height=alt.Step(16, **{"for": "offset"})).encode(
        y=y,
        yOffset=alt.YOffset("group:N", sort=GROUPS),
        tooltip=tooltips("panel", "group", "examples", accuracy=".2f", low=".2f", high=".2f"),
    )
    colour = categories("group", GROUPS, COLOURS, labelExpr=PIE_LABELS)
    bars = base.mark_bar().encode(x=ACCURACY, color=colour)
    intervals = base.mark_rule(strokeWidth=2, color=AMBER, clip=True).encode(**INTERVAL)
    return alt.layer(bars, intervals)


def pie_count_chart(counts: pd.DataFrame) -> Drawing:
    """Draw one line per variant: a dot at the number of PIEs, a grey band for the central 95 % by chance.

    Args:
        counts: rows of `title`, `pies`, and `low`, `expected`, `high` by chance; NaN if unknown.
    """
    y = row_axis(counts["title"], limit=150)
    known = bool(counts["low"].notna().any())
    x = alt.X(
        "pies:Q",
        title="changed examples (PIEs)" + "; grey: the central 95 % by chance" * known,
        axis=alt.Axis(tickCount=5, tickMinStep=1),
    )
    figures = tooltips(pies=",.0f", expected=",.0f", low=",.0f", high=",.0f")
    base = alt.Chart(counts, width=WIDTH, height=alt.Step(24)).encode(
        y=y, tooltip=[alt.Tooltip("title"), *figures]
    )
    with_chance = base.transform_filter("isValid(datum.low)")
    band = with_chance.mark_bar(color=GREY, opacity=0.6, height=14).encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q")
    )
    middle = with_chance.mark_tick(color=GREY, thickness=2, size=14).encode(x=alt.X("expected:Q"))
    observed = base.mark_circle(color=PLUM, size=70, opacity=1).encode(x=x)
    return alt.layer(band, middle, observed)
