"""[F] table 2 of a study, for the terminal and for a page."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pandas as pd
from markupsafe import Markup, escape
from rich import box
from rich.table import Table
from rich.text import Text

from tfaudit.audit.summary import Summary

__all__ = ["Column", "columns", "html_table", "terminal_table"]


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of figures as people read them: its heading, what the heading means, and one cell per variant."""

    heading: str
    meaning: str
    cells: tuple[str, ...]


def columns(audit: Summary) -> tuple[Column, ...]:
    """The figures of [F] table 2 and what they lack: sizes, false positives by chance, corrected counts."""
    rows = audit.frame().to_dict("records")
    unit, scale = _unit(audit.table["bytes"].max())

    def column(heading: str, meaning: str, text: Any) -> Column:
        return Column(heading, meaning, tuple(text(row) for row in rows))

    def known(name: str, form: str, scale: float = 1) -> Any:
        return lambda row: "–" if pd.isna(row[name]) else format(scale * row[name], form).replace("-", "−")

    found = [
        column("variant", "what was done to the model", lambda row: row["title"]),
        column("sparsity", "zeros among the prunable weights", known("sparsity", ".1f", 100)),
        column(f"size, {unit}", "model file, mean over members", known("bytes", ".3g", scale)),
        column(f"gzipped, {unit}", "the same file, gzipped", known("gzipped_bytes", ".3g", scale)),
        column("top-1", "mean accuracy, %", known("top1", ".2f", 100)),
        column("change, %", "of mean top-1 accuracy, relative to the baseline's", known("top1_change", "+.2f", 100)),
        column("top-5", "mean accuracy of five guesses, %", known("top5", ".2f", 100)),
        column("signif.", "classes with p ≤ alpha, uncorrected as in [F]", known("significant", "d")),
        column("chance", "such classes to expect if nothing had changed", known("expected_by_chance", ".3g")),
        column("Holm", "classes significant after Holm's correction", known("significant_holm", "d")),
        column("BH", "classes significant after Benjamini and Hochberg's", known("significant_bh", "d")),
        column("PIEs", "images whose modal label changes", known("pies", ",d")),
        column("PIEs by chance", "such images to expect if compression did nothing", known("pies_by_chance", ",.0f")),
        column("p of PIEs", "how likely chance gives as many; by reassigning members", lambda row: _p(row["pies_p"])),
    ]
    return tuple(found)


def terminal_table(audit: Summary) -> Table:
    """The table for a terminal of 80 columns, in sections as [F] prints it; the notes stand below."""
    cells = {column.heading: column.cells for column in columns(audit)}
    for found, chance in (("signif.", "chance"), ("PIEs", "PIEs by chance")):
        both = zip(cells[found], cells.pop(chance), strict=True)
        cells[f"{found}\n(chance)"] = tuple(count if "–" in (count, by) else f"{count} ({by})" for count, by in both)
    cells["p"] = cells["p of PIEs"]
    shown = ("top-1", "top-5", "signif.\n(chance)", "Holm", "BH", "PIEs\n(chance)", "p")
    sizes = [heading for heading in cells if heading.startswith(("size", "gzipped")) and set(cells[heading]) != {"–"}]
    cells = {heading: cells[heading] for heading in ("variant", *sizes, *shown)}
    table = Table(
        title=f"What compression forgets, {_members(audit)}",
        caption="\n".join(audit.notes) or None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,  # the box leaves a space between columns
    )
    for i, heading in enumerate(cells):
        table.add_column(
            heading.replace(", ", "\n"), justify="right" if i else "left", no_wrap=i > 0, min_width=None if i else 10
        )
    families = list(audit.table["family"])
    for i, row in enumerate(zip(*cells.values(), strict=True)):
        ends = i + 1 < len(families) and families[i + 1] != families[i]
        table.add_row(*(Text(cell) for cell in row), end_section=ends)
    return table


def html_table(audit: Summary) -> Markup:
    """The table as HTML: figures right-aligned by the style sheet, headings with their meaning, one row per variant."""
    shown = columns(audit)
    head = Markup("").join(
        Markup('<th scope="col"><abbr title="{}">{}</abbr></th>').format(column.meaning, column.heading)
        for column in shown
    )
    body = Markup("")
    for variant, (name, *cells) in zip(
        audit.table["variant"], zip(*(column.cells for column in shown), strict=True), strict=True
    ):
        link = Markup('<a href="#{}">{}</a>').format(variant, name) if variant in audit.exemplars else escape(name)
        body += Markup('<tr><th scope="row">{}</th>{}</tr>\n').format(
            link, Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
        )
    return Markup('<table class="figures"><thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>').format(head, body)


def _p(p: float) -> str:
    if pd.isna(p):
        return "–"
    return format(p, ".3f") if p >= 0.001 else "<.001"


def _members(audit: Summary) -> str:
    counts = sorted(set(audit.table["members"]))
    return f"{'–'.join(map(str, {counts[0]: 0, counts[-1]: 0}))} member{'s' * (counts[-1] > 1)} per variant"


def _unit(largest: float) -> tuple[str, float]:
    """The unit in which the largest size is a number below a thousand, and what bytes are multiplied with to get it."""
    power = 0 if pd.isna(largest) or largest < 1 else min(int(math.log10(largest)) // 3, 3)
    return ("B", "kB", "MB", "GB")[power], 1000.0**-power
