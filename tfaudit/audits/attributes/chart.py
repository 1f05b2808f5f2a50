"""Attributes that exemplars have more often than other examples."""

import altair as alt
import numpy as np
import pandas as pd

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

SHOWN = 40  # maximum number of rows: those with the smallest p


def over_indexing_chart(table: pd.DataFrame, alpha: float) -> Drawing:
    """Draw the shares of PIEs and of other examples with each attribute, in amber if they differ significantly.

    Args:
        table: `table` of an `Attributes` or a `Survey`.
        alpha: level of the tests after Holm's correction.
    """
    smallest_p = table.sort_values("p", kind="stable").head(SHOWN)
    shown = smallest_p.sort_values("ratio", ascending=False, kind="stable")
    value = shown.get("value", pd.Series("yes", shown.index))
    shown["name"] = shown["attribute"].where(value == "yes", shown["attribute"] + ": " + value)
    shown["pie"], shown["non_pie"] = 100 * shown["share_pie"], 100 * shown["share_non_pie"]
    # The ratio is part of the name because axis labels take the colour of the page, and text marks do not.
    shown["name"] += shown["ratio"].map(lambda ratio: "" if pd.isna(ratio) else f", {ratio:.2f} ×")
    shown["link"] = np.where(shown["p_holm"] <= alpha, "significant", "no evidence")
    kinds = {"PIE": PLUM, "non-PIE": GREEN, "significant": AMBER, "no evidence": GREY}
    base = alt.Chart(shown, width=WIDTH - 175, height=alt.Step(22)).encode(
        y=row_axis(shown["name"], limit=208)
    )
    links = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("non_pie:Q", title="share, %").axis(tickCount=4).scale(zero=True),
        x2=alt.X2("pie:Q"),
        color=alt.Color("link:N", title=None),
    )
    dots = base.mark_circle(size=65, opacity=1).encode(
        color=categories(
            "kind", [*kinds], [*kinds.values()], labelExpr=PIE_LABELS, columns=2, symbolOpacity=1
        ),
        tooltip=[
            *tooltips("name"),
            alt.Tooltip("pie:Q", title="of changed examples (PIEs), %", format=".2f"),
            alt.Tooltip("non_pie:Q", title="of other examples, %", format=".2f"),
            *tooltips(ratio=".2f"),
            *tooltips("test", p=".2g", p_holm=".2g"),
        ],
    )
    others, pies = (
        dots.transform_calculate(kind=f"'{kind}'").encode(x=alt.X(f"{column}:Q"))
        for column, kind in (("non_pie", "non-PIE"), ("pie", "PIE"))
    )
    return alt.layer(links, others, pies)
