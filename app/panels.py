"""Charts of the report on a page: each panel as wide as its column and as high as it was drawn."""

from __future__ import annotations

import altair as alt
import streamlit as st

from tfaudit.app.showing import show_chart
from tfaudit.report.charts.style import Drawing

__all__ = ["show_panels"]

WIDE = 640
"""Pixels of a panel's picture; on the page its column decides."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""Streamlit's own way squeezes a chart of fixed height until its legend fits in, and lets panels run over the edge."""


def show_panels(chart: Drawing, name: str, description: str) -> None:
    """Draws a chart, its panels one under the other, each with its picture to download.

    Args:
        chart: to draw.
        name: of the files; those of several panels are numbered.
        description: what it shows, for those who do not see it.
    """
    panels = list(chart.vconcat) if isinstance(chart, alt.VConcatChart) else [chart]
    for i, panel in enumerate(panels):
        if panel.data is alt.Undefined and chart is not panel:
            panel = panel.properties(data=chart.data)  # Altair keeps once what all panels share
        if isinstance(panel, (alt.Chart, alt.LayerChart)):
            panel = panel.properties(width=WIDE, autosize=FIT)
        else:
            st.html("<style>[data-testid=stVegaLiteChart] { overflow-x: auto; max-width: 100%; }</style>")  # of facets
        show_chart(panel, name if len(panels) == 1 else f"{name}-{i + 1}", description)
