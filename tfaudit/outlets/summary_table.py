"""The table of a study, [F] table 2, for the terminal and for a page."""

from markupsafe import Markup, escape
from rich import box
from rich.table import Table
from rich.text import Text

from tfaudit.audits.summary.summary import Summary
from tfaudit.errors import plural
from tfaudit.outlets.columns import TextColumn, text_columns

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
    """Return the table for a terminal of 80 columns, in sections as [F] prints it, with the notes below."""
    columns = summary_columns(audit)
    sizes = [name for name in ("bytes", "gzipped_bytes") if set(columns[name].cells) != {"–"}]
    shown = {
        columns[name].heading.replace(", ", "\n"): columns[name].cells for name in ("title", *sizes)
    }
    shown |= {"top-1\n%": columns["top1"].cells, "top-5\n%": columns["top5"].cells}
    shown["classes\n(expected)"] = _with_chance(
        columns["significant"], columns["expected_by_chance"]
    )
    shown |= {"Holm": columns["significant_holm"].cells, "BH": columns["significant_bh"].cells}
    shown["PIEs\n(expected)"] = _with_chance(columns["pies"], columns["pies_by_chance"])
    shown["p"] = columns["pies_p"].cells
    table = Table(
        title=f"What compression forgets, {_members(audit)}",
        caption="\n".join(audit.notes) or None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,  # the box leaves a space between columns
    )
    for i, heading in enumerate(shown):
        table.add_column(
            heading, justify="right" if i else "left", no_wrap=i > 0, min_width=None if i else 10
        )
    families = audit.table["family"]
    ends = families.ne(families.shift(-1)) & families.shift(-1).notna()
    for end, *cells in zip(ends, *shown.values(), strict=True):
        table.add_row(*map(Text, cells), end_section=end)
    return table


def html_table(audit: Summary) -> Markup:
    """Return the table as HTML: one row per variant, headings with their meaning, columns with a figure."""
    columns = [column for column in summary_columns(audit).values() if set(column.cells) != {"–"}]
    head = Markup("").join(
        Markup('<th scope="col"><abbr title="{}">{}</abbr></th>').format(
            column.help, column.heading
        )
        for column in columns
    )
    body = Markup("")
    for variant, title, *cells in zip(
        audit.table["variant"], *(column.cells for column in columns), strict=True
    ):
        link = (
            Markup('<a href="#{}">{}</a>').format(variant, title)
            if variant in audit.exemplars
            else escape(title)
        )
        row = Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
        body += Markup('<tr><th scope="row">{}</th>{}</tr>\n').format(link, row)
    return Markup(
        '<table class="figures"><thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>'
    ).format(head, body)


def _with_chance(counts: TextColumn, expected: TextColumn) -> tuple[str, ...]:
    """Return counts with those expected by chance in brackets, where both are known."""
    pairs = zip(counts.cells, expected.cells, strict=True)
    return tuple(
        count if "–" in (count, chance) else f"{count} ({chance})" for count, chance in pairs
    )


def _members(audit: Summary) -> str:
    least = int(audit.table["members"].min())
    most = int(audit.table["members"].max())
    members = plural(most, "member") if least == most else f"{least}–{most} members"
    return f"{members} per variant"
