"""Charts and tables of the pages, each with its downloads; notes and links."""

import dataclasses
import functools
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st
from markupsafe import Markup

from tfaudit.app.controls import Act, on_selection
from tfaudit.app.markdown import escape
from tfaudit.app.url_state import (
    link_parameters,
    option_reader,
    set_choices,
    set_control,
    url_choice,
)
from tfaudit.charts.page_colours import TEXT, css_variables
from tfaudit.charts.panels import is_grid
from tfaudit.charts.rendering import FIT, chart_bytes, widened
from tfaudit.charts.style import Drawing
from tfaudit.outlets.columns import (
    FIRST,
    LEAST_P,
    Column,
    column,
    first_columns,
    in_round_unit,
    prose,
)
from tfaudit.outlets.csv_files import csv_bytes

POINT = "point"  # name of the parameter that holds what was clicked in a chart
LETTERS = 90  # of a line of the title of a downloaded chart
WIDE = 640  # pixels of a downloaded chart; on the page its column decides
STYLED = 5000  # cells of a table beyond which the browser formats its numbers: texts take 20 microseconds each
PADDING = {"left": 4, "top": 4, "right": 12, "bottom": 4}  # pixels: the last label has room
WIDEST = 280  # pixels of a pinned column of names
NARROW = "13rem"  # of one of several panels side by side, at least
# Of a chart beyond which the browser paints its marks rather than make an element of each.
MANY_ROWS = 500
PAGE_STYLE = """<style>
button[aria-label="Download as CSV"], [data-testid=stElementToolbar] button:is(
  [aria-label^="Download as PNG"], [aria-label^="Show data"], [aria-label^="Copy Vega"]
) { display: none; }
[data-testid=stMainBlockContainer] { padding: 1.8rem clamp(1rem, 4vw, 5rem) 4rem; }
@media (max-width: 768px) { [data-testid=stMainBlockContainer] { padding-top: 3.5rem; } }
[data-testid=stMainBlockContainer] h1 { font-size: 1.8rem; padding: 0.2rem 0; }
[data-testid=stMainBlockContainer] h2 { font-size: 1.4rem; }
[data-testid=stMainBlockContainer] h3 { font-size: 1.1rem; }
div[data-testid=stCaptionContainer] { opacity: 0.75; }
[data-testid=stMultiSelect] [data-tag], button[kind^=primary] { background: #8e4585; }
[data-testid=stElementToolbar] { top: auto !important; bottom: -3.2rem !important; }
.st-key-metrics { display: grid; grid-template-columns: repeat(auto-fill, minmax(max(9.5rem, 25% - 1rem), 1fr)); }
.st-key-became a p { text-decoration: underline; }
[data-testid=stMain] [data-testid=stPageLink-NavLink] span { white-space: normal; overflow: visible; }
.st-key-menu-here a { background: color-mix(in srgb, currentColor 10%, transparent); }
[data-testid=stVegaLiteChart] { overflow-x: auto; max-width: 100%; vertical-align: top; }
[data-testid=stHorizontalBlock]:has([data-testid=stVegaLiteChart]) { flex-wrap: wrap; }
[data-testid=stHorizontalBlock]:has([data-testid=stVegaLiteChart]) > [data-testid=stColumn] {
  min-width: min(100%, 22rem);
}
"""
PAGE_STYLE += "".join(
    f"""div[class*=st-key-panels-{count}-] {{
  display: grid; grid-template-columns: repeat(auto-fill, minmax(max({NARROW}, 100% / {count} - 1rem), 1fr));
}}
"""
    for count in range(2, 5)
)
PAGE_STYLE += "</style>"
"""Style of every page: no CSV file of Streamlit's own, whose text a spreadsheet would run, and no picture of its own,
which would not say what it is of; a chart wider than its place scrolls; columns too narrow for a chart stand below each
other; panels have as many columns as fit."""

_CLICK = re.compile(r"\s*A click [^.]*\.?")
"""What a click does is true on the page alone, not in a file."""

_MIME = {"png": "image/png", "svg": "image/svg+xml", "csv": "text/csv"}


def show_chart(
    chart: Drawing,
    name: str,
    description: str,
    *,
    click: Act | None = None,
    fields: Sequence[str] = (),
    selection: str = POINT,
    interval: bool = False,
    now: object = None,
) -> None:
    """Draw a chart as wide as its column, with downloads and a "?" that says how to read it.

    Stacked charts become charts of their own; panels side by side are one chart, with as many columns as fit.

    Args:
        chart: chart to draw.
        name: name of the files, and of the chart on its page; stacked charts are numbered.
        description: how to read it, for those who cannot see it, too.
        click: takes the fields of each mark that is clicked, or the ends of the interval, by field; {} without one.
        fields: columns of the data that a click selects; without any the chart has a parameter of its own.
        selection: name of that parameter.
        interval: whether it is an interval.
        now: choice that clicks change, as in `on_selection`.
    """
    numbers = itertools.count()
    config = _theme(click is not None)

    def act(selected: Any) -> None:
        for mark in _marks(selected.get(selection), interval):
            click(mark)  # type: ignore[misc]

    clicks = on_selection(f"chart {name}", now, act) if click else None

    def draw(panel: Any, data: Any, clickable: bool = True) -> None:
        name_tooltips(panel)
        selecting: dict[str, Any] = {}
        clicked: dict[str, Sequence[str]] = {}
        if clicks and clickable:
            selecting = {**clicks(next(numbers)), "selection_mode": selection}
            clicked = {selection: fields} if fields else {}
        shown: Any = Specified(_with_data(panel, data), config, clicked)
        st.altair_chart(shown, width="stretch", alt=description, **selecting)

    figures = _figures(chart)
    for i, figure in enumerate(figures, start=1):
        for part in figure:
            if isinstance(part, alt.ConcatChart):
                with st.container(key=f"panels-{part.columns}-{name}"):
                    for panel in part.concat:
                        draw(panel, part.data)
            else:
                draw(part, chart.data, clickable=len(figure) == 1)  # a grid has a legend above it
        whole, file = (chart, name) if len(figures) == 1 else (figure[0], f"{name}-{i}")
        words = [_CLICK.sub("", description).rstrip("."), *_variant_of(name)]
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            _offer_pictures(whole, chart.data, file, words)
            caption = "Click a mark for its details." if click else ""
            st.caption(caption, help=escape(description), width="content")


def _with_data(chart: Any, data: Any) -> Any:
    """Return a part of a chart; if it has no data of its own, with the data of the whole, which Altair stores once."""
    missing = chart.data is alt.Undefined and data is not alt.Undefined
    return chart.properties(data=data) if missing else chart


def _figures(chart: Any) -> list[list[Any]]:
    """Return the figures of a chart: a grid with its legend is one; other stacked charts are one each."""
    parts = chart.vconcat if isinstance(chart, alt.VConcatChart) else [chart]
    return [parts] if is_grid(chart) else [[part] for part in parts]


def _marks(chosen: Any, interval: bool) -> Sequence[Mapping[str, Any]]:
    """Return the selected marks, or the ends of the interval: one mapping, which is empty without an interval."""
    return [chosen or {}] if interval else chosen or ()


def _offer_pictures(chart: Any, data: Any, file: str, words: Sequence[str]) -> None:
    """Draw the downloads of a chart."""
    for form in ("png", "svg"):
        content = functools.partial(_picture, chart, data, form, words)
        _download(file, form, content, f"This chart as {form.upper()}")


@dataclasses.dataclass(frozen=True)
class Specified:
    """A chart that Streamlit takes as a specification: Altair itself would copy and check all layers for each change.

    Attributes:
        chart: chart to draw; the tests of the charts check it.
        config: configuration for the theme.
        clicked: the columns of the data that a click selects, by name of the parameter.
    """

    chart: Any
    config: alt.Config
    clicked: Mapping[str, Sequence[str]]

    def to_dict(self) -> dict[str, Any]:
        """Return the specification in Vega-Lite."""
        specification = self.chart.to_dict(validate=False) | {
            "width": WIDE,
            "autosize": FIT.to_dict(),
            "padding": PADDING,
            "config": self.config.to_dict(validate=False),
        }
        for name, fields in self.clicked.items():
            select = {"type": "point", "fields": list(fields), "on": "click", "clear": False}
            for part in _units(specification):
                part.setdefault("params", []).append({"name": name, "select": select})
        if sum(len(frame) for frame in _frames(self.chart)) > MANY_ROWS:
            specification["usermeta"] = {"embedOptions": {"renderer": "canvas"}}
        return specification


def _units(specification: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a specification that hold its parameters: among layers, the first."""
    if "layer" in specification:
        yield from _units(specification["layer"][0])
    elif "hconcat" in specification:
        for part in specification["hconcat"]:
            yield from _units(part)
    else:
        yield specification


def _parts(chart: Any) -> Iterator[Any]:
    """Yield a chart and its layers and panels, at any depth."""
    yield chart
    for joined in ("layer", "hconcat", "vconcat", "concat"):
        for part in getattr(chart, joined, None) or ():
            yield from _parts(part)


def _frames(chart: Any) -> Iterator[pd.DataFrame]:
    """Yield the data of a chart and of its parts."""
    for part in _parts(chart):
        if isinstance(getattr(part, "data", None), pd.DataFrame):
            yield part.data


def fields_of(chart: Any) -> set[str]:
    """Return the names of all columns of the data of a chart."""
    return {str(name) for frame in _frames(chart) for name in frame}


def page_colours() -> str:
    """Return the colours of text for losses, gains and so on as CSS variables, which follow the theme of the page."""
    dark = TEXT["dark"]
    both = {name: f"light-dark({light}, {dark[name]})" for name, light in TEXT["light"].items()}
    return css_variables(both)


def _theme(clickable: bool) -> alt.Config:
    """Return colours for text and for symbols of legends, which Streamlit leaves black in its dark theme."""
    mark = alt.MarkConfig(cursor="pointer") if clickable else alt.MarkConfig()
    ink = "currentColor"  # the page's, also after its theme has changed
    symbols = alt.LegendConfig(symbolBaseFillColor=ink, symbolBaseStrokeColor=ink)
    labels = alt.AxisConfig(
        labelFlush=False
    )  # Streamlit's would move the first label and the last away from their marks
    text = alt.MarkConfig(color=ink)
    rule = alt.MarkConfig(color=ink, aria=False)  # of an interval or a limit, which has no name
    return alt.Config(text=text, rule=rule, legend=symbols, mark=mark, axis=labels)


def _variant_of(name: str) -> list[str]:
    """Return the study and, if the name of a chart ends in the key of a variant, the variant's title."""
    titles = st.session_state.get("titles", {})
    keys = [key for key in titles if name.endswith(f"-{key}")]
    return [*titles.get("", []), *(titles[key] for key in sorted(keys, key=len)[-1:])]


def _picture(chart: Any, data: Any, form: str, words: Sequence[str]) -> bytes:
    """Return a chart as a file, which says what it shows of which study and variant: it leaves the page."""
    lines = [line for text in words for line in textwrap.wrap(text, LETTERS)]
    if isinstance(chart.title, (str, list)):
        lines += [chart.title] if isinstance(chart.title, str) else chart.title
    named = chart.properties(title=alt.TitleParams(lines, anchor="start"))
    return chart_bytes(widened(_with_data(named, data), WIDE), form)


def name_tooltips(chart: Any) -> None:
    """Give the tooltips of a chart the headings and words of the catalogue; tiny p-values become "< .0001"."""
    for part in _parts(chart):
        encoding = getattr(part, "encoding", None)
        tooltips = getattr(encoding, "tooltip", None)
        if encoding is not None and isinstance(tooltips, list):
            encoding.tooltip = [_named(tooltip, part) for tooltip in tooltips]


def _named(tooltip: Any, chart: Any) -> Any:
    if isinstance(tooltip, str):
        tooltip = alt.Tooltip(tooltip)
    shorthand = tooltip["shorthand"]  # as attributes they would be methods
    if not isinstance(shorthand, str) or tooltip["title"] is not alt.Undefined:
        return tooltip
    field = shorthand.split(":")[0]
    entry = column(field)
    value = f"datum['{field}']"
    if entry.words:
        text = f"replace({value}, /_/g, ' ')"
    elif entry.is_p:
        least = f"{LEAST_P:.4f}".lstrip("0")
        text = f"{value} < {LEAST_P} ? '< {least}' : isValid({value}) ? format({value}, '.2') : '–'"
    else:
        return tooltip.copy().title(entry.heading)
    written = f"written_{field}"
    steps = list(chart.transform) if isinstance(chart.transform, list) else []
    chart.transform = [*steps, alt.CalculateTransform(**{"calculate": text, "as": written})]
    return alt.Tooltip(f"{written}:N", title=entry.heading)


def _written(cells: pd.Series, entry: Column, styled: bool) -> pd.Series:
    """Return cells as the browser receives them: p-values and words as text, numbers in their unit."""
    if entry.is_p and pd.api.types.is_numeric_dtype(cells):
        return pd.Series(_p_texts(cells), cells.index, dtype=object)
    if entry.words:
        return cells.map(entry.words, na_action="ignore")
    if entry.scale not in (1, 100) or not styled:  # `_text` makes percent of shares
        return cells * entry.scale
    return cells


def _holds_numbers(cells: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)


def show_table(
    frame: pd.DataFrame,
    name: str,
    columns: Sequence[str] | None = None,
    *,
    table: str = "",
    entries: Mapping[str, Column] | None = None,
    click: Act | None = None,
    now: object = None,
) -> None:
    """Draw a table that sorts, the first column pinned, with a CSV file of the same rows and all columns.

    If there are many columns, only the first are shown until the visitor asks for all, in all tables.

    Args:
        frame: the rows.
        name: name of the file, and of the table on its page.
        columns: names of the columns to show, in order; by default all. Names that the frame lacks are left out.
        table: name of the table in the catalogue of columns (`tfaudit.outlets.columns`).
        entries: how columns are shown whose names depend on the data.
        click: takes the row that is clicked, with its `index` and the `column` of the cell.
        now: choice that clicks change, as in `on_selection`.
    """
    shown = frame if columns is None else frame[[name for name in columns if name in frame]]
    shown = shown.rename(columns=str)
    fields = list(map(str, shown))
    visible = fields if _shows_all() else first_columns(fields)
    rows, config = _grid(shown, visible, table, entries or {})

    def act(selected: Any) -> None:
        for row, clicked in selected["cells"]:
            values = {str(name): value for name, value in frame.iloc[row].items()}
            click({"index": frame.index[row], "column": clicked, **values})  # type: ignore[misc]

    selecting: dict[str, Any] = {}
    if click:
        selecting = {**on_selection(f"table {name}", now, act)(0), "selection_mode": "single-cell"}
    st.dataframe(
        rows,
        hide_index=True,
        placeholder="–",
        column_config=config,
        column_order=None if visible == fields else visible,
        **selecting,
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        _download(name, "csv", lambda: csv_bytes(shown), "These rows with all columns, unrounded")
        if len(fields) > FIRST:
            _offer_all_columns(name, len(fields))


def _grid(
    shown: pd.DataFrame,
    visible: Sequence[str],
    table: str,
    entries: Mapping[str, Column],
) -> tuple[Any, dict[str, Any]]:
    """Return rows as Streamlit takes them, and how it shows their columns; small tables have numbers as texts."""
    styled = len(shown) * len(visible) <= STYLED and shown.columns.is_unique
    written: dict[str, Any] = {}
    config: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    for field in map(str, shown):
        entry = entries.get(field) or column(field, table)
        if entry.unit == "bytes":
            entry = in_round_unit(entry, shown[field].max())
        written[field] = cells = _written(shown[field], entry, styled)
        heading = field if field in entries else ""
        config[field] = _column_config(cells, entry, heading, not config, styled)
        if styled and field in visible and _holds_numbers(cells):
            texts[field] = functools.partial(_text, entry)
    rows: Any = shown.assign(**written)
    if texts:
        rows = rows.reset_index(drop=True).style.format(texts)
    return rows, config


def _shows_all() -> bool:
    """Return whether tables show all their columns; in the URL `columns=all`."""
    return url_choice("columns", False, option_reader("columns", {"all": True}))


def _offer_all_columns(name: str, count: int) -> None:
    """Draw a switch between the first columns of tables and all."""
    key = f"columns of {name}"
    set_control(key, _shows_all())
    st.toggle(
        f"All {count} columns",
        key=key,
        on_change=lambda: set_choices(columns="all" if st.session_state[key] else None),
    )


def _text(entry: Column, value: Any) -> str:
    """Return the text of a number, which is already in its unit, except shares of the catalogue."""
    if entry.scale == 100:
        text = entry.text(value)
        return f"{text} %" if entry.unit == "%" and not pd.isna(value) else text
    return dataclasses.replace(entry, scale=1).text(value)


def _column_config(
    cells: pd.Series, entry: Column, heading: str, pinned: bool, styled: bool
) -> Any:
    """Return how Streamlit shows a column, from the catalogue; styled cells bring their text."""
    titled = entry.title if styled and entry.unit != "%" else entry.grid_heading
    look: dict[str, Any] = {
        "label": heading or titled,
        "help": entry.help or None,
        "pinned": pinned,
    }
    if entry.is_p:
        return st.column_config.TextColumn(alignment="right", **look)
    if not _holds_numbers(cells):
        if pinned:  # Streamlit would look at some of the names alone
            longest = max(map(len, [look["label"], *map(str, cells)]))
            look["width"] = min(8 * longest + 20, WIDEST)
        return st.column_config.Column(**look)
    form = None if styled else entry.grid_format
    if form and form.endswith("g") and cells.abs().max() >= 999:
        form = "%,.0f"  # not 1.1e+03
    return st.column_config.NumberColumn(format=form, **look)


def _p_texts(cells: pd.Series) -> list[str | None]:
    """Return p-values as texts, which sort as the numbers do: all have four decimals, and a space comes first."""
    least = f" < {LEAST_P:.4f}".replace("0.", ".")
    return [None if pd.isna(p) else least if p < LEAST_P else f"{p:.4f}" for p in cells]


def show_alert(text: str) -> None:
    """Draw a notice that a visitor must not miss, in the colours of the verdict."""
    look = (
        f"{page_colours()} padding: 0.45rem 0.8rem; border-left: 4px solid var(--loss); border-radius: 0.25rem; "
        "background: color-mix(in srgb, var(--loss) 9%, transparent);"
    )
    mark = Markup('<strong aria-hidden="true" style="color: var(--loss)">⚠</strong>')
    st.html(Markup('<div role="note" style="{}">{} {}</div>').format(look, mark, text))


def show_notes(notes: Sequence[str]) -> None:
    """Draw notes, one line each."""
    for note in notes:
        st.caption(escape(prose(note)))


def go_to(path: str, **choices: str | list[str] | None) -> None:
    """Leave this page for another by its URL path, with the visitor's choices and some new ones; None drops one."""
    pages = st.session_state.get("pages", {})  # empty where a page runs alone
    if path in pages:
        st.switch_page(pages[path], query_params=link_parameters(**choices))


def go_to_later(path: str, **choices: str | list[str] | None) -> None:
    """Remember a change of page after a click in a chart or table, whose callback cannot change it yet."""
    set_choices(**choices)
    if path != st.session_state.get("shown page"):
        st.session_state["go to"] = path


def open_clicked_page() -> None:
    """Go to the page that a click chose."""
    if path := st.session_state.pop("go to", ""):
        go_to(path)


def link_to(path: str, label: str, icon: str | None = None, **choices: str | None) -> None:
    """Draw a link to a page by its URL path that keeps the visitor's choices; icons are as `:material/category:`."""
    pages = st.session_state.get("pages", {})  # empty where a page runs alone
    if path in pages:
        st.page_link(pages[path], label=label, icon=icon, query_params=link_parameters(**choices))


def _download(name: str, form: str, content: Callable[[], bytes], meaning: str) -> None:
    """Draw a button for a file, which is made when the button is pressed."""
    st.download_button(
        form.upper(),
        content,
        f"{name}.{form}",
        _MIME[form],
        key=f"download {name} {form}",
        help=meaning,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )
