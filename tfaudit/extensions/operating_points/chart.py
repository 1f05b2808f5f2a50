"""Trade-offs between the objectives, and the Pareto set."""

from collections.abc import Mapping
from typing import TypeVar

import altair as alt
import numpy as np
import pandas as pd

from tfaudit.charts.point_labels import name_sides
from tfaudit.charts.style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    LOSS,
    PLUM,
    WIDTH,
    Drawing,
    categories,
    tooltips,
)

CHOSEN, OPTIMAL, DOMINATED, REJECTED = "chosen", "Pareto set", "dominated", "below the floor"
LABELLED = 40
"""Maximum number of points for which the Pareto set is named if there is room; beyond it only the chosen one is."""

FAILS, UNKNOWN, PASSES_UNCORRECTED = (
    "fails the gate",
    "cannot be judged",
    "passes uncorrected",
)  # values of the frame's column `gate`
LOOKS = {
    CHOSEN: (GREEN, "diamond"),
    OPTIMAL: (BLUE, "circle"),
    DOMINATED: (GREY, "circle"),
    REJECTED: (GREY, "cross"),
    FAILS: (LOSS, "cross"),
    UNKNOWN: (AMBER, "square"),
    PASSES_UNCORRECTED: (AMBER, "triangle"),
}
DRAWN = 2000  # maximum number of points of the Pareto set, and of others
CURVED = 200  # maximum number of points of one technique that are joined
IN_A_LINE = 2  # entries of the legend: more do not fit on a phone
Position = TypeVar("Position", alt.X, alt.Y)
PANEL, HEIGHT = WIDTH - 20, 200  # size of a panel in pixels

UNITS = {
    "accuracy": "%",
    "sparsity": "%",
    "unfairness": "points",
    "size": "% of the baseline's",
    "time": "% of the baseline's",
}
"""Columns of shares, which are drawn times 100."""


def operating_points_chart(
    frame: pd.DataFrame, objectives: Mapping[str, str], floor: float | None
) -> Drawing:
    """Draw [P] figures 3 and 4: each further objective, and accuracy with its floor, against the first objective.

    A line joins the points of one technique if they are few, and the Pareto set if there are two objectives. If there
    are very many points, only every second, third, ... is drawn, and the title says so.

    Args:
        frame: `frame` of an `OperatingPoints`.
        objectives: `objectives` of the same `OperatingPoints`.
        floor: its accuracy floor; None for no line.
    """
    rows = frame.copy()
    rows["name"] = rows["title" if "title" in rows else "variant"].astype(str)
    gate = rows.get("gate", pd.Series(index=rows.index, dtype=object))
    kinds = {
        CHOSEN: rows["chosen"],
        OPTIMAL: rows["pareto"],
        FAILS: gate == FAILS,
        UNKNOWN: gate == UNKNOWN,
        PASSES_UNCORRECTED: gate == PASSES_UNCORRECTED,
        REJECTED: ~rows["above_floor"].astype(bool),
    }
    rows["status"] = np.select(
        [is_one.astype(bool) for is_one in kinds.values()], list(kinds), DOMINATED
    )
    rows = pd.concat([_thinned(rows[~rows["pareto"]]), _thinned(rows[rows["pareto"]])])
    rows[[column for column in UNITS if column in rows]] *= 100
    x, *others = dict.fromkeys((*objectives, *(["accuracy"] if "accuracy" in rows else [])))
    panels = [
        alt.layer(
            _panel(rows, x, y, len(objectives) == 2 and y in objectives, floor),
            *_names(rows, x, y),
        )
        for y in others
    ] or [_panel(rows, x, "name", False, floor)]
    if len(rows) < len(frame):
        panels[0] = panels[0].properties(title=f"{len(rows):,} of {len(frame):,} points are drawn")
    return alt.vconcat(*panels, spacing=16)


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    drawn = np.arange(len(rows)) % -(-max(len(rows), 1) // DRAWN) == 0
    return rows[drawn | rows["chosen"].to_numpy(bool)]


def _panel(
    rows: pd.DataFrame, x: str, y: str, front: bool, floor: float | None
) -> alt.LayerChart | alt.FacetChart:
    base = alt.Chart(rows).encode(
        x=_axis(alt.X, x), y=alt.Y("name:N", title=None) if y == "name" else _axis(alt.Y, y)
    )
    optimal = base.transform_filter(alt.datum.pareto)
    layers: list[alt.Chart] = []
    if x == "sparsity" and "technique" in rows and len(rows) <= CURVED:
        curves = base.mark_line(color=GREY, strokeWidth=1, opacity=0.6)
        layers.append(curves.encode(detail=alt.Detail("technique:N")))
    if front:
        layers.append(optimal.mark_line(color=BLUE, strokeWidth=2))
    if y == "accuracy" and floor is not None:
        rule = alt.Chart(pd.DataFrame({"floor": [100 * floor]}))
        rule = rule.mark_rule(color=PLUM, strokeDash=[5, 4])
        layers.append(rule.encode(y=alt.Y("floor:Q"), tooltip=alt.Tooltip("floor:Q")))
    measured = [str(name) for name in rows if pd.api.types.is_float_dtype(rows[name])]
    tooltip = tooltips("name", "seeds", **dict.fromkeys(measured, ".4~g"))
    size, opacity = (50, 1.0) if len(rows) <= 300 else (15, 0.6)
    others = base.transform_filter(~alt.datum.pareto)
    points = [
        others.mark_point(filled=True, opacity=opacity, size=size),
        optimal.mark_point(filled=True, opacity=1, size=80),
    ]
    colour, shape = _status(rows)
    layers += [mark.encode(color=colour, shape=shape, tooltip=tooltip) for mark in points]
    return alt.layer(*layers).properties(width=PANEL, height=HEIGHT)


def _names(rows: pd.DataFrame, x: str, y: str) -> list[alt.Chart]:
    """Return names beside points, the chosen point's first."""
    ordered = rows.sort_values("chosen", ascending=False, kind="stable")
    named = ordered["chosen"] | (ordered["pareto"] & (len(rows) <= LABELLED))
    ordered["name"] = ordered["name"].where(named, "")
    sides = name_sides(ordered, x, y, "name", width=PANEL, height=HEIGHT)
    colour, _ = _status(rows)
    return [
        alt.Chart(ordered[sides == side])
        .mark_text(align="left" if dx > 0 else "right", dx=dx, dy=-9)
        .encode(
            x=_axis(alt.X, x),
            y=_axis(alt.Y, y),
            text=alt.Text("name:N"),
            color=colour,
        )
        for side, dx in (("right", 9), ("left", -9))
    ]


def _axis(channel: type[Position], column: str) -> Position:
    title = f"{column}, {UNITS[column]}" if column in UNITS else column
    scale = alt.Scale(zero=False, padding=10)
    axis = alt.Axis(tickCount=5, format=",.4~f" if column.endswith(" kB") else "~s")
    return channel(f"{column}:Q", title=title, scale=scale, axis=axis)


def _status(rows: pd.DataFrame) -> tuple[alt.Color, alt.Shape]:
    present = [status for status in LOOKS if (rows["status"] == status).any()]
    colours = [LOOKS[status][0] for status in present]
    shapes = [LOOKS[status][1] for status in present]
    shape = alt.Shape("status:N", title=None).scale(domain=present, range=shapes)
    return (
        categories("status", present, colours, columns=IN_A_LINE),
        shape.legend(orient="top", columns=IN_A_LINE),
    )
