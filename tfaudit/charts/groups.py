"""Groups and individuals before and after compression."""

from __future__ import annotations

import altair as alt
import pandas as pd

from tfaudit.charts.style import AMBER, BLUE, GREEN, GREY, PLUM, WIDTH, Drawing, before_after, row_axis

__all__ = ["groups_chart", "individuals_chart"]

ALL_NAMED = 30  # up to so many groups each one has a line and a name
EXTREMES = 10  # beyond that: so many of each end
DRAWN = 4500  # individuals; Altair takes 5,000 rows
SIDE = WIDTH - 80  # pixels of the square of individuals
HUES = [BLUE, AMBER, GREEN, PLUM]  # of groups among individuals; more than that are all grey


def groups_chart(table: pd.DataFrame, individuals: pd.DataFrame, fits: pd.DataFrame, name: str) -> Drawing:
    """Accuracy of every group before and after, with intervals over members; individuals below it, if there are any.

    Args:
        table: of a `Groups`.
        individuals: of a `Groups`; may have no rows.
        fits: of a `Groups`.
        name: what the column is called.
    """
    chart = _dumbbells(table, name)
    if not len(individuals):
        return chart
    return alt.vconcat(chart, individuals_chart(individuals, fits, name), spacing=24).resolve_scale(color="independent")


def _dumbbells(table: pd.DataFrame, name: str) -> Drawing:
    ordered = table.sort_values("difference_pp", kind="stable")
    shown, title = ordered, f"{name}, the most harmed first"
    if len(table) > ALL_NAMED:
        shown = pd.concat([ordered.head(EXTREMES), ordered.tail(EXTREMES)])
        title = f"{name}: the {EXTREMES} most harmed and the {EXTREMES} least harmed of {len(table)}"
    sides = [
        shown[["group", "examples", "difference_pp", "p", "p_holm"]].assign(
            when=when,
            accuracy=100 * shown[f"accuracy_{when}"],
            low=100 * shown[f"{when}_low"].clip(lower=0),  # an interval of Student's t knows no bounds
            high=100 * shown[f"{when}_high"].clip(upper=1),
        )
        for when in ("before", "after")
    ]
    y = row_axis(shown["group"], limit=110)
    colour = before_after("when")
    x = alt.X("accuracy:Q", title="accuracy, %", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5))
    spans = shown.assign(before=100 * shown["accuracy_before"], after=100 * shown["accuracy_after"])
    links = (
        alt.Chart(spans, width=WIDTH - 80, height=alt.Step(20))
        .mark_rule(color=GREY, strokeWidth=1.5)
        .encode(x=alt.X("before:Q", title="accuracy, %"), x2="after:Q", y=y)
    )
    base = alt.Chart(pd.concat(sides, ignore_index=True))
    intervals = base.mark_rule(strokeWidth=4, opacity=0.35).encode(x="low:Q", x2="high:Q", y=y, color=colour)
    points = base.mark_circle(size=60, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        tooltip=[
            "group",
            "when",
            "examples",
            alt.Tooltip("accuracy:Q", format=".2f"),
            alt.Tooltip("difference_pp:Q", format="+.2f"),
            alt.Tooltip("p:Q", format=".2g"),
            alt.Tooltip("p_holm:Q", format=".2g"),
        ],
    )
    return alt.layer(links, intervals, points).properties(title=title)


def individuals_chart(individuals: pd.DataFrame, fits: pd.DataFrame, name: str) -> Drawing:
    """[P] figure 1: accuracy after on before, a point per individual, a least-squares line per group.

    Of more than 4,500 individuals a seeded sample is drawn, and the title says so; the lines are those of all.

    Args:
        individuals: `individuals_frame` of a `Groups`.
        fits: of the same `Groups`.
        name: what the column of groups is called.
    """
    shown = individuals.assign(before=100 * individuals["accuracy_before"], after=100 * individuals["accuracy_after"])
    names = list(dict.fromkeys(shown["group"]))
    hues = HUES[: len(names)] if len(names) <= len(HUES) else [GREY] * len(names)
    colour = alt.Color(
        "group:N",
        title=None,
        scale=alt.Scale(domain=names, range=hues),
        legend=alt.Legend(orient="top", columns=2, labelLimit=112, symbolOpacity=1)
        if len(names) <= len(HUES)
        else None,
    )
    # One scale for both axes, so that the diagonal is what it seems; a lone accuracy still needs a range.
    low = min(shown["before"].min(), shown["after"].min())
    scale = alt.Scale(domain=[max(0.0, low - 2), 101], nice=False)
    x = alt.X("before:Q", title="accuracy before, %", scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("after:Q", title="accuracy after, %", scale=scale, axis=alt.Axis(tickCount=5))
    # The smaller groups are drawn last, where the larger ones cannot hide them.
    crowd = shown.groupby("group")["individual"].transform("size")
    drawn = shown.sample(min(len(shown), DRAWN), random_state=0).index
    order = crowd.loc[drawn].sort_index().sort_values(ascending=False, kind="stable").index
    square = alt.Chart(shown.loc[order], width=SIDE, height=SIDE)
    points = square.mark_circle(size=35, opacity=0.6).encode(
        x=x,
        y=y,
        color=colour,
        tooltip=[
            "individual",
            "group",
            "examples",
            alt.Tooltip("before:Q", format=".1f"),
            alt.Tooltip("after:Q", format=".1f"),
        ],
    )
    corner = scale.domain[0]
    same = pd.DataFrame({"before": [corner, 100], "after": [corner, 100]})
    diagonal = alt.Chart(same).mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1).encode(x=x, y=y)
    ends = shown.groupby("group")["before"].agg(["min", "max"]).reset_index().merge(fits, on="group")
    lines = pd.concat(
        [
            ends[["group"]].assign(before=ends[end], after=100 * ends["intercept"] + ends["slope"] * ends[end])
            for end in ("min", "max")
        ]
    ).dropna()
    fitted = alt.Chart(lines).mark_line(strokeWidth=2.5, clip=True).encode(x=x, y=y, color=colour)
    title = f"individuals by {name}; below the dashes: worse after"
    if len(shown) > DRAWN:
        title = f"{DRAWN:,} of {len(shown):,} {title}"
    return alt.layer(diagonal, points, fitted).properties(title=title)
