"""What an audit is to a reader, said once: report, viewer, files and documentation take it from here."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of a result.

    The texts may name attributes of the result, such as "by {result.name}".

    Attributes:
        description: what it shows, its alternative text; the question of the audit by default.
        draw: takes the result and returns the chart; `result.chart()` by default.
        name: in the names of files, after that of the audit; empty for the main chart.
        title: what it is, after the title of the variant.
        shown: takes the result and returns whether this chart says anything about it.
        shared: whether all variants have the same chart, so that one is enough.
    """

    description: str = ""
    draw: Callable[[Any], Any] = lambda result: result.chart()
    name: str = ""
    title: str = ""
    shown: Callable[[Any], bool] = lambda result: True
    shared: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a result.

    Attributes:
        columns: names in the frame, in order; all by default.
        report: how many of the columns a report shows, the first ones; 0 for all. The viewer shows more on demand.
        catalogue: prefix of the entries in the catalogue of columns that come first, such as "slopes".
        rows: takes the result and returns the frame, in the order of its rows; `result.frame()` by default.
        title: what the rows are, after the title of the variant; may name attributes of the result.
        headings: takes the result and returns the headings that depend on it, by column.
        report_rows: takes the rows and returns those that a report shows; all by default.
        folded: whether a report hides it until a reader opens it, however short it is.
    """

    columns: tuple[str, ...] = ()
    report: int = 0
    catalogue: str = ""
    rows: Callable[[Any], pd.DataFrame] = lambda result: result.frame()
    title: str = ""
    headings: Callable[[Any], Mapping[str, str]] = lambda result: {}
    report_rows: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows
    folded: bool = False

    def joint(self, results: Mapping[str, Any]) -> pd.DataFrame:
        """Return the rows of several results below each other, with the `title` by which each is given."""
        rows = [self.rows(result).assign(title=title) for title, result in results.items()]
        return pd.concat(rows, ignore_index=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declaration:
    """What an audit is to a reader.

    Attributes:
        name: of its section, page, files and cached results.
        title: heading of its section and page.
        question: what it answers, in one sentence.
        source: of the method, such as "[R] 5"; may be empty.
        charts: in order; the first is the main one.
        overview: a table of all variants, to which each result adds its rows; None without one.
        tables: of each result, by name; the first is the main one.
        findings: takes the title of a variant and its result, and returns answers to the question, one sentence each.
        says_something: takes a result and returns whether a report shows it.
        images: the changed images that a click in the viewer leads to: a kind of `image_changes`, or all by default.
    """

    name: str
    title: str
    question: str
    source: str = ""
    charts: tuple[Chart, ...] = (Chart(),)
    overview: Table | None = None
    tables: Mapping[str, Table] = dataclasses.field(default_factory=dict)
    findings: Callable[[str, Any], Iterable[str]] = lambda title, result: ()
    says_something: Callable[[Any], bool] = lambda result: True
    images: str = ""

    @property
    def table(self) -> Table:
        """The main table."""
        return next(iter(self.tables.values()), Table(catalogue=self.name))
