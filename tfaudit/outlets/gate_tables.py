"""Verdicts for the terminal: a study's first screen; and one variant's checks and the classes that do not pass."""

import math
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tfaudit.audits.gate.checks import FAIL, OUTCOMES, PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.errors import printable
from tfaudit.outlets.outcome_marks import MARKS

SHOWN = 10  # classes printed per variant
VARIANT = 24  # letters of a line of its name at most


def outcome_mark(outcome: str) -> Text:
    """Return how the terminal shows an outcome of the gate.

    >>> outcome_mark("fail").plain
    'FAIL'
    """
    return MARKS[outcome].in_terminal()


def verdict_table(name: str, verdict: Verdict) -> RenderableType:
    """Return the checks of one variant, the sentences of those that do not pass, and the ten worst classes.

    In the table of classes, `at least` is the lower end of the interval that holds for all classes at once.

    Args:
        name: of the variant.
        verdict: of the variant.
    """
    before, after = verdict.members
    data = f", {verdict.examples:,} images" + f", {before} and {after} members" * (
        max(before, after) > 1
    )
    head = Text.assemble((printable(name), "bold"), ": ", outcome_mark(verdict.outcome), data)
    parts: list[RenderableType] = [head, _checks(verdict)]
    failing = [row for row in verdict.frame().to_dict("records") if row["outcome"] != PASS]
    if failing:
        parts += [Text(), *(Text(f"- {printable(row['sentence'])}") for row in failing)]
    if any(row["check"] == "worst_class_drop_pp" for row in failing):
        parts += [Text(), _classes(verdict)]
    return Group(*parts)


def first_screen(verdict: StudyVerdict) -> RenderableType:
    """Return the headline, the alerts, one row per variant, and why those that do not pass do not.

    The variant to ship is marked by an asterisk. Changes are after minus before, with their interval.
    """
    frame = verdict.frame()
    sized = bool(frame["size_ratio"].notna().any())
    parts: list[RenderableType] = [Text(printable(verdict.headline), "bold"), Text()]
    parts += [Text(printable(alert), "red") for alert in verdict.alerts] + [Text()] * bool(
        verdict.alerts
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    words = [len(word) for title in frame["title"] for word in str(title).split()]
    table.add_column(
        "variant",
        min_width=min(max(words, default=10), VARIANT),
        max_width=VARIANT,
        overflow="fold",
    )
    table.add_column("verdict", max_width=7)
    table.add_column("top-1\n%", justify="right", no_wrap=True)
    table.add_column(
        f"change, pp\n({100 * (1 - verdict.alpha):g} %)", justify="right", no_wrap=True
    )
    table.add_column("worst\nclass", max_width=24, overflow="fold")
    table.add_column("its recall\n%", no_wrap=True)
    table.add_column("changed\n%", justify="right", no_wrap=True)
    if sized:
        table.add_column("size\n%", justify="right", no_wrap=True)
    for row in frame.to_dict("records"):
        mark = outcome_mark(row["outcome"])
        size = "" if math.isnan(row["size_ratio"]) else f"{100 * row['size_ratio']:.0f}"
        cells = [Text(cell) for cell in (*_figures(row), *[size] * sized)]
        table.add_row(Text(printable(row["title"]) + " *" * row["best"]), mark, *cells)
    parts.append(table)
    if verdict.best is not None:
        parts.append(Text("* the most compressed that passes"))
    parts.append(Text(f"Limits: {verdict.limits.in_words()}.\n"))
    for row in frame[frame["outcome"] != PASS].to_dict("records"):
        parts.append(Text(f"- {printable(row['title'])}: {printable(row['reason'])}"))
    return Group(*parts, Text())


def _figures(row: Mapping[Any, Any]) -> list[str]:
    """Return top-1, change, worst class, its recalls, and changed predictions; blank where they are unknown."""
    if math.isnan(row["top1"]):
        return [""] * 5
    change = f"{row['change_pp']:+.1f} ({row['change_low_pp']:+.1f}, {row['change_high_pp']:+.1f})"
    recalls = f"{100 * row['worst_before']:.1f} → {100 * row['worst_after']:.1f}"
    figures = [f"{100 * row['top1']:.1f}", change, printable(str(row["worst_class"])), recalls]
    return [*figures, f"{100 * row['changed_share']:.1f}"]


def _checks(verdict: Verdict) -> Table:
    table = _table("", "check", "measured", f"{100 * (1 - verdict.alpha):g} % interval", "limit")
    for row in verdict.labelled_frame().to_dict("records"):
        interval = "" if math.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"
        mark = outcome_mark(row["outcome"])
        table.add_row(mark, row["title"], row["measured"], interval, row["allowed"])
    return table


def _classes(verdict: Verdict) -> Table:
    rows = verdict.classes[verdict.classes["outcome"] != PASS]
    gravity = rows["outcome"].map(OUTCOMES.index)
    order = rows.assign(gravity=gravity, rise=-rows["drop_pp"]).sort_values(
        ["gravity", "rise"], kind="stable"
    )
    table = _table("", "class", "examples", "loss, pp", "interval", "at least")
    for row in order.head(SHOWN).to_dict("records"):
        unknown = math.isnan(row["drop_pp"])
        table.add_row(
            MARKS[row["outcome"]].in_terminal("" if row["outcome"] == FAIL else "?"),
            Text(printable(row["class"])),
            f"{row['examples']:,}",
            "unknown" if unknown else f"{row['drop_pp']:.2f}",
            "" if unknown else f"{row['low_pp']:.1f} to {row['high_pp']:.1f}",
            "" if unknown else f"{row['sure_low_pp']:.1f}",
        )
    if len(order) > SHOWN:
        table.caption = f"and {len(order) - SHOWN} more"
    return table


def _table(*headings: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), caption_justify="left"
    )
    for i, heading in enumerate(headings):
        table.add_column(
            heading,
            justify="right" if i > 1 else "left",
            no_wrap=True,
            overflow="ellipsis",
            max_width=24,
        )
    return table
