"""Panels of one figure side by side, under one legend."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from tfaudit.charts.style import WIDTH, Drawing, field_of

SPACING = 16
"""Pixels between panels."""


def in_grid(
    panels: Sequence[Drawing], *, most: int, legend: Sequence[alt.Color | alt.Shape] = ()
) -> Drawing:
    """Return panels in rows of lengths that are as equal as possible.

    Report and viewer make the panels as wide as their page allows.

    Args:
        panels: charts without legends.
        most: largest number of panels in a row.
        legend: colours and shapes of all panels, shown once above them; no legend by default.

    Example:
        >>> panel = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x=alt.X("x:Q"))
        >>> in_grid([panel] * 4, most=3).columns
        2
    """
    rows = math.ceil(len(panels) / most)
    grid = alt.concat(*panels, columns=math.ceil(len(panels) / rows), spacing=SPACING)
    if not legend:
        return grid
    return alt.vconcat(_legend_chart(legend), grid, spacing=4).resolve_scale(
        color="independent", shape="independent"
    )


def _legend_chart(channels: Sequence[alt.Color | alt.Shape]) -> alt.Chart:
    """Return a legend without a chart below it."""
    nothing = pd.DataFrame(columns=list(dict.fromkeys(map(field_of, channels))), dtype=object)
    view = alt.ViewBackground(stroke=None)
    return (
        alt.Chart(nothing, width=WIDTH, height=1, view=view)
        .mark_point(filled=True)
        .encode(*channels)
    )


def is_grid(chart: Drawing, columns: int = 1) -> bool:
    """Return whether a chart is a grid of at least `columns` columns, with or without a legend."""
    parts: list[Any] = chart.vconcat if isinstance(chart, alt.VConcatChart) else [chart]
    return any(isinstance(part, alt.ConcatChart) and part.columns >= columns for part in parts)
