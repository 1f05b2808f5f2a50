"""What an audit is to a reader, said once: report, viewer, files and documentation take it from here."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a result.

    Attributes:
        columns: names in the frame, in order; all by default.
        report: how many of the columns a report shows, the first ones; 0 for all. The viewer shows more on demand.
        catalogue: prefix of the entries in the catalogue of columns that come first, such as "slopes".
        rows: takes the result and returns the frame, in the order of its rows; `result.frame()` by default.
    """

    columns: tuple[str, ...] = ()
    report: int = 0
    catalogue: str = ""
    rows: Callable[[Any], pd.DataFrame] = lambda result: result.frame()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declaration:
    """What an audit is to a reader.

    Attributes:
        name: of its section, page, files and cached results.
        title: heading of its section and page.
        question: what it answers, in one sentence.
        source: of the method, such as "[R] 5"; may be empty.
        tables: by name; the first is the main one.
        images: the changed images that a click in the viewer leads to: a kind of `image_changes`, or all by default.
    """

    name: str
    title: str
    question: str
    source: str = ""
    tables: Mapping[str, Table] = dataclasses.field(default_factory=dict)
    images: str = ""

    @property
    def table(self) -> Table:
        """The main table."""
        return next(iter(self.tables.values()), Table(catalogue=self.name))
