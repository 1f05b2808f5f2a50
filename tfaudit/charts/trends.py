"""Accuracy against a property of the examples."""

import json

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, before_after, numbers, square_axes

SIDE = 280  # pixels of the square of individuals
DRAWN = 4500  # individuals at most; Altair accepts 5,000 rows
PANELS = 6  # groups at most, those of the most points


def trends_chart(table: pd.DataFrame, binned: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figure 13: a panel per group; dots are means over ranges of the property, lines fit all points.

    Args:
        table: of a `Trends`.
        binned: of the same `Trends`.
        name: of the property.
        column: of the groups.
    """
    crowd = binned.groupby("group")["units"].sum().sort_values(ascending=False, kind="stable").head(PANELS)
    groups = [group for group in dict.fromkeys(binned["group"]) if group in crowd.index]
    dots = binned[binned["group"].isin(groups)].copy()
    dots["accuracy"] = 100 * dots["accuracy"]
    # An interval of Student's t has no bounds.
    dots["low"], dots["high"] = 100 * dots["low"].clip(lower=0), 100 * dots["high"].clip(upper=1)
    spans = binned.groupby("group")["value"].agg(["min", "max"]).reset_index()
    fits = table[(table["measure"] != "change") & table["group"].isin(groups)].merge(spans, on="group")
    parts = [dots.assign(part="mean")]
    for end in ("min", "max"):
        fitted = 100 * (fits["intercept"] + fits["slope"] * fits[end])
        line = fits[["group", "measure"]].assign(value=fits[end], accuracy=fitted)
        parts.append(line.dropna().assign(part="line"))
    colour = before_after("measure")
    x = alt.X("value:Q", title=name, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    y = alt.Y("accuracy:Q", title="accuracy, %", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    base = alt.Chart(width=WIDTH - 40, height=150)
    means = base.transform_filter("datum.part == 'mean'")
    lines = base.transform_filter("datum.part == 'line'").mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    bars = means.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=x, y="low:Q", y2="high:Q", color=colour)
    tooltip = ["group", "measure", "units", *numbers(value=".3g", accuracy=".2f")]
    points = means.mark_circle(size=45, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    chart = alt.layer(bars, lines, points, data=pd.concat(parts, ignore_index=True))
    if len(groups) == 1:
        return chart
    header = alt.Header(labelAnchor="start", labelExpr=f"{json.dumps(column)} + ' ' + datum.value")
    return chart.facet(facet=alt.Facet("group:N", sort=groups, title=None, header=header), columns=1, spacing=16)


def scatter_chart(units: pd.DataFrame, name: str, column: str) -> Drawing:
    """Draw [P] figures 2, 8, 9 and 12: a point per individual, accuracy after on before, coloured by the mean property.

    Args:
        units: of a `Trends`.
        name: of the property.
        column: of the groups.
    """
    drawn = units if len(units) <= DRAWN else units.sample(DRAWN, random_state=0)
    shown = drawn.assign(before=100 * drawn["before"], after=100 * drawn["after"], group=drawn["group"].astype(str))
    x, y, diagonal = square_axes(shown)
    scale, legend = alt.Scale(scheme="plasma", zero=False), alt.Legend(orient="top", gradientLength=110)
    colour = alt.Color("value:Q", title=name, scale=scale, legend=legend)
    tooltip = ["unit", "group", *numbers(value=".3g"), "before", "after"]
    points = alt.Chart(shown, width=SIDE, height=SIDE).mark_point(filled=True, size=40, opacity=0.85)
    points = points.encode(x=x, y=y, color=colour, tooltip=tooltip)
    if shown["group"].nunique() > 1:
        points = points.encode(shape=alt.Shape("group:N", title=column, legend=alt.Legend(orient="top")))
    chart, some = alt.layer(diagonal, points), f"{len(drawn):,} of {len(units):,} points are drawn"
    return chart.properties(title=some) if len(drawn) < len(units) else chart
