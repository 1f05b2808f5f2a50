"""What every result of an audit can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.notebook import html_of

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing
else:
    Drawing = Any  # results name the type of their charts, and only drawing one imports Altair


class Result:
    """A result of an audit: a table, the figures in short, a chart, and caveats for the reader, one sentence each.

    Results are frozen dataclasses. A notebook shows the table and the notes.
    """

    notes: tuple[str, ...]

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
