"""A section of a report: one question, figures, tables, notes."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.analysis.image_strip import ImageStrip
from tfaudit.audits.declaration import Declaration, Table
from tfaudit.errors import listed, plural
from tfaudit.outlets.columns import Column, TextColumn, text_columns
from tfaudit.outlets.exemplar_cards import Card
from tfaudit.runtime.nouns import with_noun

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing


@dataclasses.dataclass(frozen=True)
class Figure:
    """A chart in a report.

    Attributes:
        name: name of its file, without the suffix.
        chart: chart to draw.
        description: alternative text.
        title: title above the chart; empty if the section has a single figure.
        folded: label of the fold that hides the figure and neighbours with the same label; empty if it is not folded.
        variant: title of the variant that the figure is about; empty if it is about several.
    """

    name: str
    chart: Drawing
    description: str
    title: str = ""
    folded: str = ""
    variant: str = ""

    @property
    def is_wide(self) -> bool:
        """Return whether its panels need the whole width of a page."""
        from tfaudit.charts.panels import is_grid

        return is_grid(self.chart, columns=2)


@dataclasses.dataclass(frozen=True)
class ReportTable:
    """A table in a report, as text; its first column names the rows.

    Attributes:
        title: title above the table, and its label for screen readers.
        columns: one or more columns of equal length.
        folded: whether it is hidden until a reader opens it.
    """

    title: str
    columns: tuple[TextColumn, ...]
    folded: bool = False

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
    ) -> ReportTable:
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
    ) -> ReportTable:
        """Return a frame as a table, with the rows and columns that its declaration shows in a report."""
        rows = table.report_rows(frame)
        cut = f", {len(rows)} of {len(frame):,}" if len(rows) < len(frame) else ""
        names = [name for name in table.columns[: table.report or None] if name in rows]
        folded = folded or table.folded
        return cls.of(title + cut, rows, names, table.catalogue, headings=headings, folded=folded)

    def about(self, noun: str) -> ReportTable:
        """Return the table with another word for images in its title and headings; its cells stay as they are."""
        said = functools.partial(with_noun, noun=noun)
        columns = [
            dataclasses.replace(each, heading=said(each.heading), help=said(each.help))
            for each in self.columns
        ]
        return dataclasses.replace(self, title=said(self.title), columns=tuple(columns))


@dataclasses.dataclass(frozen=True)
class Section:
    """One audit of a study.

    Attributes:
        key: anchor in the page.
        title: heading.
        question: question that the section answers, in one sentence.
        source: source of the method, such as "[R] 5".
        figures: charts.
        tables: tables.
        notes: notes, one sentence each.
        strip: image under corruption, or None.
        findings: the answers to the question, one sentence each.
        method: how the question is answered, in a sentence or two; may be empty.
        gallery: heading and cards of images.
    """

    key: str
    title: str
    question: str
    source: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    notes: tuple[str, ...] = ()
    strip: ImageStrip | None = None
    findings: tuple[str, ...] = ()
    method: str = ""
    gallery: tuple[str, Sequence[Card]] = ("", ())

    @classmethod
    def of(
        cls,
        shown: Declaration,
        figures: Sequence[Figure],
        tables: Sequence[ReportTable],
        notes: Sequence[str],
        *,
        strip: ImageStrip | None = None,
        findings: Iterable[str] = (),
    ) -> Section:
        """Return a section with the title, the question and the source of an audit."""
        return cls(
            shown.name.replace("_", "-"),
            shown.title,
            shown.question,
            shown.source,
            tuple(figures),
            tuple(tables),
            tuple(notes),
            strip,
            tuple(findings),
            shown.method,
        )

    def short(self, variant: str) -> Section:
        """Return the section with everything folded but its answers and one chart, or one table if it has no chart.

        Args:
            variant: title of the variant whose chart is in sight where every variant has its own.
        """
        figures = self.figures
        shown = next((f for f in figures if f.variant in ("", variant)), next(iter(figures), None))
        more = plural(len(figures) - 1, "more chart")
        folded = [
            dataclasses.replace(figure, folded=more) for figure in figures if figure is not shown
        ]
        tables = [
            dataclasses.replace(table, folded=table.folded or bool(figures or place))
            for place, table in enumerate(self.tables)
        ]
        shown_first = (*filter(None, [shown]), *folded)
        return dataclasses.replace(self, figures=shown_first, tables=tuple(tables))

    def about(self, noun: str) -> Section:
        """Return the section with the word for the examples of the study, such as "rows", in the place of "images"."""
        said = functools.partial(with_noun, noun=noun)
        figures = [dataclasses.replace(each, title=said(each.title)) for each in self.figures]
        return dataclasses.replace(
            self,
            title=said(self.title),
            question=said(self.question),
            method=said(self.method),
            figures=tuple(figures),
            tables=tuple(table.about(noun) for table in self.tables),
            notes=tuple(map(said, self.notes)),
            gallery=(said(self.gallery[0]), self.gallery[1]),
            findings=tuple(map(said, self.findings)),
        )

    @property
    def panels(self) -> list[tuple[str, list[Figure]]]:
        """Return the figures in runs that are shown or folded together, each with the label of its fold."""
        return [
            (folded, list(run))
            for folded, run in itertools.groupby(self.figures, lambda figure: figure.folded)
        ]

    def fills_page(self, figure: Figure) -> bool:
        """Return whether a figure has the page's width to itself: one of many panels, or one without a neighbour."""
        beside = [
            other for other in self.figures if other.folded == figure.folded and not other.is_wide
        ]
        return figure.is_wide or len(beside) == 1


def titled_notes(results: Sequence[tuple[str, Any]]) -> tuple[str, ...]:
    """Return the notes of titled results; a note that only some results have begins with the title.

    Example:
        >>> from types import SimpleNamespace
        >>> both, one = SimpleNamespace(notes=("one", "two")), SimpleNamespace(notes=("one",))
        >>> titled_notes([("int8", both), ("float16", one)])
        ('one', 'int8: two')
    """
    whose: dict[str, list[str]] = {}
    for title, result in results:
        for note in result.notes:
            whose.setdefault(note, []).append(title)
    return tuple(
        note if len(of) == len(results) else f"{listed(of)}: {note}" for note, of in whose.items()
    )


def notes_of(results: Iterable[Any]) -> tuple[str, ...]:
    """Return the notes of the results that have any, each note once."""
    return tuple(dict.fromkeys(note for result in results for note in result.notes))


def crosstab(
    title: str, frame: pd.DataFrame, entry: Column, *, folded: bool = False
) -> ReportTable:
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
    return ReportTable(title, (rows, *numbers), folded)
