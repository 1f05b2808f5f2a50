"""How an audit presents itself to readers: the single source for report, viewer, files and documentation."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of a result.

    The texts may name attributes of the result, such as "by {result.name}".

    Attributes:
        description: what the chart shows, used as its alternative text; the question of the audit by default.
        draw: function that takes the result and returns the chart; `result.chart()` by default.
        name: suffix of file names, after the name of the audit; empty for the main chart.
        title: heading of the chart, after the title of the variant.
        shown: function that takes the result and returns whether this chart says anything about it.
        each: function that takes a result on all variants and yields key, title and drawable part of each that has a
            chart of its own; None if the result has one chart.
        shared: whether all variants have the same chart, so that one is enough.
    """

    description: str = ""
    draw: Callable[[Any], Any] = lambda result: result.chart()
    name: str = ""
    title: str = ""
    shown: Callable[[Any], bool] = lambda result: True
    each: Callable[[Any], Iterable[tuple[str, str, Any]]] | None = None
    shared: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a result.

    Attributes:
        columns: names of the frame's columns, in order; all by default.
        report: number of leading columns that a report shows; 0 for all. The viewer shows more on demand.
        catalogue: prefix of the entries in the catalogue of columns that take precedence, such as "slopes".
        rows: function that takes the result and returns the frame with its rows in order; `result.frame()` by default.
        title: heading of the table, after the title of the variant; may name attributes of the result.
        headings: function that takes the result and returns the headings that depend on it, by column.
        report_rows: function that takes the rows and returns those that a report shows; all by default.
        folded: whether a report hides the table until a reader opens it, however short it is.
        numbers: format of the numbers in a table whose columns depend on the data, "p" for p-values; the rows are
            named by their index.
    """

    columns: tuple[str, ...] = ()
    report: int = 0
    catalogue: str = ""
    rows: Callable[[Any], pd.DataFrame] = lambda result: result.frame()
    title: str = ""
    headings: Callable[[Any], Mapping[str, str]] = lambda result: {}
    report_rows: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows
    folded: bool = False
    numbers: str = ""

    def joint(self, results: Mapping[str, Any]) -> pd.DataFrame:
        """Concatenate the rows of several results, with a column `title` that holds each result's key."""
        rows = [self.rows(result).assign(title=title) for title, result in results.items()]
        return pd.concat(rows, ignore_index=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declaration:
    """How an audit presents itself to readers: question, source, charts, tables and findings.

    Attributes:
        name: name of its section, page, files and cached results.
        title: heading of its section and page.
        question: the question it answers, in one short sentence without the words of the method.
        method: how it is answered, behind the question mark of its page: what is compared, tested and corrected.
        part: title of the part of the report, one of `tfaudit.outlets.sections.order.REPORT_PARTS`.
        source: source of the method, such as "[R] 5"; may be empty.
        charts: charts in order; the first is the main one.
        overview: a table of all variants, to which each result adds its rows; None if there is no such table.
        tables: tables of each result, by name; the first is the main one.
        findings: function that takes the title of a variant and its result and returns answers, one sentence each.
        says_something: function that takes a result and returns whether a report shows it.
        corruption_strip: function that takes the result and returns an image under corruption to show, or None.
        images: kind of changed images, as in `image_changes`, that a click in the viewer leads to; all by default.
    """

    name: str
    title: str
    question: str
    method: str = ""
    part: str = "Methods"
    source: str = ""
    charts: tuple[Chart, ...] = (Chart(),)
    overview: Table | None = None
    tables: Mapping[str, Table] = dataclasses.field(default_factory=dict)
    findings: Callable[[str, Any], Iterable[str]] = lambda title, result: ()
    says_something: Callable[[Any], bool] = lambda result: True
    corruption_strip: Callable[[Any], Any] = lambda result: None
    images: str = ""

    @property
    def table(self) -> Table:
        """The main table."""
        return next(iter(self.tables.values()), Table(catalogue=self.name))
