"""What the charts have in common: colours, the width of a column, rows by name, the type of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import altair as alt
import pandas as pd

__all__ = ["AMBER", "BLUE", "GREEN", "GREY", "PLUM", "WIDTH", "Drawing", "before_after", "row_axis", "tooltips_of"]

Drawing: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart

PLUM, GREY, GREEN, BLUE, AMBER = "#8e4585", "#a9aeb8", "#1aa37c", "#4a7fc1", "#d07c00"
"""Plum marks harm and significance, grey no evidence; colour-blind eyes tell them apart."""

WIDTH = 340
"""Pixels of a chart that stands in half a page."""


def row_axis(names: pd.Series, *, limit: int) -> alt.Y:
    """A row for each name of the column, in its order, none left out.

    Args:
        names: called as the column of the data is.
        limit: pixels beyond which a name is cut.

    Example:
        >>> row_axis(pd.Series(["cat", "dog"], name="class"), limit=130).to_dict()["sort"]
        ['cat', 'dog']
    """
    axis = alt.Axis(labelLimit=limit, labelPadding=6, labelOverlap=False, labelFlush=False)  # Streamlit would flush
    return alt.Y(f"{names.name}:N", sort=list(names), title=None, axis=axis)


def before_after(field: str) -> alt.Color:
    """Green for "before" and plum for "after" in a field, told by a legend above the chart.

    Example:
        >>> before_after("when").to_dict()["scale"]["domain"]
        ['before', 'after']
    """
    scale = alt.Scale(domain=["before", "after"], range=[GREEN, PLUM])
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolOpacity=1))


def tooltips_of(tooltips: Sequence[alt.Tooltip], columns: Sequence[str]) -> list[alt.Tooltip]:
    """Those of some columns: an overview of a thousand rows tells less of each, and the browser is given less.

    Example:
        >>> len(tooltips_of([alt.Tooltip("class:N"), alt.Tooltip("p:Q", format=".2g")], ["p", "rank"]))
        1
    """
    return [tooltip for tooltip in tooltips if tooltip.shorthand.split(":")[0] in columns]
