"""Attributes that exemplars have more often than other examples."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    AMBER,
    GREEN,
    GREY,
    PLUM,
    WIDTH,
    Drawing,
    categories,
    row_axis,
    tooltips,
)

SHARES = {"pie": "PIE, %", "non_pie": "non-PIE, %"}
SHOWN = 40  # rows at most, those of smallest p


def over_indexing_chart(table: pd.DataFrame, alpha: float) -> Drawing:
    """Draw the share of PIEs and of other examples with each attribute, amber where they differ significantly.

    Args:
        table: of an `Attributes` or a `Survey`.
        alpha: level of the tests after Holm's correction.
    """
    shown = (
        table.sort_values("p", kind="stable")
        .head(SHOWN)
        .sort_values("ratio", ascending=False, kind="stable")
    )
    value = shown["value"] if "value" in shown else pd.Series("yes", shown.index)
    shown["name"] = shown["attribute"].where(value == "yes", shown["attribute"] + ": " + value)
    shown["pie"], shown["non_pie"] = 100 * shown["share_pie"], 100 * shown["share_non_pie"]
    # The ratio is part of the name because axis labels take the colour of the page, and text marks do not.
    shown["name"] += shown["ratio"].map(lambda ratio: "" if pd.isna(ratio) else f", {ratio:.2f} ×")
    shown["link"] = (shown["p_holm"] <= alpha).map({True: "significant", False: "no evidence"})
    y = row_axis(shown["name"], limit=208)
    kinds = ["PIE", "non-PIE", "significant", "no evidence"]
    colours = [PLUM, GREEN, AMBER, GREY]
    colour = categories("kind", kinds, colours, columns=2, symbolOpacity=1)
    shares = [alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in SHARES.items()]
    tooltip = [
        alt.Tooltip("name"),
        *shares,
        *tooltips(ratio=".2f"),
        *tooltips("test", p=".2g", p_holm=".2g"),
    ]
    base = alt.Chart(shown, width=WIDTH - 175, height=alt.Step(22))
    x = alt.X(
        "non_pie:Q",
        title="share, %",
        axis=alt.Axis(tickCount=4),
        scale=alt.Scale(zero=True, nice=True),
    )
    links = base.mark_rule(strokeWidth=2).encode(
        x=x, x2=alt.X2("pie:Q"), y=y, color=alt.Color("link:N", title=None)
    )
    dots = base.mark_circle(size=65, opacity=1).encode(y=y, color=colour, tooltip=tooltip)
    others, pies = (
        dots.transform_calculate(kind=f"'{kind}'").encode(x=alt.X(f"{column}:Q"))
        for column, kind in (("non_pie", "non-PIE"), ("pie", "PIE"))
    )
    return alt.layer(links, others, pies)
