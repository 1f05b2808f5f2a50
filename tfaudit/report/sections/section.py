"""What a section of a report is: one sentence, figures, tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

import pandas as pd

from tfaudit.analysis.image_strip import ImageStrip
from tfaudit.charts.style import Drawing
from tfaudit.report.tables import Column

__all__ = ["Figure", "Section", "Table", "column", "grid"]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A chart.

    Attributes:
        name: of its file.
        chart: to draw.
        description: what it shows, for those who do not see it.
        title: above it; empty where the section has just one.
    """

    name: str
    chart: Drawing
    description: str
    title: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """Figures under headings; the first column names the rows.

    Attributes:
        title: above it; also what a screen reader announces.
        columns: at least one, equally long.
        folded: is it shown on demand only?
    """

    title: str
    columns: tuple[Column, ...]
    folded: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """One audit of a study.

    Attributes:
        key: anchor in the page.
        title: heading.
        says: in one sentence what it shows.
        source: where the method is from, such as "[R] 5".
        figures: charts.
        tables: tables.
        notes: what a reader has to know, one sentence each.
        strip: one image under corruption, or None.
    """

    key: str
    title: str
    says: str
    source: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    strip: ImageStrip | None = None


def column(
    frame: pd.DataFrame, name: Hashable, heading: str, form: str = "", *, scale: float = 1, meaning: str = ""
) -> Column:
    """One column of a frame as people read it: a dash where nothing is known, a true minus sign.

    Args:
        frame: of the rows.
        name: of its column.
        heading: for people.
        form: format specification; text stays as it is.
        scale: what numbers are multiplied with.
        meaning: what the heading means, in a few words.

    Example:
        >>> column(pd.DataFrame({"drop": [-0.051, None]}), "drop", "drop, points", "+.1f", scale=100).cells
        ('−5.1', '–')
    """

    def cell(value: object) -> str:
        if pd.isna(value):  # type: ignore[call-overload]
            return "–"
        if isinstance(value, str) or not form:
            return str(value)
        return format(scale * value, form).replace("-", "−")  # type: ignore[operator]

    return Column(heading, meaning, tuple(map(cell, frame[name])))


def grid(title: str, frame: pd.DataFrame, form: str) -> Table:
    """A frame of numbers as a table, its index down and its columns across.

    Example:
        >>> one = grid("p", pd.DataFrame({10: [0.5]}, index=pd.Index(["2 vs 4"], name="pair")), ".2f")
        >>> [(column.heading, column.cells) for column in one.columns]
        [('pair', ('2 vs 4',)), ('10', ('0.50',))]
    """
    flat = frame.reset_index()
    down = [name for name in flat if name in frame.index.names]
    rows = flat.assign(**{"": flat[down].astype(str).agg(", ".join, axis=1)})
    first = column(rows, "", ", ".join(map(str, down)))
    return Table(title, (first, *(column(rows, name, str(name), form) for name in frame)))
