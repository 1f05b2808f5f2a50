"""The table of a study, [F] table 2, for the terminal and for a page."""

from collections.abc import Iterable

from rich.table import Table

from tfaudit.audits.summary.summary import Summary
from tfaudit.errors import plural
from tfaudit.outlets.columns import TextColumn, text_columns
from tfaudit.outlets.grid import Grid

NAMES = (
    "title",
    "sparsity",
    "bytes",
    "gzipped_bytes",
    "top1",
    "argmax_top1",
    "tied",
    "top1_change",
    "top5",
    "significant",
    "expected_by_chance",
    "significant_holm",
    "significant_bh",
    "pies",
    "pies_undecided",
    "pies_by_chance",
    "pies_p",
)


def summary_columns(audit: Summary) -> dict[str, TextColumn]:
    """Return the columns of [F] table 2, and sizes, counts expected by chance and corrected counts, by name."""
    return dict(zip(NAMES, text_columns(audit.frame(), NAMES, "summary"), strict=True))


def terminal_table(audit: Summary) -> Table:
    """Return the table for a terminal of 80 columns, in sections as [F] prints it, with notes below it.

    Args:
        audit: the table and what it is made of.
    """
    columns = summary_columns(audit)
    sizes = [name for name in ("bytes", "gzipped_bytes") if set(columns[name].cells) != {"–"}]
    shown = {
        columns[name].heading.replace(", ", "\n"): columns[name].cells
        for name in ("title", *sizes, "top1", "top5")
    }
    for name, heading, expected in (
        ("significant", f"classes,\np ≤ {audit.alpha:g}\n(expected)", "expected_by_chance"),
        ("significant_holm", "cor-\nrected", ""),
        ("pies", "changed\nexamples\n(expected)", "pies_by_chance"),
        ("pies_p", "their\np", ""),
    ):
        cells = columns[name].cells
        shown[heading] = _with_chance(cells, columns[expected].cells) if expected else cells
    least = int(audit.table["members"].min())
    most = int(audit.table["members"].max())
    members = plural(most, "member") if least == most else f"{least}–{most} members"
    table = Grid.of_rows([*shown], zip(*shown.values(), strict=True)).in_terminal(
        least=10,
        title=f"What compression forgets, {members} per variant",
        caption="\n".join(audit.notes) or None,
        title_justify="left",
        show_edge=True,
        pad_edge=False,
    )
    families = audit.table["family"]
    ends = families.ne(families.shift(-1)) & families.shift(-1).notna()
    for row, end in zip(table.rows, ends, strict=True):
        row.end_section = bool(end)
    return table


def summary_grid(audit: Summary) -> Grid:
    """Return the table for a page: one row per variant, whose name leads to its exemplars, columns with a figure."""
    columns = [column for column in summary_columns(audit).values() if set(column.cells) != {"–"}]
    links = [key if key in audit.exemplars else "" for key in audit.table["variant"]]
    return Grid("Table of variants", tuple(columns), links=tuple(links))


def _with_chance(counts: Iterable[str], expected: Iterable[str]) -> tuple[str, ...]:
    """Return counts, followed by the counts expected by chance in brackets if both are known."""
    pairs = zip(counts, expected, strict=True)
    return tuple(
        count if "–" in (count, chance) else f"{count} ({chance})" for count, chance in pairs
    )
