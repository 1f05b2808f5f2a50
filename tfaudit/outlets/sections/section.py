"""A section of a report: one question, figures, tables, notes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfaudit.analysis.corruption_strip import CorruptionStrip
from tfaudit.audits.declaration import Declaration
from tfaudit.errors import listed, plural
from tfaudit.outlets.exemplar_cards import Card
from tfaudit.outlets.grid import Grid

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
        corruption_strip: image under corruption, or None.
        findings: the answers to the question, one sentence each.
        method: how the question is answered, in a sentence or two; may be empty.
        gallery: heading and cards of images.
        part: title of the part of the report that it stands in.
    """

    key: str
    title: str
    question: str
    source: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    corruption_strip: CorruptionStrip | None = None
    findings: tuple[str, ...] = ()
    method: str = ""
    gallery: tuple[str, Sequence[Card]] = ("", ())
    part: str = "Methods"

    @classmethod
    def of(
        cls,
        shown: Declaration,
        figures: Sequence[Figure],
        tables: Sequence[Grid],
        notes: Sequence[str],
        *,
        corruption_strip: CorruptionStrip | None = None,
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
            corruption_strip,
            tuple(findings),
            shown.method,
            part=shown.part,
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
