"""How every page shows what it has: charts and tables, each with its downloads, notes and links."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from tfaudit.app.text import prose
from tfaudit.charts.rendering import chart_bytes
from tfaudit.charts.style import Drawing

__all__ = ["link_to", "show_chart", "show_notes", "show_table"]

WIDE = 640
"""Pixels of a chart's picture; on the page its column decides."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""Streamlit's own way squeezes a chart of fixed height until its legend fits in."""

NARROW = 240
"""Pixels of a panel among several that share a chart: those neither stretch nor shrink, and a telephone has 370."""

SCROLL = "<style>[data-testid=stVegaLiteChart] { overflow-x: auto; max-width: 100%; }</style>"
"""For panels that stand side by side, and are wider than a telephone however narrow each of them is."""

_MIME = {"png": "image/png", "svg": "image/svg+xml", "csv": "text/csv"}


def show_chart(
    chart: Drawing,
    name: str,
    description: str,
    *,
    on_select: bool = False,
    selection: str | None = None,
    key: str | None = None,
) -> None:
    """Draws a chart over the width of its column, with its picture to download; panels that are stacked one by one.

    Args:
        chart: to draw.
        name: of the files, and of the chart among those of the page; those of several panels are numbered.
        description: what it shows, for those who do not see it.
        on_select: whether the page runs again when something in the chart is selected (`choosing.clicked`).
        selection: name of the chart's parameter that selects; all of them by default.
        key: of the chart's state; by default one that no other state shares.
    """
    panels = list(chart.vconcat) if isinstance(chart, alt.VConcatChart) else [chart]
    for i, panel in enumerate(panels):
        made: dict[str, Any] = {}
        if panel.data is alt.Undefined and panel is not chart:
            made["data"] = chart.data  # Altair keeps once what all panels share
        if isinstance(panel, (alt.Chart, alt.LayerChart)):
            made |= {"width": WIDE, "autosize": FIT}
        else:
            st.html(SCROLL)
            if isinstance(panel, alt.FacetChart) and panel.spec.width > NARROW:
                panel = panel.copy(deep=["spec"])
                panel.spec.width = NARROW
        file = name if len(panels) == 1 else f"{name}-{i + 1}"
        _show_panel(panel, made, file, description, on_select, selection, key)


def _show_panel(
    panel: Any,
    made: Mapping[str, Any],
    file: str,
    description: str,
    on_select: bool,
    selection: str | None,
    key: str | None,
) -> None:
    ink = "#fafafa" if st.context.theme.type == "dark" else "#31333f"  # Streamlit's own
    # It leaves black what has no colour of the chart's: marks of text, symbols of a legend of shapes.
    symbols = alt.LegendConfig(symbolBaseFillColor=ink, symbolBaseStrokeColor=ink)
    colours = alt.Config(text=alt.MarkConfig(color=ink), legend=symbols)
    drawn = panel.properties(**made, config=colours)  # at one blow: Altair copies all layers for each change
    if on_select:
        st.altair_chart(drawn, width="stretch", key=key, on_select="rerun", selection_mode=selection, alt=description)
    else:
        st.altair_chart(drawn, width="stretch", key=key, alt=description)
    with st.container(horizontal=True, gap="small"):
        for form in ("png", "svg"):
            _download(file, form, functools.partial(_picture, panel, made, form), f"This chart as {form.upper()}")


def _picture(panel: Any, made: Mapping[str, Any], form: str) -> bytes:
    return chart_bytes(panel.properties(**made), form)


def show_table(
    frame: pd.DataFrame,
    name: str,
    columns: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
    select: bool = False,
) -> None:
    """A table that sorts, with a CSV file of the same rows and columns.

    Args:
        frame: the rows.
        name: of the file, and of the table among those of the page.
        columns: which columns to show, in their order, and how (`st.column_config`); all by default.
        key: of the table's state; by default one that no other state shares.
        select: whether the page runs again when a row is selected (`choosing.clicked`).
    """
    shown = frame if columns is None else frame[list(columns)]
    st.dataframe(
        shown,
        hide_index=True,
        placeholder="–",
        column_config={str(column): how for column, how in (columns or {}).items()},
        key=key,
        on_select="rerun" if select else "ignore",
        selection_mode="single-row",
    )
    _download(name, "csv", lambda: shown.to_csv(index=False).encode(), "These rows and columns, unrounded")


def show_notes(notes: Sequence[str]) -> None:
    """What a reader has to know, a line each."""
    for note in notes:
        st.caption(prose(note))


def link_to(page: str, label: str, icon: str) -> None:
    """A link to another page of the viewer that keeps what has been chosen.

    Args:
        page: name of its module.
        label: what the link says.
        icon: such as ":material/category:".
    """
    pages = st.session_state.get("pages", {})  # none where a page is run alone
    if page in pages:
        st.page_link(pages[page], label=label, icon=icon, query_params=st.query_params.to_dict())


def _download(name: str, form: str, content: Callable[[], bytes], meaning: str) -> None:
    """A button for a file, which is made when it is asked for."""
    st.download_button(
        form.upper(),
        content,
        f"{name}.{form}",
        _MIME[form],
        key=f"download {name} {form}",
        help=meaning,
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
