"""Slopes of recall balances by level: spread, means, and accuracy."""

import altair as alt
import pandas as pd

from tfaudit.charts.style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    PLUM,
    WIDTH,
    Drawing,
    categories,
    dashed_rule,
    row_axis,
    tooltips,
)
from tfaudit.extensions.distortion.chart import group_names

HEIGHT = 180  # height of the chart of accuracy and slope in pixels

LABELS = 190  # width of the name of a row in pixels

MARKS = {"<": "< closer together", ">": "> further apart", "?": "? cannot tell"}


def slope_chart(slopes: pd.DataFrame, intervals: pd.DataFrame) -> Drawing:
    """Draw [R] figures 1-4: a box and a dot per model for every level, coloured by the interval of the slope.

    Args:
        slopes: table that `tfaudit.extensions.distortion.slopes.slope_frame` returns.
        intervals: table that `tfaudit.extensions.distortion.slopes.corrected_intervals` or `slope_intervals` returns.
    """
    factors = _factors(intervals)
    table = _marked(slopes.merge(intervals[[*factors, "mark"]], on=factors), factors)
    base = _rows(_marked(intervals, factors), step=26)
    x = _slope("slope of each model")
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
        intervals: table that `tfaudit.extensions.distortion.slopes.corrected_intervals` or `slope_intervals` returns.
    """
    table = _marked(intervals, _factors(intervals))
    levels = [f"{100 * level:.3g} %" for level in sorted(set(table["confidence"]))]
    title = f"slope, {' or '.join(levels)} confidence"
    base = _rows(table, step=24)
    rules = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"))
    tooltip = tooltips("name", "members", alpha=".3f", low=".3f", high=".3f")
    points = base.mark_point(filled=True, size=60, opacity=1)
    points = points.encode(x=_slope(title), tooltip=tooltip)
    return alt.layer(_slope_one(), rules, points, data=table)


def tradeoff_chart(levels: pd.DataFrame) -> Drawing:
    """Draw [R] figure 13: mean accuracy (blue, left) and mean slope (amber, right) by level, with standard errors.

    The dashed line marks both the accuracy before compression and a slope of 1.

    Args:
        levels: table that `tfaudit.extensions.distortion.slope_tables.level_table` returns.
    """
    others = [name for name in _factors(levels) if name != "level"]
    table = levels.assign(
        name=group_names(levels, ["level"]),
        group=group_names(levels, others),
        accuracy=100 * levels["accuracy"],
        accuracy_se=100 * levels["accuracy_se"],
    ).drop(columns="level")  # which may mix numbers and names
    charts = [_tradeoff(str(group), rows) for group, rows in table.groupby("group", sort=False)]
    return alt.vconcat(*charts, spacing=20)


def _tradeoff(group: str, rows: pd.DataFrame) -> Drawing:
    """Draw both curves with fixed scales in one layer, which is much faster in Altair than nested layers."""
    for name in ("accuracy", "alpha"):
        margin = rows[f"{name}_se"].fillna(0)
        ends = {f"{name}_low": rows[name] - margin, f"{name}_high": rows[name] + margin}
        rows = rows.assign(**ends)
    shares = "datum.value < 0 || datum.value > 100 ? '' : datum.label"
    left = alt.Axis(title="accuracy, %", orient="left", labelExpr=shares)
    right = alt.Axis(title="slope, as published", orient="right")
    dense = float(rows["accuracy"].iloc[0])
    middle = dashed_rule(alt.Chart(), y=alt.YValue(HEIGHT / 2))
    chart = alt.layer(
        middle,
        *_curve(rows, "accuracy", dense, BLUE, left),
        *_curve(rows, "alpha", 1.0, AMBER, right),
        data=rows,
        title=group,
        width=WIDTH - 40,
        height=HEIGHT,
    )
    return chart.resolve_scale(y="independent")


def _curve(
    rows: pd.DataFrame, name: str, centre: float, colour: str, axis: alt.Axis
) -> list[alt.Chart]:
    """Return means with one standard error on each side, on an axis of their colour centred on `centre`."""
    reach = float((rows[[f"{name}_low", f"{name}_high"]] - centre).abs().max().max()) * 1.1 or 1.0
    scale = alt.Scale(domain=[centre - reach, centre + reach], nice=False, zero=False)
    crowded = rows["name"].str.len().max() > 5 or len(rows) > 8  # names would overlap
    x = alt.X("name:N", sort=list(rows["name"]), title=None).axis(
        labelAngle=-35 if crowded else 0,
        labelLimit=130,
        labelOverlap=False,
        labelFlush=False,
        grid=False,
    )
    base = alt.Chart().encode(x=x)
    y = alt.Y(f"{name}:Q", scale=scale, axis=None)
    axis = alt.Axis(
        **axis.to_dict(), titleColor=colour, labelColor=colour, tickCount=5, ticks=False, grid=False
    )
    line = base.mark_line(color=colour, strokeWidth=2, invalid="filter").encode(y=y.axis(axis))
    errors = base.mark_rule(color=colour, strokeWidth=1.5).encode(
        y=alt.Y(f"{name}_low:Q", scale=scale, axis=None), y2=alt.Y2(f"{name}_high:Q")
    )
    tooltip = tooltips("name:N", **{name: ".3f", f"{name}_se": ".3f"})
    points = base.mark_circle(color=colour, size=45, opacity=1).encode(y=y, tooltip=tooltip)
    return [line, errors, points]


def _factors(intervals: pd.DataFrame) -> list[str]:
    return list(intervals.columns[: list(intervals.columns).index("members")])


def _marked(frame: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Add `name`, the factors of each row or its `title`, with its mark, and the `meaning` of the mark.

    Drops the level, which may mix numbers and names.
    """
    names = frame.get("title", pd.Series(group_names(frame, factors), frame.index))
    named = frame.assign(name=names + " " + frame["mark"], meaning=frame["mark"].map(MARKS))
    return named.drop(columns="level")


def _rows(table: pd.DataFrame, step: int) -> alt.Chart:
    """Return a chart with one row per level, in the colour of its mark."""
    meanings = categories(
        "meaning", list(MARKS.values()), [GREEN, PLUM, GREY], columns=2, symbolOpacity=1
    )
    return alt.Chart(width=WIDTH, height=alt.Step(step)).encode(
        y=row_axis(table["name"], limit=LABELS), color=meanings.title("classes are")
    )


def _slope(title: str) -> alt.X:
    return alt.X("alpha:Q", title=title).scale(zero=False).axis(tickCount=6)


def _slope_one() -> alt.Chart:
    """Return the line at slope 1, between closer together and further apart."""
    return dashed_rule(alt.Chart(), 1.5, x=alt.XDatum(1))
