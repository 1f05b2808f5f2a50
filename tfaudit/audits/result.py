"""The base class of all results of audits."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing
else:
    Drawing = Any  # only annotations need it; Altair is imported when a chart is drawn


def in_points(name: str, value: Any, low: Any, high: Any) -> dict[str, Any]:
    """Return the columns of a figure and the ends of its interval, given as shares, in percentage points.

    Example:
        >>> in_points("change", 0.5, 0.25, 0.75)
        {'change_pp': 50.0, 'change_low_pp': 25.0, 'change_high_pp': 75.0}
    """
    return {f"{name}_pp": 100 * value, f"{name}_low_pp": 100 * low, f"{name}_high_pp": 100 * high}


def without_nan(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row with None instead of NaN, as JSON writes it.

    Example:
        >>> without_nan({"bytes": 10, "ms": float("nan")})
        {'bytes': 10, 'ms': None}
    """
    return {name: None if value != value else value for name, value in row.items()}


def described(
    keys: list[str], columns: list[str], descriptions: pd.DataFrame | None
) -> pd.DataFrame:
    """Return columns of the descriptions of variants, one row per key; unknown titles are the keys, the rest None.

    Example:
        >>> described(["int8"], ["title", "bytes"], None).loc["int8"].to_list()
        ['int8', None]
    """
    descriptions = pd.DataFrame(index=keys) if descriptions is None else descriptions
    facts = descriptions.reindex(index=keys, columns=columns).astype(object)
    facts["title"] = facts["title"].where(facts["title"].notna(), facts.index)
    return facts.where(facts.notna(), None)


ROWS = 30
"""Maximum number of rows of a table that a notebook shows."""

LINES, WIDTH = 30, 120
"""Maximum number of lines of a result as text, and of their characters."""

WORST = 20
"""Maximum number of rows of a table as text."""

CELL = 40
"""Maximum number of characters of a cell as text."""


def text_of(result: Any) -> str:
    """Return the figures of a result, its doubts, the worst rows of its table and its notes, in at most `LINES` lines.

    Rows with a change begin with the largest loss. Columns are left out from the right.

    Example:
        >>> import pandas as pd
        >>> class Loss(Result):
        ...     frame = lambda self: pd.DataFrame({"class": ["cat", "dog"], "change_pp": [0.25, -1.5]})
        ...     summary = lambda self: {"classes": 2}
        >>> print(Loss())
        Loss: classes 2
        class  change_pp
        dog         -1.5
        cat         0.25
    """
    figures = [
        f"{name} {_cell(value)}"
        for name, value in result.summary().items()
        if isinstance(value, str | int | float | np.number)
    ]
    head = f"{type(result).__name__}: {', '.join(figures)}"
    doubts = [line for doubt in getattr(result, "doubts", ()) for line in _wrapped(doubt, 4)]
    table = _text_table(result.frame(), max(1, WORST - len(doubts)))
    notes = [line for note in getattr(result, "notes", ()) for line in _wrapped(note, 2)]
    return "\n".join([*_wrapped(head, 1), *doubts, *table, *notes][:LINES])


def _text_table(frame: pd.DataFrame, most: int) -> list[str]:
    """Return the headings and the worst rows of a table, and how many rows and columns are left out."""
    if "change_pp" in frame:
        frame = frame.sort_values("change_pp", kind="stable")
    first = [name for name in (*frame.columns[:1], "change_pp", "verdict") if name in frame]
    frame = frame[list(dict.fromkeys([*first, *frame.columns]))]
    columns: list[list[str]] = []
    for name in frame:
        cells = [str(name), *map(_cell, frame[name].head(most))]
        width = max(map(len, cells))
        if columns and sum(len(column[0]) + 2 for column in columns) + width > WIDTH:
            break
        justify = str.rjust if pd.api.types.is_numeric_dtype(frame[name]) else str.ljust
        columns.append([justify(cell, width) for cell in cells])
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    rows, shown = frame.shape, (max(len(lines) - 1, 0), len(columns))
    if rows != shown:
        counts = f"{shown[0]} of {rows[0]:,} rows, {shown[1]} of {rows[1]} columns"
        lines.append(f"({counts}: frame() has all)")
    return lines


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    (line,) = _wrapped(text, 1, CELL) or [""]
    return line


def _wrapped(text: object, most: int, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(str(text), width, max_lines=most, placeholder="…")


def html_of(result: Any) -> str:
    """Return the table and the notes of a result, for a notebook: the `_repr_html_` of every result.

    Example:
        >>> import pandas as pd
        >>> class Result:
        ...     frame = lambda self: pd.DataFrame({"class": ["<cat>"]})
        >>> "&lt;cat&gt;" in html_of(Result())
        True
    """
    frame = result.frame()
    more = f" ({ROWS} of {len(frame):,} rows)" if len(frame) > ROWS else ""
    table = frame.head(ROWS).to_html(
        index=False, border=0, float_format=lambda value: f"{value:.4g}"
    )
    notes, doubts = (
        "".join(f"<p>{html.escape(str(line))}</p>" for line in getattr(result, name, ()))
        for name in ("notes", "doubts")
    )
    return f"{doubts}<p><b>{type(result).__name__}</b>{more}</p>{table}{notes}"


class Result:
    """A result of an audit: a table, the figures in short, a chart, and caveats for the reader, one sentence each.

    Results are frozen dataclasses. A notebook shows the table and the notes; as text, a result has at most 30 lines.
    """

    notes: tuple[str, ...]
    alpha: Any

    @property
    def level(self) -> str:
        """Confidence level of the intervals as text, e.g. "95 %", for results that have an `alpha`."""
        return f"{100 * (1 - self.alpha):g} %"

    def frame(self) -> pd.DataFrame:
        """Return the table."""
        raise NotImplementedError

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables beside `frame`, by title."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Return the figures in short."""
        raise NotImplementedError

    def chart(self) -> Drawing:
        """Draw the result."""
        raise NotImplementedError

    _repr_html_ = html_of
    __str__ = text_of
