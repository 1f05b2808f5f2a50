"""Attributes that exemplars have more often than other examples."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, GREEN, GREY, PLUM, WIDTH, Drawing, row_axis

__all__ = ["over_indexing_chart"]

SHOWN = 40
"""Rows at most, those of smallest p."""


def over_indexing_chart(table: pd.DataFrame, alpha: float) -> Drawing:
    """Draw the share of PIEs and of other examples with each attribute, amber where they differ significantly.

    Args:
        table: of an `Attributes` or a `Survey`.
        alpha: level of the tests after Holm's correction.
    """
    shown = (
        table.sort_values("p", kind="stable").head(SHOWN).sort_values("ratio", ascending=False, kind="stable").copy()
    )
    value = shown["value"] if "value" in shown else pd.Series("yes", shown.index)
    shown["name"] = shown["attribute"].where(value == "yes", shown["attribute"] + ": " + value)
    shown["pie"], shown["non_pie"] = 100 * shown["share_pie"], 100 * shown["share_non_pie"]
    # The ratio is part of the name because axis labels take the colour of the page, and text marks do not.
    shown["name"] += shown["ratio"].map(lambda ratio: "" if pd.isna(ratio) else f", {ratio:.2f} ×")
    shown["link"] = (shown["p_holm"] <= alpha).map({True: "significant", False: "no evidence"})
    y = row_axis(shown["name"], limit=208)
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["PIE", "non-PIE", "significant", "no evidence"], range=[PLUM, GREEN, AMBER, GREY]),
        legend=alt.Legend(orient="top", columns=2, symbolOpacity=1),
    )
    tooltip = [
        "name",
        alt.Tooltip("pie:Q", title="PIE, %", format=".2f"),
        alt.Tooltip("non_pie:Q", title="non-PIE, %", format=".2f"),
        alt.Tooltip("ratio:Q", format=".2f"),
        "test",
        alt.Tooltip("p:Q", format=".2g"),
        alt.Tooltip("p_holm:Q", format=".2g"),
    ]
    base = alt.Chart(shown, width=WIDTH - 175, height=alt.Step(22))
    axis = alt.Axis(tickCount=4)
    links = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("non_pie:Q", title="share, %", axis=axis, scale=alt.Scale(zero=True, nice=True)),
        x2="pie:Q",
        y=y,
        color=alt.Color("link:N", title=None),
    )
    layers = [links]
    for column, kind in (("non_pie", "non-PIE"), ("pie", "PIE")):
        layers.append(
            base.transform_calculate(kind=f"'{kind}'")
            .mark_circle(size=65, opacity=1)
            .encode(x=f"{column}:Q", y=y, color=colour, tooltip=tooltip)
        )
    return alt.layer(*layers)
