"""Rates of negative flips by class."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    LOSS,
    SLATE,
    WIDTH,
    Drawing,
    dashed_rule,
    distinct_names,
    light,
    row_axis,
    tooltips,
)

NAMED = 30  # classes at most: those of the highest rates


def flips_chart(table: pd.DataFrame) -> Drawing:
    """Draw the share of images lost in each class with its interval, the highest first.

    The dashed line is the share over all images. Classes that flip more than average, after correction, are red; grey
    ticks are flips between two baseline models.

    Args:
        table: `table` of a `NegativeFlips`.
    """
    whole = table.head(1)
    classes = table.iloc[1:].dropna(subset=["negative_share"])
    classes = classes.reset_index(drop=True)
    classes["class"] = distinct_names(classes["class"])
    ordered = classes.sort_values("negative_share", ascending=False, kind="stable")
    shown = ordered.head(NAMED).assign(more=ordered["verdict"].eq("more than average"))
    shares = [
        "negative_share",
        "negative_low",
        "negative_high",
        "retrained_share",
        "positive_share",
    ]
    shown = shown.assign(**100 * shown[shares])
    title = "images right before and wrong after, %"
    y = row_axis(shown["class"], limit=130)
    colour = alt.condition("datum.more", alt.value(LOSS), alt.value(light(LOSS)))
    base = alt.Chart(shown, width=WIDTH - 60, height=alt.Step(18))
    figures = tooltips(**dict.fromkeys(shares, ".2f"), relative_p_holm=".2g")
    bars = base.mark_bar(height=9).encode(
        x=alt.X("negative_share:Q", title=title, axis=alt.Axis(tickCount=5)),
        y=y,
        color=colour,
        tooltip=[*tooltips("class", "examples"), *figures, alt.Tooltip("verdict")],
    )
    intervals = base.mark_rule(strokeWidth=1.5).encode(
        x=alt.X("negative_low:Q"), x2=alt.X2("negative_high:Q"), y=y
    )
    retrained = base.mark_tick(color=SLATE, thickness=2, size=13).encode(
        x=alt.X("retrained_share:Q"), y=y
    )
    line = alt.Chart(pd.DataFrame({"all": 100 * whole["negative_share"]}))
    rule = dashed_rule(line, x=alt.X("all:Q"))
    heading = []
    if len(ordered) > NAMED:
        heading.append(f"the {NAMED} classes with the highest rates, of {len(ordered):,}")
    if shown["retrained_share"].notna().any():
        heading.append("grey tick: the same model trained again; dashed line: all images")
    return alt.layer(rule, bars, intervals, retrained).properties(title="; ".join(heading))
