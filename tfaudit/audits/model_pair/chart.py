"""Images of each class that one compressed model loses and wins."""

import altair as alt
import pandas as pd

from tfaudit.audits.classes.chart import Layers, tooltips_of, with_overview
from tfaudit.charts.style import (
    GAIN,
    LIGHT,
    LOSS,
    SLATE,
    WIDTH,
    Drawing,
    categories,
    distinct_names,
    row_axis,
    tooltips,
)

LOST, WON, CHANGE = "newly wrong", "newly correct", "change of recall"

STRENGTH = alt.condition("datum.claimed", alt.value(1), alt.value(LIGHT))
COLOUR = categories(
    "kind", [LOST, WON, CHANGE], [LOSS, GAIN, SLATE], symbolType="square", columns=2
)
TOOLTIP = tooltips(
    *("class:N", "verdict:N", "examples:Q", "lost:Q", "won:Q"),
    **dict.fromkeys(("change_pp", "change_low_pp", "change_high_pp"), "+.2f"),
    change_p=".2g",
)


def pair_chart(frame: pd.DataFrame) -> Drawing:
    """Draw [F] figure 2 for one model: bars show the images lost and won, points the change with its interval.

    Bars are opaque for classes that collapsed or have a verdict of lost or gained recall, faint otherwise. If there are
    more than 40 classes, an overview of all stands above the 12 that lost most and the 12 that won most.

    Args:
        frame: `frame` of a `PairComparison`.
    """
    shown = frame.dropna(subset=["change_p"]).copy()
    shown["claimed"] = shown["collapsed"] | shown["verdict"].isin(["lost recall", "gained recall"])
    shown["name"] = distinct_names(shown["class"])
    shown = shown.sort_values(
        ["change_pp", "change_p", "lost"], ascending=[True, True, False], kind="stable"
    )
    shown = shown.reset_index(drop=True).assign(rank=lambda rows: rows.index + 1)
    return with_overview(shown, _all_classes, _named_classes)


def _bars(shown: pd.DataFrame) -> pd.DataFrame:
    """Return two rows per class: the shares of its images that became wrong, as a negative number, and right."""
    parts = [
        shown.assign(kind=kind, share_pp=sign * 100 * shown[column] / shown["examples"])
        for kind, column, sign in ((LOST, "lost", -1), (WON, "won", 1))
    ]
    return pd.concat(parts)


def _named_classes(shown: pd.DataFrame) -> Layers:
    y = row_axis(shown["name"], limit=130)
    x = alt.X("share_pp:Q", title="% of the class's examples", axis=alt.Axis(tickCount=6))
    bars = alt.Chart(_bars(shown), width=WIDTH, height=alt.Step(18)).mark_bar(height=11)
    bars = bars.encode(x=x, y=y, color=COLOUR, opacity=STRENGTH, tooltip=TOOLTIP)
    base = alt.Chart(shown).encode(y=y, tooltip=TOOLTIP)
    intervals = base.mark_rule(color=SLATE, strokeWidth=1.5).encode(
        x=alt.X("change_low_pp:Q"), x2=alt.X2("change_high_pp")
    )
    points = base.mark_circle(size=55, opacity=1, stroke="white", strokeWidth=1)
    points = points.encode(x=alt.X("change_pp:Q"), color=alt.ColorDatum(CHANGE))
    return alt.layer(bars, intervals, points)


def _all_classes(shown: pd.DataFrame) -> Layers:
    """Draw all classes side by side, without names; only the points have tooltips."""
    pointed_at = ["class", "verdict", "lost", "won", "change_pp", "change_p"]
    tooltip = tooltips_of(TOOLTIP, pointed_at)
    x = alt.X(
        "rank:Q",
        title="classes, by change of recall",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(grid=False),
    )
    y = alt.Y("share_pp:Q", title="% of the class's examples")
    sides = _bars(shown).query("share_pp != 0")[["rank", "kind", "share_pp", "claimed"]]
    bars = alt.Chart(sides, width=WIDTH + 100, height=150)
    bars = bars.mark_rule(strokeWidth=max(0.6, 0.7 * WIDTH / len(shown)))
    bars = bars.encode(x=x, y=y, y2=alt.Y2Datum(0), color=COLOUR, opacity=STRENGTH)
    points = alt.Chart(shown[["rank", *pointed_at]]).mark_circle(size=6, opacity=0.9)
    points = points.encode(
        x=x, y=alt.Y("change_pp:Q"), color=alt.ColorDatum(CHANGE), tooltip=tooltip
    )
    return alt.layer(bars, points)
