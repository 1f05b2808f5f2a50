"""What compression does to the classes."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import GREEN, GREY, PLUM, WIDTH, Drawing, row_axis, tooltips_of

__all__ = ["ALL_NAMED", "all_classes", "class_impact_chart", "class_tooltip", "named_classes", "ranked_classes"]

SIGNIFICANT, UNDECIDED, NORMALISED = "significant change", "no evidence", "normalised change"
ALL_NAMED = 40
"""Up to so many classes each one has a line and a name."""
EXTREMES = 12  # beyond that: so many of each end


def class_impact_chart(frame: pd.DataFrame) -> Drawing:
    """[F] figure 2, lying down so that names can be read: bars are absolute differences, points normalised ones.

    Beyond 40 classes an overview of all of them stands above the 12 lowest and the 12 highest normalised differences.

    Args:
        frame: of a `ClassImpact`.
    """
    shown = ranked_classes(frame)
    if len(shown) <= ALL_NAMED:
        return named_classes(shown)
    ends = pd.concat([shown.head(EXTREMES), shown.tail(EXTREMES)])
    title = f"the {EXTREMES} lowest and the {EXTREMES} highest of {len(shown)} classes"
    return alt.vconcat(all_classes(shown), named_classes(ends).properties(title=title), spacing=24)


def ranked_classes(frame: pd.DataFrame, by: str = "normalised_pp", *, ascending: bool = True) -> pd.DataFrame:
    """The classes that were tested in an order, as the charts of classes take them.

    Further columns: `kind`, whether the change is significant; `name`, which tells classes of one name apart;
    `position`, the class; `rank` from 1.

    Args:
        frame: of a `ClassImpact`.
        by: its column to sort by.
        ascending: the lowest first?

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
    repeated = shown["class"].duplicated(keep=False)
    shown["name"] = shown["class"].where(~repeated, shown["class"] + " (" + shown.index.astype(str) + ")")
    shown["position"] = shown.index
    shown = shown.sort_values(by, ascending=ascending, kind="stable").reset_index(drop=True)
    shown["rank"] = shown.index + 1
    return shown


def _colours(columns: int) -> alt.Color:
    return alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[SIGNIFICANT, UNDECIDED, NORMALISED], range=[PLUM, GREY, GREEN]),
        legend=alt.Legend(orient="top", symbolType="square", labelLimit=200, columns=columns, symbolStrokeWidth=0),
    )


def class_tooltip() -> list[alt.Tooltip]:
    """What is told of a class when it is pointed at."""
    points = ["difference_pp", "normalised_pp", "normalised_low_pp", "normalised_high_pp"]
    return [
        alt.Tooltip("class:N"),
        alt.Tooltip("examples:Q"),
        *(alt.Tooltip(f"{column}:Q", format="+.2f") for column in points),
        alt.Tooltip("p:Q", format=".2g"),
        alt.Tooltip("p_holm:Q", format=".2g"),
    ]


def named_classes(ranked: pd.DataFrame, *, columns: int = 3) -> alt.LayerChart | alt.FacetChart:
    """A line per class with its name, in the order of the rows.

    Args:
        ranked: rows of `ranked_classes`.
        columns: of the legend.
    """
    base = alt.Chart(ranked, width=WIDTH, height=alt.Step(18))
    y = row_axis(ranked["name"], limit=130)
    bars = base.mark_bar(height=11).encode(
        x=alt.X("difference_pp:Q", title="change of recall, percentage points", axis=alt.Axis(tickCount=6)),
        y=y,
        color=_colours(columns),
        tooltip=class_tooltip(),
    )
    intervals = base.mark_rule(color=GREEN, strokeWidth=1.5).encode(
        x="normalised_low_pp:Q", x2="normalised_high_pp:Q", y=y
    )
    points = base.mark_circle(size=55, opacity=1, stroke="white", strokeWidth=1).encode(
        x="normalised_pp:Q", y=y, color=alt.ColorDatum(NORMALISED), tooltip=class_tooltip()
    )
    return alt.layer(bars, intervals, points)


def all_classes(
    ranked: pd.DataFrame, order: str = "normalised difference", *, columns: int = 3
) -> alt.LayerChart | alt.FacetChart:
    """All classes side by side, too many to be named.

    A browser is given what the chart shows and no more: with a thousand classes each column costs it time.

    Args:
        ranked: of `ranked_classes`.
        order: what they are sorted by, for the title of the axis.
        columns: of the legend.
    """
    told = ["class", "difference_pp", "normalised_pp", "p"]
    base = alt.Chart(ranked[["rank", "kind", *told]], width=WIDTH + 100, height=150)
    x = alt.X("rank:Q", title=f"classes, by {order}", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    bars = base.mark_rule(strokeWidth=max(0.6, 0.7 * WIDTH / len(ranked))).encode(
        x=x,
        y=alt.Y("difference_pp:Q", title="change of recall, points"),
        y2=alt.datum(0),
        color=_colours(columns),
        tooltip=tooltips_of(class_tooltip(), told),
    )
    points = base.mark_circle(size=6, opacity=0.9).encode(x=x, y="normalised_pp:Q", color=alt.ColorDatum(NORMALISED))
    return alt.layer(bars, points)
