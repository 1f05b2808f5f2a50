"""Results in notebooks: their tables as HTML."""

import html
from typing import Any

ROWS = 30
"""Most rows of a table that are shown."""


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
    table = frame.head(ROWS).to_html(index=False, border=0, float_format=lambda value: f"{value:.4g}")
    notes = "".join(f"<p>{html.escape(str(note))}</p>" for note in getattr(result, "notes", ()))
    return f"<p><b>{type(result).__name__}</b>{more}</p>{table}{notes}"
