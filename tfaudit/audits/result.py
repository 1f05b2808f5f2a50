"""The base class of all results of audits."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
"""Maximum number of rows of a table that are shown."""


def html_of(result: Any) -> str:
    """Return the table and the notes of a result, for a notebook: the `_repr_html_` of every result with a `frame`.

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

    Results are frozen dataclasses. A notebook shows the table and the notes.
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
