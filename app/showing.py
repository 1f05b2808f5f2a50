"""How every page shows what it has: charts, tables and text, each with its downloads, and the choices that pages share.

What people choose is held in the URL (Streamlit's `bind`), so that a view can be shared as a link.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from tfaudit.report.charts.style import Drawing
from tfaudit.report.images import chart_bytes

if TYPE_CHECKING:
    from tfaudit.report.material import Material
    from tfaudit.report.sections.section import Section

__all__ = [
    "choose_class",
    "choose_variant",
    "labels",
    "link_to",
    "plain",
    "prose",
    "show_chart",
    "show_notes",
    "show_section",
    "show_table",
]

LONGEST = 80
"""Characters of a name on a page; downloads hold it whole."""

BUTTONS = 12
"""Up to so many variants each one has a button; more are a list."""

_MARKS = re.compile(r"[\\`*_\[\]<>#~$:|!&^]|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""What Markdown, and Streamlit's own, take for more than itself: at the start of a line also signs of lists."""

_MIME = {"png": "image/png", "svg": "image/svg+xml"}


def plain(text: str) -> str:
    r"""A name as Streamlit's Markdown shows it as it is: on one line, shortened, with nothing in it that formats.

    Example:
        >>> plain("<b>cat</b>")
        '\\<b\\>cat\\</b\\>'
    """
    return prose(_short(text))


def prose(text: str) -> str:
    r"""The same for sentences, however long.

    A word joiner, which nobody sees, parts the colons that would make an emoji of a word.

    Example:
        >>> prose("2 * 3")
        '2 \\* 3'
    """
    escaped = _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
    return escaped.replace("\\:", "\\:\N{WORD JOINER}")


def labels(names: Sequence[str]) -> list[str]:
    """The names on one line each, shortened, and told apart by their positions where they are alike.

    Example:
        >>> labels(["crane", "dog", "crane"])
        ['crane (0)', 'dog', 'crane (2)']
    """
    short = [_short(name) or "(no name)" for name in names]
    counts = Counter(short)
    return [f"{name} ({i})" if counts[name] > 1 else name for i, name in enumerate(short)]


def show_chart(
    chart: Drawing,
    name: str,
    description: str,
    *,
    on_select: bool = False,
    selection: str | None = None,
    key: str | None = None,
) -> Any:
    """Draws a chart over the width of its column, with its picture to download.

    Args:
        chart: to draw.
        name: of the files, and of the chart among those of the page.
        description: what it shows, for those who do not see it.
        on_select: whether the page runs again when something in the chart is selected.
        selection: name of the chart's parameter that selects; all of them by default.
        key: of the chart's state; by default one that no other state shares.

    Returns:
        What is selected, by the names of the parameters; None without `on_select`.
    """
    chosen = None
    ink = "#fafafa" if st.context.theme.type == "dark" else "#31333f"  # Streamlit's own; it leaves marks of text black
    drawn = chart.configure_text(color=ink)
    if on_select:
        found = st.altair_chart(
            drawn, width="stretch", key=key, on_select="rerun", selection_mode=selection, alt=description
        )
        chosen = found["selection"]  # type: ignore[index]
    else:
        st.altair_chart(drawn, width="stretch", key=key, alt=description)
    with st.container(horizontal=True, gap="small"):
        for form in _MIME:
            st.download_button(
                form.upper(),
                functools.partial(chart_bytes, chart, form),  # drawn when it is asked for
                f"{name}.{form}",
                _MIME[form],
                key=f"download {name} {form}",
                help=f"This chart as {form.upper()}",
                on_click="ignore",
                type="tertiary",
                icon=":material/download:",
            )
    return chosen


def show_table(
    frame: pd.DataFrame,
    name: str,
    columns: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
    select: bool = False,
) -> int | None:
    """A table that sorts, with a CSV file of the same rows and columns.

    Args:
        frame: the rows.
        name: of the file, and of the table among those of the page.
        columns: which columns to show, in their order, and how (`st.column_config`); all by default.
        key: of the table's state; by default one that no other state shares.
        select: whether a row can be selected.

    Returns:
        Position of the selected row; None where none is.
    """
    shown = frame if columns is None else frame[list(columns)]
    config = {str(column): how for column, how in (columns or {}).items()}
    chosen = None
    if select:
        found = st.dataframe(
            shown,
            hide_index=True,
            placeholder="–",
            column_config=config,
            key=key or f"table {name}",
            on_select="rerun",
            selection_mode="single-row",
        )
        rows = [row for row in found["selection"]["rows"] if row < len(shown)]  # type: ignore[index]
        chosen = rows[0] if rows else None
    else:
        st.dataframe(shown, hide_index=True, placeholder="–", column_config=config, key=key)
    st.download_button(
        "CSV",
        functools.partial(_csv, shown),
        f"{name}.csv",
        "text/csv",
        key=f"download {name} csv",
        help="These rows and columns, unrounded",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
    return chosen


def show_section(section: Section) -> None:
    """A section of the report: its sentence, figures two in a row, tables, notes."""
    st.markdown(prose(section.says))
    for start in range(0, len(section.figures), 2):
        for place, figure in zip(st.columns(2), section.figures[start : start + 2], strict=False):
            with place:
                if figure.title:
                    st.markdown(f"**{plain(figure.title)}**")
                show_chart(figure.chart, figure.name, figure.description)
    for table in section.tables:
        st.markdown(f"**{plain(table.title)}**")
        cells = pd.DataFrame(dict(enumerate(column.cells for column in table.columns)))
        headings = [column.heading or " " for column in table.columns]
        show_table(cells.set_axis(labels(headings), axis=1), f"{section.key}-{table.title}")
    show_notes(section.notes)


def show_notes(notes: Sequence[str]) -> None:
    """What a reader has to know, a line each."""
    for note in notes:
        st.caption(prose(note))


def choose_variant(material: Material, *, baseline: bool = False) -> str:
    """Which variant the page is about; the URL calls it `variant`.

    Args:
        material: of the study.
        baseline: whether the baseline can be chosen, too.
    """
    keys = [key for key in material.titles if baseline or key != material.audit.baseline]
    named = dict(zip(keys, labels([material.titles[key] for key in keys]), strict=True))
    if len(keys) > BUTTONS:
        return st.selectbox("Variant", keys, format_func=named.__getitem__, key="variant", bind="query-params")
    return st.segmented_control(
        "Variant",
        keys,
        default=keys[0],
        required=True,
        format_func=lambda key: plain(named[key]),
        key="variant",
        bind="query-params",
    )


def choose_class(names: Sequence[str]) -> int | None:
    """Which class the page is about, found by typing; the URL calls it `class`. None until one is chosen."""
    return st.selectbox(
        "Class",
        range(len(names)),
        index=None,
        format_func=labels(names).__getitem__,
        placeholder="Type to search",
        key="class",
        bind="query-params",
    )


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


def _short(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()
