"""Tables of figures for a terminal of 80 columns."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.table import Table


def table_of_figures(
    headings: Iterable[str], *, least: int, most: int | None = None, **style: Any
) -> Table:
    """Return a table whose first column holds names, which are shortened on a narrow terminal; no figure is.

    Args:
        headings: of all columns.
        least: letters of the first column.
        most: letters of the first column; any number by default.
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
