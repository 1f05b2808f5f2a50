"""Slopes of recall balances by level: spread, means, and accuracy."""

import altair as alt
import pandas as pd

from tfaudit.audits.distortion.chart import group_names
from tfaudit.charts.style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    PLUM,
    WIDTH,
    Drawing,
    categories,
    tooltips,
)

HEIGHT = 180  # pixels of the chart of accuracy and slope

LABELS = 190  # pixels of the name of a row

MARKS = {"<": "< closer together", ">": "> further apart", "?": "? cannot tell"}


def slope_chart(slopes: pd.DataFrame, intervals: pd.DataFrame) -> Drawing:
    """Draw [R] figures 1-4: a box and a dot per model for every level, coloured by the interval of the slope.

    Args:
        slopes: of `tfaudit.audits.distortion.slopes.slope_frame`.
        intervals: of `tfaudit.audits.distortion.slopes.corrected_intervals` or `slope_intervals`.
    """
    factors = _factors(intervals)
    table = slopes.merge(intervals[[*factors, "mark"]], on=factors)
    table = _marked(table, factors)
    labels = _marked(intervals, factors)
    base = alt.Chart(width=WIDTH, height=alt.Step(26)).encode(y=_levels(labels), color=_colours())
    x = alt.X(
        "alpha:Q",
        title="slope of each model",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=6),
    )
    boxes = base.mark_boxplot(
        size=14, opacity=0.35, outliers=False, median=False, rule={"color": GREY}
    ).encode(x=x)
    medians = base.mark_tick(size=14, thickness=2.5).encode(x=alt.X("median(alpha):Q"))
    tooltip = tooltips("name", "member", alpha=".3f")
    dots = base.mark_circle(size=24, opacity=0.8).encode(x=x, tooltip=tooltip)
    return alt.layer(_slope_one(), boxes, medians, dots, data=table)


def interval_chart(intervals: pd.DataFrame) -> Drawing:
    """Draw [R] figures 9-12: the slope of every level with its confidence interval.

    Args:
        intervals: of `tfaudit.audits.distortion.slopes.corrected_intervals` or `slope_intervals`.
    """
    table = _marked(intervals, _factors(intervals))
    levels = [f"{100 * level:.3g} %" for level in sorted(set(table["confidence"]))]
    title = f"slope, {' or '.join(levels)} confidence"
    base = alt.Chart(width=WIDTH, height=alt.Step(24)).encode(y=_levels(table), color=_colours())
    x = alt.X("alpha:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    rules = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"))
    tooltip = tooltips("name", "members", alpha=".3f", low=".3f", high=".3f")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, tooltip=tooltip)
    return alt.layer(_slope_one(), rules, points, data=table)


def tradeoff_chart(levels: pd.DataFrame) -> Drawing:
    """Draw [R] figure 13: mean accuracy (blue, left) and mean slope (amber, right) by level, with standard errors.

    The dashed line is both the accuracy before compression and a slope of 1.

    Args:
        levels: of `tfaudit.audits.distortion.slope_tables.level_table`.
    """
    table = _named(levels, _factors(levels))
    table[["accuracy", "accuracy_se"]] *= 100
    charts = [_tradeoff(str(group), rows) for group, rows in table.groupby("group", sort=False)]
    return alt.vconcat(*charts, spacing=20)


def _tradeoff(group: str, rows: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """Draw both curves in one layer, much faster in Altair than nested layers; their scales are fixed."""
    for name in ("accuracy", "alpha"):
        margin = rows[f"{name}_se"].fillna(0)
        rows = rows.assign(
            **{f"{name}_low": rows[name] - margin, f"{name}_high": rows[name] + margin}
        )
    shares = alt.Axis(
        orient="left", labelExpr="datum.value < 0 || datum.value > 100 ? '' : datum.label"
    )
    accuracy = _curve(
        rows, "accuracy", "accuracy, %", float(rows["accuracy"].iloc[0]), BLUE, shares
    )
    slope = _curve(rows, "alpha", "slope", 1.0, AMBER, alt.Axis(orient="right"))
    middle = alt.Chart().mark_rule(color=GREY, strokeDash=[4, 4]).encode(y=alt.YValue(HEIGHT / 2))
    chart = alt.layer(
        middle, *accuracy, *slope, data=rows, title=group, width=WIDTH - 40, height=HEIGHT
    )
    return chart.resolve_scale(y="independent")


def _curve(
    rows: pd.DataFrame, name: str, title: str, centre: float, colour: str, axis: alt.Axis
) -> list[alt.Chart]:
    """Return means with one standard error on each side, on an axis of their colour centred on `centre`."""
    reach = float((rows[[f"{name}_low", f"{name}_high"]] - centre).abs().max().max()) * 1.1 or 1.0
    axis = alt.Axis(
        **axis.to_dict(), titleColor=colour, labelColor=colour, tickCount=5, ticks=False, grid=False
    )
    scale = alt.Scale(domain=[centre - reach, centre + reach], nice=False, zero=False)
    crowded = rows["name"].str.len().max() > 5 or len(rows) > 8  # names would overlap
    angle = -35 if crowded else 0
    levels = alt.Axis(
        labelAngle=angle, labelLimit=130, labelOverlap=False, labelFlush=False, grid=False
    )
    base = alt.Chart().encode(x=alt.X("name:N", sort=list(rows["name"]), title=None, axis=levels))
    tooltip = tooltips("name:N", **{name: ".3f", f"{name}_se": ".3f"})
    y = alt.Y(f"{name}:Q", scale=scale, axis=None)
    line = base.mark_line(color=colour, strokeWidth=2, invalid="filter").encode(
        y=y.title(title).axis(axis)
    )
    low = alt.Y(f"{name}_low:Q", scale=scale, axis=None)
    errors = base.mark_rule(color=colour, strokeWidth=1.5).encode(
        y=low, y2=alt.Y2(f"{name}_high:Q")
    )
    points = base.mark_circle(color=colour, size=45, opacity=1).encode(y=y, tooltip=tooltip)
    return [line, errors, points]


def _factors(intervals: pd.DataFrame) -> list[str]:
    return list(intervals.columns[: list(intervals.columns).index("members")])


def _marked(frame: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Add `name`, the factors of each row or its `title`, with its mark, and the `meaning` of the mark.

    Drops the level, which may mix numbers and names.
    """
    names = (
        frame["title"] if "title" in frame else pd.Series(group_names(frame, factors), frame.index)
    )
    return frame.assign(name=names + " " + frame["mark"], meaning=frame["mark"].map(MARKS)).drop(
        columns="level"
    )


def _named(frame: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Add `name`, the level, and `group`, the other factors. Drops the level, which may mix numbers and names."""
    others = [name for name in factors if name != "level"]
    return frame.assign(name=group_names(frame, ["level"]), group=group_names(frame, others)).drop(
        columns="level"
    )


def _levels(table: pd.DataFrame) -> alt.Y:
    return alt.Y(
        "name:N",
        sort=list(dict.fromkeys(table["name"])),
        title=None,
        axis=alt.Axis(labelLimit=LABELS),
    )


def _colours() -> alt.Color:
    meanings = categories(
        "meaning", list(MARKS.values()), [GREEN, PLUM, GREY], columns=2, symbolOpacity=1
    )
    return meanings.title("classes are")


def _slope_one() -> alt.Chart:
    """Return the line between closer together and further apart."""
    return (
        alt.Chart()
        .mark_rule(color=GREY, strokeDash=[4, 4], strokeWidth=1.5)
        .encode(x=alt.XDatum(1))
    )
