"""Tables as text, made once and drawn in a terminal, in a page, in Markdown and as CSV."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup
from rich import box
from rich.table import Table as TerminalTable
from rich.text import Text

from tfaudit.audits.declaration import Table
from tfaudit.errors import printable
from tfaudit.outlets.columns import Cell, Column, P, TextColumn, text_columns
from tfaudit.outlets.outcome_marks import OutcomeMark


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table; its first column names the rows. A cell is text, a `Cell` or the mark of an outcome.

    Attributes:
        title: title above the table, and its label for screen readers.
        columns: one or more columns of equal length.
        folded: whether a page hides it until a reader opens it.
        links: anchor that the name of each row leads to in a page, "" for none; empty if no row has one.
        chosen: numbers of the rows that a terminal marks with an asterisk and Markdown with bold type.
    """

    title: str
    columns: tuple[TextColumn, ...]
    folded: bool = False
    links: tuple[str, ...] = ()
    chosen: Collection[int] = ()

    @classmethod
    def of(
        cls,
        title: str,
        frame: pd.DataFrame,
        names: Sequence[str] = (),
        table: str = "",
        *,
        headings: Mapping[str, str] | None = None,
        folded: bool = False,
    ) -> Grid:
        """Return columns of a frame as a table; `text_columns` explains `names`, `table` and `headings`.

        Columns without any known value are left out.
        """
        first, *others = names or map(str, frame)
        known = [first, *(name for name in others if frame.empty or frame[name].notna().any())]
        return cls(title, text_columns(frame, known, table, headings), folded)

    @classmethod
    def declared(
        cls,
        title: str,
        table: Table,
        frame: pd.DataFrame,
        *,
        headings: Mapping[str, str] | None = None,
        folded: bool = False,
    ) -> Grid:
        """Return a frame as a table, with the rows and columns that its declaration shows in a report."""
        if table.numbers:
            return crosstab(title, frame, numbers_of(table), folded=table.folded)
        rows = table.report_rows(frame)
        cut = f", {len(rows)} of {len(frame):,}" if len(rows) < len(frame) else ""
        names = [name for name in table.columns[: table.report or None] if name in rows]
        folded = folded or table.folded
        return cls.of(title + cut, rows, names, table.catalogue, headings=headings, folded=folded)

    @classmethod
    def of_rows(
        cls,
        headings: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        words: int = 1,
        chosen: Collection[int] = (),
    ) -> Grid:
        r"""Return rows of cells as a table; the first `words` columns hold words, the others figures.

        Example:
            >>> Grid.of_rows(["class", "recall"], [["a|b", "90.0"]]).markdown()
            ['| class | recall |', '| --- | --- |', '| a\\|b | 90.0 |']
        """
        cells = list(zip(*rows, strict=True)) or [()] * len(headings)
        columns = (
            TextColumn(heading, "", tuple(column), numeric=place >= words)
            for place, (heading, column) in enumerate(zip(headings, cells, strict=True))
        )
        return cls("", tuple(columns), chosen=chosen)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The cells, row by row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))

    def in_terminal(
        self, *, least: int | None = None, most: int | None = None, gap: int = 1, **style: Any
    ) -> TerminalTable:
        """Return the table for a terminal: names wrap, figures never do.

        Args:
            least: smallest width of the names of the rows, in letters; as narrow as needed by default.
            most: largest width of columns of words; unlimited by default.
            gap: spaces between columns.
            **style: further settings of Rich's table.
        """
        # The box leaves a space between columns.
        settings: dict[str, Any] = {"padding": (0, gap - 1, 0, 0), "show_edge": False, **style}
        table = TerminalTable(box=box.SIMPLE_HEAD, caption_justify="left", **settings)
        for place, column in enumerate(self.columns):
            if column.numeric:
                table.add_column(column.heading, justify="right", no_wrap=True)
            else:
                narrow = None if place else least
                table.add_column(column.heading, min_width=narrow, max_width=most, overflow="fold")
        for place, (name, *cells) in enumerate(self.rows):
            first = _in_terminal(name)
            first.append(" *" if place in self.chosen else "")
            table.add_row(first, *map(_in_terminal, cells))
        return table

    def html(self) -> Markup:
        """Return the table for a page."""
        from tfaudit.outlets.templates import PAGES

        module = PAGES.get_template("sections.html.j2").module
        return Markup(module.rows_and_columns(self))  # type: ignore[attr-defined]

    def folded_html(self) -> Markup:
        """Return the table for a page under its title, which opens it."""
        return Markup("<details><summary>{}</summary>{}</details>").format(self.title, self.html())

    def markdown(self) -> list[str]:
        """Return the lines of the table in Markdown."""
        lines = [[markdown_text(column.heading) for column in self.columns]]
        lines.append(["---"] * len(self.columns))
        for place, row in enumerate(self.rows):
            name, *cells = map(_in_markdown, row)
            lines.append([f"**{name}**" if place in self.chosen else name, *cells])
        return [f"| {' | '.join(cells)} |" for cells in lines]


def numbers_of(table: Table) -> Column:
    """Return how the numbers of a table whose columns depend on the data are shown."""
    return P if table.numbers == "p" else Column("", table.numbers)


def crosstab(title: str, frame: pd.DataFrame, entry: Column, *, folded: bool = False) -> Grid:
    """Return a frame of numbers of one kind as a table, with its index as the first column.

    Example:
        >>> frame = pd.DataFrame({10: [0.5]}, index=pd.Index(["2 vs 4"], name="pair"))
        >>> table = crosstab("Balances", frame, Column("balance", ".2f"))
        >>> [(column.heading, column.cells) for column in table.columns]
        [('pair', ('2 vs 4',)), ('10', ('0.50',))]
    """
    index = frame.index.to_frame(index=False)
    rows = TextColumn(
        ", ".join(map(str, index)),
        "",
        tuple(index.astype(str).agg(", ".join, axis=1)),
        numeric=False,
    )
    numbers = [TextColumn(str(name), "", tuple(map(entry.text, frame[name]))) for name in frame]
    return Grid(title, (rows, *numbers), folded)


def _in_terminal(cell: object) -> Text:
    """Return a cell for a terminal of 80 columns: an interval in brackets, recalls below the class."""
    if isinstance(cell, OutcomeMark):
        return cell.in_terminal()
    if isinstance(cell, Cell):
        return Text(f"{printable(cell.text)}\n{cell.beside}" if cell.beside else str(cell))
    return cell if isinstance(cell, Text) else Text(printable(str(cell)))


def _in_markdown(cell: object) -> str:
    return cell.markdown if isinstance(cell, OutcomeMark) else markdown_text(cell)


def markdown_text(text: object) -> str:
    r"""Return text in which no character has a meaning in Markdown or HTML.

    Example:
        >>> print(markdown_text("a|b <i>*c*"))
        a\|b &lt;i>\*c\*
    """
    escaped = re.sub(r"([\\`*_\[\]|])", r"\\\1", printable(str(text)))
    return escaped.replace("&", "&amp;").replace("<", "&lt;")
