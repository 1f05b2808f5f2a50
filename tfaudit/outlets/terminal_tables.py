"""Tables of figures for a terminal of 80 columns."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.table import Table


def table_of_figures(
    headings: Iterable[str], *, least: int, most: int | None = None, **style: Any
) -> Table:
    """Return a table whose first column holds names; a narrow terminal shortens names, but no figures.

    Args:
        headings: headings of all columns.
        least: smallest width of the first column, in letters.
        most: largest width of the first column, in letters; unlimited by default.
        **style: further settings of the table.
    """
    # The box leaves a space between columns.
    table = Table(box=box.SIMPLE_HEAD, padding=0, **style)
    for i, heading in enumerate(headings):
        if i:
            table.add_column(heading, justify="right", no_wrap=True)
        else:
            table.add_column(heading, min_width=least, max_width=most)
    return table
