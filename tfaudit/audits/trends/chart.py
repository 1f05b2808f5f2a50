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
    square_axes,
    tooltips,
)

SIDE = 280  # pixels of the square of individuals
BARS = 30  # of a histogram
PANELS = 6  # groups at most, those of the most points


def trends_chart(table: pd.DataFrame, binned: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figure 13: a panel per group; dots are means over ranges of the property, lines fit all points.

    Args:
        table: of a `Trends`.
        binned: of the same `Trends`.
        name: of the property.
        column: of the groups.
    """
    crowd = (
        binned.groupby("group")["units"]
        .sum()
        .sort_values(ascending=False, kind="stable")
        .head(PANELS)
    )
    groups = [group for group in dict.fromkeys(binned["group"]) if group in crowd.index]
    dots = binned[binned["group"].isin(groups)].copy()
    dots["accuracy"] = 100 * dots["accuracy"]
    # An interval of Student's t has no bounds.
    dots["low"], dots["high"] = 100 * dots["low"].clip(lower=0), 100 * dots["high"].clip(upper=1)
    spans = binned.groupby("group")["value"].agg(["min", "max"]).reset_index()
    fits = table[(table["measure"] != "change") & table["group"].isin(groups)].merge(
        spans, on="group"
    )
    parts = [dots.assign(part="mean")]
    for end in ("min", "max"):
        fitted = 100 * (fits["intercept"] + fits["slope"] * fits[end])
        line = fits[["group", "measure"]].assign(value=fits[end], accuracy=fitted)
        parts.append(line.dropna().assign(part="line"))
    colour = before_after("measure")
    ends = pd.concat(
        [dots["low"], dots["high"], *(line["accuracy"] for line in parts[1:])]
    ).dropna()
    scales = [
        alt.Scale(zero=False, domain=[float(values.min()), float(values.max())], nice=True)
        for values in (pd.concat(part["value"] for part in parts), ends)
    ]
    x = alt.X("value:Q", title=name, scale=scales[0], axis=alt.Axis(tickCount=5))
    y = alt.Y("accuracy:Q", title="accuracy, %", scale=scales[1], axis=alt.Axis(tickCount=5))
    rows = pd.concat(parts, ignore_index=True)
    tooltip = tooltips("group", "measure", "units", value=".3g", accuracy=".2f")

    def panel(group: object, colour: alt.Color) -> Drawing:
        base = alt.Chart(width=WIDTH - 40, height=150).encode(x=x, color=colour)
        means, lines = (
            base.transform_filter(f"datum.part == '{part}'") for part in ("mean", "line")
        )
        fitted = lines.mark_line(strokeWidth=2.5).encode(y=y)
        bars = means.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
        )
        points = means.mark_circle(size=45, opacity=1).encode(y=y, tooltip=tooltip)
        return alt.layer(bars, fitted, points, data=rows[rows["group"] == group])

    if len(groups) == 1:
        return panel(groups[0], colour)
    panels = [
        panel(group, colour.legend(None)).properties(title=f"{column} {group}") for group in groups
    ]
    return in_grid(panels, most=1, legend=[colour])


def tilt_chart(levels: np.ndarray, slope: float, threshold: float = 0.5) -> Drawing:
    """Draw [P] figure 10: an image, and the pixels of it that are on with the line whose slope is the tilt.

    Args:
        levels: `(H, W)` uint8, a grey image.
        slope: columns per row, as `tfaudit.stats.tilt` returns it.
        threshold: as there.
    """
    rows, columns = np.indices(levels.shape)
    on = levels > 255 * threshold
    pixels = pd.DataFrame(
        {"row": rows.ravel(), "column": columns.ravel(), "level": levels.ravel() / 255}
    )
    rows_on, columns_on = np.nonzero(on)
    ends = np.array([rows_on.min(), rows_on.max()])
    line = pd.DataFrame(
        {"row": ends + 0.5, "column": columns_on.mean() + slope * (ends - rows_on.mean()) + 0.5}
    )
    scales = [alt.Scale(domain=(0, size), nice=False) for size in levels.shape]
    place = {
        "x": alt.X("column:Q", scale=scales[1], axis=None),
        "y": alt.Y("row:Q", scale=scales[0].copy(deep=True), axis=None, sort="descending"),
    }
    shade = alt.Color(
        "level:Q", scale=alt.Scale(domain=(0, 1), range=["#ffffff", "#000000"]), legend=None
    )
    square = {"width": SIDE / 2, "height": SIDE / 2 * levels.shape[0] / levels.shape[1]}
    beyond = {"x2": alt.X2("right:Q"), "y2": alt.Y2("below:Q")}
    cells = (
        alt.Chart(pixels, **square)
        .transform_calculate(right="datum.column + 1", below="datum.row + 1")
        .mark_rect()
        .encode(**place, **beyond)
    )
    binary = alt.Color(
        "on:Q", scale=alt.Scale(domain=(0, 1), range=["#ffffff", "#9a9fa8"]), legend=None
    )
    marked = cells.transform_calculate(on=f"datum.level > {threshold} ? 1 : 0").encode(color=binary)
    fitted = (
        alt.Chart(line, **square)
        .mark_line(color=HUES[0], strokeWidth=3, clip=True)
        .encode(**place, order=alt.Order("row:Q"))
    )
    return alt.hconcat(
        cells.encode(color=shade), alt.layer(marked, fitted), spacing=20
    ).resolve_scale(color="independent")


def change_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figure 2: the change of accuracy of every unit against the property, with a parabola through them.

    Args:
        units: of a `Trends`.
        name: of the property.
        column: of the groups.
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
    colour = colour if few and len(names) > 1 else colour.legend(None)
    x = alt.X("value:Q", title=name, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    y = alt.Y("change_pp:Q", title="change of accuracy, points")
    base = alt.Chart(shown, width=WIDTH - 40, height=200)
    zero = base.mark_rule(color=GREY, strokeDash=[3, 3]).encode(y=alt.YDatum(0))
    tooltip = tooltips("unit", "group", value=".3g", change_pp="+.2f")
    points = base.mark_circle(size=30, opacity=0.45).encode(x=x, y=y, color=colour, tooltip=tooltip)
    chart = alt.layer(zero, points)
    if curves:
        lines = (
            alt.Chart(pd.concat(curves))
            .mark_line(strokeWidth=2.5, clip=True)
            .encode(x=x, y=y, color=colour)
        )
        chart = alt.layer(zero, points, lines)
    return chart.properties(title=f"{column}; {some}") if some else chart


def histogram_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figures 8b, 9b, 11 and 12b: a histogram of the property per group, in the colours of the scatter.

    Args:
        units: of a `Trends`.
        name: of the property.
        column: of the groups.
    """
    crowd = units["group"].astype(str).value_counts().head(PANELS).index
    inside = units[units["group"].astype(str).isin(crowd)]
    edges = np.histogram_bin_edges(units["value"], BARS)
    bars = []
    for group, rows in inside.groupby(inside["group"].astype(str), sort=False):
        counts, _ = np.histogram(rows["value"], edges)
        bars.append(
            pd.DataFrame({"group": group, "value": edges[:-1], "end": edges[1:], "units": counts})
        )
    scale = alt.Scale(scheme="plasma", domain=[float(edges[0]), float(edges[-1])])
    span = alt.Scale(zero=False, nice=False, domain=[float(edges[0]), float(edges[-1])])
    x = alt.X("value:Q", title=name, scale=span, axis=alt.Axis(tickCount=5))
    y = alt.Y("units:Q", title="individuals or images", axis=alt.Axis(tickCount=4))
    colour = alt.Color("value:Q", scale=scale, legend=None)
    tooltip = tooltips("group", "units", value=".3g", end=".3g")

    def panel(rows: pd.DataFrame) -> Drawing:
        drawn = rows[rows["units"] > 0].assign(range_low=rows["value"], range_high=rows["end"])
        base = alt.Chart(drawn, width=WIDTH - 40, height=110).mark_rect(stroke=None)
        return base.encode(x=x, x2=alt.X2("end:Q"), y=y, color=colour, tooltip=tooltip)

    if len(bars) == 1:
        return panel(bars[0])
    by_name = {str(rows["group"].iloc[0]): panel(rows) for rows in bars}
    return in_grid(
        [by_name[group].properties(title=f"{column} {group}") for group in crowd], most=1
    )


def scatter_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figures 2, 8, 9 and 12: a point per individual, accuracy after on before, coloured by the mean property.

    Args:
        units: of a `Trends`.
        name: of the property.
        column: of the groups.
    """
    drawn, some = sampled(units)
    shown = drawn.assign(
        before=100 * drawn["before"], after=100 * drawn["after"], group=drawn["group"].astype(str)
    )
    x, y, diagonal = square_axes(shown)
    scale = alt.Scale(scheme="plasma", zero=False)
    legend = alt.Legend(orient="top", gradientLength=110)
    colour = alt.Color("value:Q", title=name, scale=scale, legend=legend)
    tooltip = [*tooltips("unit", "group", value=".3g"), *tooltips("before", "after")]
    points = alt.Chart(shown, width=SIDE, height=SIDE).mark_point(
        filled=True, size=40, opacity=0.85
    )
    points = points.encode(x=x, y=y, color=colour, tooltip=tooltip)
    if shown["group"].nunique() > 1:
        points = points.encode(
            shape=alt.Shape("group:N", title=column, legend=alt.Legend(orient="top"))
        )
    chart = alt.layer(diagonal, points)
    return chart.properties(title=some) if some else chart
