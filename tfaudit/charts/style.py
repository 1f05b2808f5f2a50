"""Colours, sizes and encodings that the charts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import altair as alt
import pandas as pd

__all__ = [
    "AMBER",
    "BLUE",
    "GREEN",
    "GREY",
    "HUES",
    "INK",
    "PALE",
    "PLUM",
    "ROSE",
    "SLATE",
    "TEAL",
    "WIDTH",
    "Drawing",
    "before_after",
    "diagonal",
    "distinct_names",
    "row_axis",
    "square_axes",
    "tooltips_of",
]

Drawing: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart

PLUM, GREY, GREEN, BLUE, AMBER = "#8e4585", "#a9aeb8", "#1aa37c", "#4a7fc1", "#d07c00"
"""Plum marks harm and significance, grey no evidence; readers with any colour vision can distinguish them."""

ROSE, TEAL = "#c76b8f", "#2f9fb3"
"""Further colours of predictions."""

HUES = (BLUE, AMBER, GREEN, PLUM, "#c2604f", "#2f9bb3", "#8a8f2c", "#7a6bd1", "#b0764a", "#d1679f")
"""Variants side by side, in this order."""

SLATE, PALE, INK = "#7d8492", "#e8e8ea", "#26282e"
"""The baseline among variants; no change on a diverging scale; marks on such a scale."""

WIDTH = 340
"""Pixels of a chart in half a page."""


def row_axis(names: pd.Series, *, limit: int) -> alt.Y:
    """Return an axis with a row for each name, in their order, none omitted.

    Args:
        names: a series with the name of the data's column.
        limit: pixels beyond which a name is truncated.

    Example:
        >>> row_axis(pd.Series(["cat", "dog"], name="class"), limit=130).to_dict()["sort"]
        ['cat', 'dog']
    """
    axis = alt.Axis(
        labelLimit=limit, labelPadding=6, labelOverlap=False, labelFlush=False
    )  # Streamlit flushes by default
    return alt.Y(f"{names.name}:N", sort=list(names), title=None, axis=axis)


def before_after(field: str) -> alt.Color:
    """Return green for "before" and plum for "after" in a field, with a legend above the chart.

    Example:
        >>> before_after("when").to_dict()["scale"]["domain"]
        ['before', 'after']
    """
    scale = alt.Scale(domain=["before", "after"], range=[GREEN, PLUM])
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolOpacity=1))


def tooltips_of(tooltips: Sequence[alt.Tooltip], columns: Sequence[str]) -> list[alt.Tooltip]:
    """Return the tooltips of some columns, for overviews of many rows.

    Example:
        >>> len(tooltips_of([alt.Tooltip("class:N"), alt.Tooltip("p:Q", format=".2g")], ["p", "rank"]))
        1
    """
    return [tooltip for tooltip in tooltips if tooltip.shorthand.split(":")[0] in columns]


def distinct_names(classes: pd.Series) -> pd.Series:
    """Return the names of classes, with the index in brackets where several classes have one name.

    Example:
        >>> distinct_names(pd.Series(["crane", "dog", "crane"])).to_list()
        ['crane (0)', 'dog', 'crane (2)']
    """
    repeated = classes.duplicated(keep=False)
    return classes.where(~repeated, classes + " (" + classes.index.astype(str) + ")")


def square_axes(rows: pd.DataFrame) -> tuple[alt.X, alt.Y, float]:
    """Return axes of accuracy before and after with one scale, and its lower end.

    Args:
        rows: `before` and `after` in percent.
    """
    low = max(0.0, min(rows["before"].min(), rows["after"].min()) - 2)  # a single accuracy still needs a range
    scale = alt.Scale(domain=[low, 101], nice=False)
    x = alt.X("before:Q", title="accuracy before, %", scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("after:Q", title="accuracy after, %", scale=scale, axis=alt.Axis(tickCount=5))
    return x, y, low


def diagonal(x: alt.X, y: alt.Y, low: float) -> alt.Chart:
    """Return the dashed line of equal accuracy on `square_axes`."""
    ends = pd.DataFrame({"before": [low, 100], "after": [low, 100]})
    return alt.Chart(ends).mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1).encode(x=x, y=y)
