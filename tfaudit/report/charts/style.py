"""What the charts have in common: the colours, the width of a column, the type of a drawing."""

from __future__ import annotations

from typing import TypeAlias

import altair as alt

__all__ = ["AMBER", "BLUE", "GREEN", "GREY", "PLUM", "WIDTH", "Drawing"]

Drawing: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart

PLUM, GREY, GREEN, BLUE, AMBER = "#8e4585", "#a9aeb8", "#1aa37c", "#4a7fc1", "#d07c00"
"""Plum marks harm and significance, grey no evidence; colour-blind eyes tell them apart."""

WIDTH = 340
"""Pixels of a chart that stands in half a page."""
