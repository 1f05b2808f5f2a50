"""Accuracy against a property of the examples."""

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.panels import in_grid
from tfaudit.charts.sampling import sampled
from tfaudit.charts.style import (
    GREY,
    HUES,
    WIDTH,
    Drawing,
    before_after,
    categories,
    dashed_rule,
    square_axes,
    tooltips,
)
from tfaudit.stats.image_properties import tilt

SIDE = 280  # side of the square of individuals in pixels
BARS = 30  # of a histogram
PANELS = 6  # maximum number of groups: those with the most points


def trends_chart(table: pd.DataFrame, binned: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figure 13: a panel per group; dots are means over ranges of the property, lines fit all points.

    Args:
        table: `table` of a `Trends`.
        binned: `binned` of the same `Trends`.
        name: name of the property.
        column: name of the groups.
    """
    crowd = binned.groupby("group")["units"].sum().sort_values(ascending=False, kind="stable")
    groups = [group for group in dict.fromkeys(binned["group"]) if group in crowd.index[:PANELS]]
    dots = binned[binned["group"].isin(groups)].copy()
    dots[["accuracy", "low", "high"]] *= 100
    spans = binned.groupby("group")["value"].agg(["min", "max"]).reset_index()
    ends = spans.melt("group", var_name="end").merge(table, on="group")
    ends = ends[(ends["measure"] != "change") & ends["group"].isin(groups)]
    ends["accuracy"] = 100 * (ends["intercept"] + ends["slope"] * ends["value"])
    lines = ends[["group", "measure", "value", "accuracy"]].dropna()
    rows = pd.concat([dots.assign(part="mean"), lines.assign(part="line")], ignore_index=True)
    heights = pd.concat([dots["low"], dots["high"], lines["accuracy"]])
    x = alt.X("value:Q", title=name).axis(tickCount=5).scale(_reach(rows["value"]))
    y = alt.Y("accuracy:Q", title="accuracy, %").axis(tickCount=5).scale(_reach(heights))
    colour = before_after("measure")
    tooltip = tooltips("group", "measure", "units", value=".3g", accuracy=".2f")

    def panel(group: object, colour: alt.Color) -> Drawing:
        base = alt.Chart(width=WIDTH - 40, height=150).encode(x=x, color=colour)
        means, lines = (
            base.transform_filter(f"datum.part == '{part}'") for part in ("mean", "line")
        )
        bars = means.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
        )
        fitted = lines.mark_line(strokeWidth=2.5).encode(y=y)
        points = means.mark_circle(size=45, opacity=1).encode(y=y, tooltip=tooltip)
        return alt.layer(bars, fitted, points, data=rows[rows["group"] == group])

    if len(groups) == 1:
        return panel(groups[0], colour)
    panels = [
        panel(group, colour.legend(None)).properties(title=f"{column} {group}") for group in groups
    ]
    return in_grid(panels, most=1, legend=[colour])


def _reach(values: pd.Series) -> alt.Scale:
    return alt.Scale(zero=False, nice=True, domain=[float(values.min()), float(values.max())])


def tilt_chart(levels: np.ndarray, threshold: float = 0.5) -> Drawing:
    """Draw [P] figure 10: an image, and its pixels that are on with the line whose slope is the tilt.

    Args:
        levels: `(H, W)` uint8, a grey image.
        threshold: share of the full range above which a pixel is on, 0.5 by default.
    """
    rows, columns = np.indices(levels.shape)
    rows_on, columns_on = np.nonzero(levels > 255 * threshold)
    pixels = pd.DataFrame(
        {"row": rows.ravel(), "column": columns.ravel(), "level": levels.ravel() / 255}
    )
    ends = np.array([rows_on.min(), rows_on.max()])
    along = columns_on.mean() + tilt(levels[None], threshold=threshold)[0] * (ends - rows_on.mean())
    line = pd.DataFrame({"row": ends + 0.5, "column": along + 0.5})
    height, width = (alt.Scale(domain=(0, size), nice=False) for size in levels.shape)
    place = {
        "x": alt.X("column:Q", scale=width, axis=None),
        "y": alt.Y("row:Q", scale=height, axis=None, sort="descending"),
    }
    square = {"width": SIDE / 2, "height": SIDE / 2 * levels.shape[0] / levels.shape[1]}
    cells = alt.Chart(pixels, **square).mark_rect().encode(**place)
    cells = cells.encode(x2=alt.X2("right:Q"), y2=alt.Y2("below:Q")).transform_calculate(
        right="datum.column + 1", below="datum.row + 1"
    )
    marked = cells.transform_calculate(on=f"datum.level > {threshold} ? 1 : 0")
    fitted = alt.Chart(line, **square).mark_line(color=HUES[0], strokeWidth=3, clip=True)
    fitted = fitted.encode(**place, order=alt.Order("row:Q"))
    return alt.hconcat(
        cells.encode(color=_shade("level", "#000000")),
        alt.layer(marked.encode(color=_shade("on", "#9a9fa8")), fitted),
        spacing=20,
    ).resolve_scale(color="independent")


def _shade(field: str, darkest: str) -> alt.Color:
    return alt.Color(f"{field}:Q", legend=None).scale(domain=(0, 1), range=["#ffffff", darkest])


def change_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figure 2: the change of accuracy of every unit against the property, with a parabola through them.

    Args:
        units: `units` of a `Trends`.
        name: name of the property.
        column: name of the groups.
    """
    drawn, some = sampled(units)
    names = list(dict.fromkeys(units["group"].astype(str)))
    shown = drawn.assign(change_pp=100 * drawn["change"], group=drawn["group"].astype(str))
    curves = []
    for group, inside in units.groupby(units["group"].astype(str), sort=False):
        if inside["value"].nunique() > 2:
            fit = np.polynomial.Polynomial.fit(inside["value"], 100 * inside["change"], 2)
            across, along = fit.linspace(40)
            curves.append(pd.DataFrame({"group": group, "value": across, "change_pp": along}))
    few = len(names) <= len(HUES)
    colour = categories(
        "group", names, HUES[: len(names)] if few else [GREY] * len(names), columns=3
    )
    place = {
        "x": alt.X("value:Q", title=name).scale(zero=False).axis(tickCount=5),
        "y": alt.Y("change_pp:Q", title="change of accuracy, points"),
        "color": colour if few and len(names) > 1 else colour.legend(None),
    }
    base = alt.Chart(shown, width=WIDTH - 40, height=200)
    zero = dashed_rule(base, y=alt.YDatum(0))
    points = base.mark_circle(size=30, opacity=0.45).encode(
        **place, tooltip=tooltips("unit", "group", value=".3g", change_pp="+.2f")
    )
    lines = [
        alt.Chart(rows).mark_line(strokeWidth=2.5, clip=True).encode(**place)
        for rows in ([pd.concat(curves)] if curves else [])
    ]
    chart = alt.layer(zero, points, *lines)
    return chart.properties(title=f"{column}; {some}") if some else chart


def histogram_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figures 8b, 9b, 11 and 12b: a histogram of the property per group, in the colours of the scatter.

    Args:
        units: `units` of a `Trends`.
        name: name of the property.
        column: name of the groups.
    """
    named = units.assign(group=units["group"].astype(str))
    crowd = named["group"].value_counts().head(PANELS).index
    edges = np.histogram_bin_edges(units["value"], BARS)
    span = alt.Scale(zero=False, nice=False, domain=[float(edges[0]), float(edges[-1])])
    base = {
        "x": alt.X("value:Q", title=name, scale=span).axis(tickCount=5),
        "x2": alt.X2("end:Q"),
        "y": alt.Y("units:Q", title="individuals or images").axis(tickCount=4),
        "color": alt.Color("value:Q", legend=None).scale(scheme="plasma", domain=span.domain),
        "tooltip": tooltips("group", "units", value=".3g", end=".3g"),
    }

    def panel(group: str) -> Drawing:
        counts, _ = np.histogram(named.loc[named["group"] == group, "value"], edges)
        ends = {"value": edges[:-1], "end": edges[1:]}
        clicked = {"range_low": edges[:-1], "range_high": edges[1:]}
        rows = pd.DataFrame({"group": group, **ends, **clicked, "units": counts})
        drawn = alt.Chart(rows[rows["units"] > 0], width=WIDTH - 40, height=110)
        return drawn.mark_rect(stroke=None).encode(**base)

    if len(crowd) == 1:
        return panel(crowd[0])
    return in_grid([panel(group).properties(title=f"{column} {group}") for group in crowd], most=1)


def scatter_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figures 2, 8, 9 and 12: a point per individual, accuracy after on before, coloured by the mean property.

    Args:
        units: `units` of a `Trends`.
        name: name of the property.
        column: name of the groups.
    """
    drawn, some = sampled(units)
    shown = drawn.assign(
        before=100 * drawn["before"], after=100 * drawn["after"], group=drawn["group"].astype(str)
    )
    x, y, equal = square_axes(shown)
    colour = alt.Color("value:Q", title=name).scale(scheme="plasma", zero=False)
    points = alt.Chart(shown, width=SIDE, height=SIDE)
    points = points.mark_point(filled=True, size=40, opacity=0.85).encode(
        x=x,
        y=y,
        color=colour.legend(orient="top", gradientLength=110),
        tooltip=[*tooltips("unit", "group", value=".3g"), *tooltips("before", "after")],
    )
    if shown["group"].nunique() > 1:
        shape = alt.Shape("group:N", title=column).legend(orient="top")
        points = points.encode(shape=shape)
    chart = alt.layer(equal, points)
    return chart.properties(title=some) if some else chart
