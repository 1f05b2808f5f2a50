"""Images of each class that one compressed model loses and wins."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, GREEN, PLUM, WIDTH, Drawing, distinct_names, row_axis, tooltips_of

__all__ = ["pair_chart"]

LOST, WON, CHANGE = "became wrong", "became right", "change of recall"
ALL_NAMED = 40
"""Classes at most of which each has a line and a name."""

EXTREMES = 12
"""Named classes at each end if there are more."""

STRENGTH = alt.condition("datum.direction == 'no evidence'", alt.value(0.45), alt.value(1))


def pair_chart(frame: pd.DataFrame) -> Drawing:
    """Draw [F] figure 2 for one model: bars are the images lost and won, points the change with its interval.

    Bars are opaque where p <= alpha, faint otherwise. More than 40 classes have an overview of all above the 12 that
    lost most and the 12 that won most.

    Args:
        frame: of a `PairComparison`.
    """
    shown = frame.dropna(subset=["p"]).copy()
    shown["name"] = distinct_names(shown["class"])
    shown = shown.sort_values(["difference_pp", "p", "lost"], ascending=[True, True, False], kind="stable")
    shown = shown.reset_index(drop=True).assign(rank=lambda rows: rows.index + 1)
    if len(shown) <= ALL_NAMED:
        return _named_classes(shown)
    ends = pd.concat([shown.head(EXTREMES), shown.tail(EXTREMES)])
    title = f"the {EXTREMES} lowest and the {EXTREMES} highest of {len(shown)} classes"
    return alt.vconcat(_all_classes(shown), _named_classes(ends).properties(title=title), spacing=24)


def _bars(shown: pd.DataFrame) -> pd.DataFrame:
    """Return two rows per class: the share of its images that became wrong, negative, and that became right."""
    parts = [
        shown.assign(kind=kind, share_pp=sign * 100 * shown[column] / shown["examples"])
        for kind, column, sign in ((LOST, "lost", -1), (WON, "won", 1))
    ]
    return pd.concat(parts)


def _colour() -> alt.Color:
    return alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[LOST, WON, CHANGE], range=[PLUM, GREEN, AMBER]),
        legend=alt.Legend(orient="top", symbolType="square", columns=2),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("class:N"),
        alt.Tooltip("examples:Q"),
        alt.Tooltip("lost:Q"),
        alt.Tooltip("won:Q"),
        *(alt.Tooltip(f"{column}:Q", format="+.2f") for column in ("difference_pp", "low_pp", "high_pp")),
        alt.Tooltip("p:Q", format=".2g"),
        alt.Tooltip("p_bh:Q", format=".2g"),
    ]


def _named_classes(shown: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    y = row_axis(shown["name"], limit=130)
    bars = (
        alt.Chart(_bars(shown), width=WIDTH, height=alt.Step(18))
        .mark_bar(height=11)
        .encode(
            x=alt.X("share_pp:Q", title="% of the class's images", axis=alt.Axis(tickCount=6)),
            y=y,
            color=_colour(),
            opacity=STRENGTH,
            tooltip=_tooltip(),
        )
    )
    base = alt.Chart(shown).encode(y=y, tooltip=_tooltip())
    intervals = base.mark_rule(color=AMBER, strokeWidth=1.5).encode(x="low_pp:Q", x2="high_pp:Q")
    points = base.mark_circle(size=55, opacity=1, stroke="white", strokeWidth=1).encode(
        x="difference_pp:Q", color=alt.ColorDatum(CHANGE)
    )
    return alt.layer(bars, intervals, points)


def _all_classes(shown: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """Draw all classes side by side, without names; only the points have tooltips."""
    pointed_at = ["class", "lost", "won", "difference_pp", "p"]
    tooltip = tooltips_of(_tooltip(), pointed_at)
    x = alt.X("rank:Q", title="classes, by change of recall", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    bars = (
        alt.Chart(_bars(shown)[["rank", "kind", "share_pp", "direction"]], width=WIDTH + 100, height=150)
        .mark_rule(strokeWidth=max(0.6, 0.7 * WIDTH / len(shown)))
        .encode(
            x=x,
            y=alt.Y("share_pp:Q", title="% of the class's images"),
            y2=alt.datum(0),
            color=_colour(),
            opacity=STRENGTH,
        )
    )
    points = (
        alt.Chart(shown[["rank", *pointed_at]])
        .mark_circle(size=6, opacity=0.9)
        .encode(x=x, y="difference_pp:Q", color=alt.ColorDatum(CHANGE), tooltip=tooltip)
    )
    return alt.layer(bars, points)
