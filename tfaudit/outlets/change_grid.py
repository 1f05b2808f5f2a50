"""Changes of a share, such as a mean outcome, with their intervals, a row per group."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from tfaudit.audits.gate.measurements import Measurements
from tfaudit.outlets.columns import P, TextColumn, signed
from tfaudit.outlets.grid import Grid


def change_in_words(row: Mapping[Hashable, Any]) -> str:
    """Return a change in points with its interval.

    Example:
        >>> change_in_words({"change_pp": -2, "change_low_pp": -4.04, "change_high_pp": 0})
        '−2.0 (−4.0 to 0.0)'
    """
    change, low, high = (signed(row[f"change{end}_pp"]) for end in ("", "_low", "_high"))
    return f"{change} ({low} to {high})"


def groups_grid(name: str, measurements: Measurements) -> Grid:
    """Return the changes of named groups, the largest loss first, below that of all examples.

    Args:
        name: heading of the names, such as that of the model.
        measurements: measurements with groups, or without any.
    """
    parts = [part for part in (measurements.overall, measurements.groups) if part]
    frame = pd.concat([part.changes().assign(**{name: part.names}) for part in parts])
    groups = frame.iloc[1:].sort_values("change_pp", kind="stable")
    rows = pd.concat([frame.head(1), groups])
    p = TextColumn("corrected p", "", tuple(map(P.text, rows["p_holm"])))
    headings = (name, "examples", "before, %", "after, %", "change, points")
    return changes_grid("Groups, the largest loss first", rows, headings, [p])


def changes_grid(
    title: str, frame: pd.DataFrame, headings: Sequence[str], further: Sequence[TextColumn] = ()
) -> Grid:
    """Return the rows of a frame of changes as a table.

    Args:
        title: title of the table.
        frame: names of the rows in the first column of the headings, and the columns of `Losses.changes`.
        headings: headings of names, of numbers of examples, of shares before and after, and of changes.
        further: columns that follow.
    """
    name, count, before, after, change = headings
    shares = {
        heading: tuple(f"{100 * share:.1f}" for share in frame[column])
        for heading, column in ((before, "before"), (after, "after"))
    }
    changes = tuple(map(change_in_words, frame.to_dict("records")))
    cells = {
        count: tuple(f"{number:,}" for number in frame["examples"]),
        **shares,
        change: changes,
    }
    figures = (TextColumn(heading, "", column) for heading, column in cells.items())
    names = TextColumn(name, "", tuple(frame[name]), numeric=False)
    return Grid(title, (names, *figures, *further))
