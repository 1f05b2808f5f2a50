"""Change of recall per class."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREEN, GREY, PLUM, WIDTH, Drawing, categories, distinct_names, numbers, row_axis

Layers: TypeAlias = alt.LayerChart | alt.FacetChart

SIGNIFICANT, UNDECIDED, NORMALISED = "significant change", "no evidence", "normalised change"
ALL_NAMED = 40
"""Classes at most of which each has a line and a name."""

EXTREMES = 12  # named classes at each end if there are more


def class_impact_chart(frame: pd.DataFrame) -> Drawing:
    """Draw [F] figure 2 with horizontal bars: bars are absolute differences, points normalised ones.

    More than 40 classes have an overview of all above the 12 lowest and the 12 highest normalised differences.

    Args:
        frame: of a `ClassImpact`.
    """
    return with_overview(ranked_classes(frame), all_classes, named_classes)


def with_overview(
    ranked: pd.DataFrame, overview: Callable[[pd.DataFrame], Drawing], named: Callable[[pd.DataFrame], Drawing]
) -> Drawing:
    """Draw every class with its name, or an overview of more than 40 classes above the 12 at each end.

    Args:
        ranked: a row per class, in order.
        overview: draws all rows.
        named: draws rows with their names.
    """
    if len(ranked) <= ALL_NAMED:
        return named(ranked)
    ends = named(pd.concat([ranked.head(EXTREMES), ranked.tail(EXTREMES)]))
    title = f"the {EXTREMES} lowest and the {EXTREMES} highest of {len(ranked)} classes"
    return alt.vconcat(overview(ranked), ends.properties(title=title), spacing=24)


def ranked_classes(frame: pd.DataFrame, by: str = "normalised_pp", *, ascending: bool = True) -> pd.DataFrame:
    """Sort the tested classes for the charts of classes.

    Adds `kind` (whether the change is significant), `name` (distinct), `position` (of the class) and `rank` (from 1).

    Args:
        frame: of a `ClassImpact`.
        by: its column to sort by.
        ascending: whether the lowest come first.

    Example:
        >>> frame = pd.DataFrame({"class": ["cat", "owl", "owl"], "p": [.2, .01, None], "normalised_pp": [1, -2, None],
        ...                       "direction": ["no evidence", "harmed", "no evidence"]})
        >>> ranked_classes(frame)[["name", "kind", "position", "rank"]]
              name                kind  position  rank
        0      owl  significant change         1     1
        1      cat         no evidence         0     2
    """
    shown = frame.dropna(subset=["p"]).copy()
    shown["kind"] = shown["direction"].map(lambda direction: UNDECIDED if direction == "no evidence" else SIGNIFICANT)
    shown = shown.assign(name=distinct_names(shown["class"]), position=shown.index)
    shown = shown.sort_values(by, ascending=ascending, kind="stable").reset_index(drop=True)
    return shown.assign(rank=shown.index + 1)


def _colours(columns: int) -> alt.Color:
    kinds, squares = [SIGNIFICANT, UNDECIDED, NORMALISED], {"symbolType": "square", "symbolStrokeWidth": 0}
    return categories("kind", kinds, [PLUM, GREY, GREEN], labelLimit=200, columns=columns, **squares)


def class_tooltip() -> list[alt.Tooltip]:
    """Return the tooltip of a class."""
    points = ("difference_pp", "normalised_pp", "normalised_low_pp", "normalised_high_pp")
    figures = numbers(**dict.fromkeys(points, "+.2f"), p=".2g", p_holm=".2g")
    return [alt.Tooltip("class:N"), alt.Tooltip("examples:Q"), *figures]


def tooltips_of(tooltips: Sequence[alt.Tooltip], columns: Sequence[str]) -> list[alt.Tooltip]:
    """Return the tooltips of some columns, for overviews of many rows.

    Example:
        >>> len(tooltips_of([alt.Tooltip("class:N"), alt.Tooltip("p:Q", format=".2g")], ["p", "rank"]))
        1
    """
    return [tooltip for tooltip in tooltips if tooltip.shorthand.split(":")[0] in columns]


def named_classes(ranked: pd.DataFrame, *, columns: int = 3) -> Layers:
    """Draw a line per class with its name, in the order of the rows.

    Args:
        ranked: rows of `ranked_classes`.
        columns: of the legend.
    """
    base = alt.Chart(ranked, width=WIDTH, height=alt.Step(18))
    y = row_axis(ranked["name"], limit=130)
    x = alt.X("difference_pp:Q", title="change of recall, percentage points", axis=alt.Axis(tickCount=6))
    bars = base.mark_bar(height=11).encode(x=x, y=y, color=_colours(columns), tooltip=class_tooltip())
    intervals = base.mark_rule(color=GREEN, strokeWidth=1.5)
    intervals = intervals.encode(x="normalised_low_pp:Q", x2="normalised_high_pp:Q", y=y)
    points = base.mark_circle(size=55, opacity=1, stroke="white", strokeWidth=1).encode(
        x="normalised_pp:Q", y=y, color=alt.ColorDatum(NORMALISED), tooltip=class_tooltip()
    )
    return alt.layer(bars, intervals, points)


def all_classes(ranked: pd.DataFrame, order: str = "normalised difference", *, columns: int = 3) -> Layers:
    """Draw all classes side by side, without names.

    The data hold only what the chart shows: with a thousand classes each column costs the browser time.

    Args:
        ranked: of `ranked_classes`.
        order: what they are sorted by, for the title of the axis.
        columns: of the legend.
    """
    pointed_at = ["class", "difference_pp", "normalised_pp", "p"]
    base = alt.Chart(ranked[["rank", "kind", *pointed_at]], width=WIDTH + 100, height=150)
    x = alt.X("rank:Q", title=f"classes, by {order}", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    bars = base.mark_rule(strokeWidth=max(0.6, 0.7 * WIDTH / len(ranked))).encode(
        x=x,
        y=alt.Y("difference_pp:Q", title="change of recall, points"),
        y2=alt.datum(0),
        color=_colours(columns),
        tooltip=tooltips_of(class_tooltip(), pointed_at),
    )
    points = base.mark_circle(size=6, opacity=0.9).encode(x=x, y="normalised_pp:Q", color=alt.ColorDatum(NORMALISED))
    return alt.layer(bars, points)
