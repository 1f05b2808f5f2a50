"""Gaps between the best and the worst group of every grouping."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, before_after, row_axis, tooltips

DRAWN = 20  # maximum number of groupings: those with the widest gaps


def gaps_chart(gaps: pd.DataFrame) -> Drawing:
    """Draw a bar from the worst to the best group of each grouping, before and after, the widest gap first.

    Dots are the worst groups; the lines through them are intervals that hold for all groups of the grouping.

    Args:
        gaps: `gaps` of an `Intersections`.
    """
    shown = gaps.sort_values("gap_after_pp", ascending=False, kind="stable").head(DRAWN)
    sides = [
        shown[["grouping", "groups", "worst_group"]].assign(
            when=when,
            worst=100 * shown[f"worst_{when}"],
            best=100 * shown[f"worst_{when}"] + shown[f"gap_{when}_pp"],
            low=100 * shown[f"worst_{when}_low"],
            high=100 * shown[f"worst_{when}_high"],
            gap=shown[f"gap_{when}_pp"],
        )
        for when in ("before", "after")
    ]
    rows = pd.concat(sides, ignore_index=True)
    base = alt.Chart(rows, width=WIDTH - 100, height=alt.Step(14)).encode(
        y=row_axis(shown["grouping"], limit=130),
        yOffset=alt.YOffset("when:N", sort=["before", "after"]),
        color=before_after("when"),
    )
    title = "accuracy of the worst and the best group, %"
    x = alt.X("worst:Q", title=title, axis=alt.Axis(tickCount=5)).scale(zero=False)
    bars = base.mark_rule(strokeWidth=6, opacity=0.35).encode(x=x, x2=alt.X2("best:Q"))
    intervals = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    tooltip = tooltips("grouping", "when", "groups", worst=".2f", best=".2f", gap=".2f")
    dots = base.mark_circle(size=55, opacity=1).encode(x=x, tooltip=tooltip)
    some = (
        f"the {DRAWN} groupings with the widest gaps, of {len(gaps)}" if len(gaps) > DRAWN else ""
    )
    return alt.layer(bars, intervals, dots).properties(title=some)
