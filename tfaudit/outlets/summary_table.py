"""The table of a study, [F] table 2, for the terminal and for a page."""

import dataclasses
from collections.abc import Iterable

from markupsafe import Markup
from rich.table import Table
from rich.text import Text

from tfaudit.audits.summary.summary import Summary
from tfaudit.errors import plural
from tfaudit.outlets.columns import TextColumn, text_columns
from tfaudit.outlets.templates import PAGES
from tfaudit.outlets.terminal_tables import table_of_figures
from tfaudit.runtime.nouns import with_noun

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


def terminal_table(audit: Summary, noun: str = "images") -> Table:
    """Return the table for a terminal of 80 columns, in sections as [F] prints it, with notes below it.

    Args:
        audit: the table and what it is made of.
        noun: word for the examples, such as "rows".
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
        ("pies", f"changed\n{noun}\n(expected)", "pies_by_chance"),
        ("pies_p", "their\np", ""),
    ):
        cells = columns[name].cells
        shown[heading] = _with_chance(cells, columns[expected].cells) if expected else cells
    least = int(audit.table["members"].min())
    most = int(audit.table["members"].max())
    members = plural(most, "member") if least == most else f"{least}–{most} members"
    table = table_of_figures(
        shown,
        least=10,
        title=f"What compression forgets, {members} per variant",
        caption="\n".join(with_noun(note, noun) for note in audit.notes) or None,
        title_justify="left",
        caption_justify="left",
        pad_edge=False,
    )
    families = audit.table["family"]
    ends = families.ne(families.shift(-1)) & families.shift(-1).notna()
    for end, *row in zip(ends, *shown.values(), strict=True):
        table.add_row(*map(Text, row), end_section=end)
    return table


def html_table(audit: Summary, noun: str = "images") -> Markup:
    """Return the table as HTML: one row per variant, headings with their meaning, columns with a figure."""
    columns = [
        dataclasses.replace(
            column, heading=with_noun(column.heading, noun), help=with_noun(column.help, noun)
        )
        for column in summary_columns(audit).values()
        if set(column.cells) != {"–"}
    ]
    cells = zip(*(column.cells for column in columns), strict=True)
    rows = zip(audit.table["variant"], cells, strict=True)
    module = PAGES.get_template("summary.html.j2").module
    return module.summary_table(columns, rows, audit.exemplars)  # type: ignore[attr-defined, no-any-return]


def _with_chance(counts: Iterable[str], expected: Iterable[str]) -> tuple[str, ...]:
    """Return counts, followed by the counts expected by chance in brackets if both are known."""
    pairs = zip(counts, expected, strict=True)
    return tuple(
        count if "–" in (count, chance) else f"{count} ({chance})" for count, chance in pairs
    )
