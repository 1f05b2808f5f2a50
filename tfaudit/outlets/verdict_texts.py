"""Texts and tables of a verdict that the terminal and Markdown share."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.outlets.change_grid import change_in_words
from tfaudit.outlets.columns import Column, TextColumn, cell_of
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.outcome_marks import MARKS
from tfaudit.outlets.phrases import retraining


def data_text(verdict: Verdict) -> str:
    """Return the data behind a verdict: the number of examples, and the number of members if there are several."""
    before, after = verdict.members
    members = f", {before} and {after} members" if max(before, after) > 1 else ""
    return f"{verdict.examples:,} examples{members}"


def retraining_in_words(verdict: StudyVerdict) -> str:
    """Return how many predictions change when the baseline is trained again; empty for single models."""
    known = verdict.table.dropna(subset=["retrained_share"])
    if known.empty:
        return ""
    share, examples = known.iloc[0][["retrained_share", "examples"]]
    return retraining([share * examples], int(examples))


def checks_grid(verdict: Verdict) -> Grid:
    """Return outcome, title, value, interval and limit of every check, the gravest first."""
    shown = ["outcome", "title", "measured", "interval", "allowed"]
    rows = verdict.labelled_frame()[shown].itertuples(index=False, name=None)
    headings = ("", "check", "measured", f"{verdict.level} interval", "limit")
    return Grid.of_rows(headings, ([MARKS[outcome], *cells] for outcome, *cells in rows), words=2)


def groups_grid(verdict: StudyVerdict) -> Grid:
    """Return the check of every named group's loss in every variant, the gravest first; no rows without a limit."""
    frame = verdict.groups_frame()
    cells = [
        (
            row["title"],
            row["group"],
            f"{row['examples']:,}",
            change_in_words(row),
            f"{row['limit_pp']:g}",
            MARKS[row["outcome"]],
        )
        for row in frame.to_dict("records")
    ]
    headings = ("variant", "group", "examples", "change, points", "limit", "")
    grid = Grid.of_rows(headings, cells, words=2)
    return dataclasses.replace(grid, title=f"Named groups, {verdict.level} intervals", folded=True)


def variants_grid(
    rows: Sequence[Mapping[Hashable, Any]],
    chosen: Iterable[bool],
    columns: Mapping[str, Column],
) -> Grid:
    """Return one row per variant: its title, whether it is chosen, its outcome, and some columns.

    Args:
        rows: variants with `title`, `outcome` and what the columns need.
        chosen: whether each variant is chosen.
        columns: columns to show after the outcome, by name.
    """
    marks = (MARKS.get(row["outcome"], row["outcome"]) for row in rows)
    shown = [
        TextColumn("variant", "", tuple(row["title"] for row in rows), numeric=False),
        TextColumn("verdict", "", tuple(marks), numeric=False),
    ]
    for name, entry in columns.items():
        cells = tuple(cell_of(name, entry, row) for row in rows)
        shown.append(TextColumn(entry.title, "", cells, entry.is_number))
    return Grid(
        "", tuple(shown), chosen=[place for place, is_chosen in enumerate(chosen) if is_chosen]
    )
