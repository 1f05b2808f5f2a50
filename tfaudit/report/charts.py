"""The charts, in Altair. They draw frames that the audits made; nothing is computed but places and labels."""

from __future__ import annotations

from typing import TypeAlias

import altair as alt
import pandas as pd

__all__ = ["Drawing", "accuracy_chart", "class_impact_chart", "difficulty_chart"]

Drawing: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart

PLUM, GREY, GREEN, BLUE, AMBER = "#8e4585", "#a9aeb8", "#1aa37c", "#4a7fc1", "#d07c00"
SIGNIFICANT, UNDECIDED, NORMALISED = "significant change", "no evidence", "normalised change"
WIDTH = 340
ALL_NAMED = 40  # up to so many classes each one has a line and a name
EXTREMES = 12  # beyond that: so many of each end


def class_impact_chart(frame: pd.DataFrame) -> Drawing:
    """[F] figure 2, lying down so that names can be read: bars are absolute differences, points normalised ones.

    Beyond 40 classes an overview of all of them stands above the 12 lowest and the 12 highest normalised differences.

    Args:
        frame: of a `ClassImpact`.
    """
    shown = frame.dropna(subset=["p"]).copy()
    shown["kind"] = shown["direction"].map(lambda direction: UNDECIDED if direction == "no evidence" else SIGNIFICANT)
    repeated = shown["class"].duplicated(keep=False)
    shown["name"] = shown["class"].where(~repeated, shown["class"] + " (" + shown.index.astype(str) + ")")
    shown = shown.sort_values("normalised_pp", kind="stable").reset_index(drop=True)
    shown["rank"] = shown.index + 1
    if len(shown) <= ALL_NAMED:
        return _named_classes(shown)
    ends = pd.concat([shown.head(EXTREMES), shown.tail(EXTREMES)])
    title = f"the {EXTREMES} lowest and the {EXTREMES} highest of {len(shown)} classes"
    return alt.vconcat(_all_classes(shown), _named_classes(ends).properties(title=title), spacing=24)


def accuracy_chart(accuracies: pd.DataFrame) -> Drawing:
    """[F] table 1: one line per variant, one dot per member, a bar at the mean.

    The lines share one scale unless the differences between variants would squeeze every population into a dot.

    Args:
        accuracies: of a `Summary`; top-1 is drawn.
    """
    top1 = accuracies[accuracies["k"] == 1].assign(percent=lambda rows: 100 * rows["accuracy"])
    order = list(dict.fromkeys(top1["title"]))
    x = alt.X(
        "percent:Q", title="top-1 accuracy, %", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5)
    )
    tooltip = ["title", "member", alt.Tooltip("percent:Q", format=".2f")]
    spans = top1.groupby("title")["percent"].agg(lambda values: values.max() - values.min())
    if top1["percent"].max() - top1["percent"].min() <= 12 * spans.median() or len(order) == 1:
        y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
        base = alt.Chart(top1, width=WIDTH, height=alt.Step(30))
        dots = base.mark_circle(size=55, opacity=0.7, color=BLUE).encode(x=x, y=y, tooltip=tooltip)
        means = base.mark_tick(color=AMBER, thickness=3, size=20).encode(x=x.aggregate("mean"), y=y)
        return alt.layer(dots, means)
    base = alt.Chart(width=WIDTH, height=26)
    dots = base.mark_circle(size=55, opacity=0.7, color=BLUE).encode(x=x.title(None), tooltip=tooltip)
    means = base.mark_tick(color=AMBER, thickness=3, size=20).encode(x=x.title(None).aggregate("mean"))
    row = alt.Row("title:N", sort=order, title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=150))
    return (
        alt.layer(dots, means, data=top1)
        .facet(row=row, spacing=6, title="top-1 accuracy, %; every line has its own scale")
        .resolve_scale(x="independent")
    )


def difficulty_chart(difficulty: pd.DataFrame) -> Drawing:
    """[F] figure 3: mean accuracy, with its interval over members, on PIEs, on the other examples and on all.

    Args:
        difficulty: of an `Exemplars`; of several, with their `title`s.
    """
    table = difficulty.copy()
    table["title"] = table.get("title", "")
    for column in ("accuracy", "low", "high"):
        table[column] = 100 * table[column]
    table["panel"] = "top-" + table["k"].astype(str) + " of the " + table["population"] + " models"
    order = list(dict.fromkeys(table["title"]))
    panels = list(dict.fromkeys(table.sort_values(["k"], kind="stable")["panel"]))
    colour = alt.Color(
        "group:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=["PIE", "non-PIE", "all"], range=[PLUM, GREEN, GREY]),
        legend=alt.Legend(orient="top"),
    )
    shape = alt.Shape(
        "group:N", title=None, scale=alt.Scale(domain=["PIE", "non-PIE", "all"], range=["circle", "square", "diamond"])
    )
    y = alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=150))
    base = alt.Chart(width=170, height=alt.Step(26))
    x = alt.X("accuracy:Q", title="accuracy, %", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5))
    interval = base.mark_rule(strokeWidth=2, opacity=0.6, clip=True).encode(
        x=alt.X("low:Q", title="accuracy, %"), x2="high:Q", y=y, color=colour
    )
    points = base.mark_point(size=60, filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        shape=shape,
        tooltip=["title", "group", "examples", alt.Tooltip("accuracy:Q", format=".2f")],
    )
    return alt.layer(interval, points, data=table).facet(
        facet=alt.Facet("panel:N", sort=panels, title=None), columns=2, spacing=20
    )


def _colours() -> alt.Color:
    return alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[SIGNIFICANT, UNDECIDED, NORMALISED], range=[PLUM, GREY, GREEN]),
        legend=alt.Legend(orient="top", symbolType="square", labelLimit=200, columns=3),
    )


def _tooltip() -> list[alt.Tooltip]:
    points = ["difference_pp", "normalised_pp", "normalised_low_pp", "normalised_high_pp"]
    return [
        alt.Tooltip("class:N"),
        alt.Tooltip("examples:Q"),
        *(alt.Tooltip(f"{column}:Q", format="+.2f") for column in points),
        alt.Tooltip("p:Q", format=".2g"),
        alt.Tooltip("p_holm:Q", format=".2g"),
    ]


def _named_classes(shown: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(shown, width=WIDTH, height=alt.Step(18))
    y = alt.Y(
        "name:N",
        sort=list(shown["name"]),
        title=None,
        axis=alt.Axis(labelLimit=130, labelPadding=6, labelOverlap=False),
    )
    bars = base.mark_bar(height=11).encode(
        x=alt.X("difference_pp:Q", title="change of recall, percentage points", axis=alt.Axis(tickCount=6)),
        y=y,
        color=_colours(),
        tooltip=_tooltip(),
    )
    intervals = base.mark_rule(color=GREEN, strokeWidth=1.5).encode(
        x="normalised_low_pp:Q", x2="normalised_high_pp:Q", y=y
    )
    points = base.mark_circle(size=55, opacity=1, stroke="white", strokeWidth=1).encode(
        x="normalised_pp:Q", y=y, color=alt.ColorDatum(NORMALISED), tooltip=_tooltip()
    )
    return alt.layer(bars, intervals, points)


def _all_classes(shown: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(shown, width=WIDTH + 100, height=150)
    x = alt.X(
        "rank:Q", title="classes, by normalised difference", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False)
    )
    bars = base.mark_rule(strokeWidth=max(0.6, 0.7 * WIDTH / len(shown))).encode(
        x=x,
        y=alt.Y("difference_pp:Q", title="change of recall, points"),
        y2=alt.datum(0),
        color=_colours(),
        tooltip=_tooltip(),
    )
    points = base.mark_circle(size=6, opacity=0.9).encode(x=x, y="normalised_pp:Q", color=alt.ColorDatum(NORMALISED))
    return alt.layer(bars, points)
