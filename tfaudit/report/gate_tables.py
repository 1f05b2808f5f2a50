"""A verdict for the terminal: every check, failures first, and the classes that do not pass."""

import math

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tfaudit.audit.gate.checks import CANNOT_JUDGE, FAIL, OUTCOMES, PASS
from tfaudit.audit.gate.gate import Verdict

SHOWN = 10  # classes printed per variant

_STYLES = {FAIL: "bold red", CANNOT_JUDGE: "bold yellow", PASS: "green"}
_MARKS = {FAIL: "FAIL", CANNOT_JUDGE: "CANNOT JUDGE", PASS: "pass"}


def verdict_table(name: str, verdict: Verdict) -> RenderableType:
    """Return the checks of one variant, the sentences of those that do not pass, and the ten worst classes.

    In the table of classes, `at least` is the lower end of the interval that holds for all classes at once.

    Args:
        name: of the variant.
        verdict: of the variant.
    """
    head = Text.assemble((printable(name), "bold"), ": ", (_MARKS[verdict.outcome], _STYLES[verdict.outcome]))
    parts: list[RenderableType] = [head, _checks(verdict)]
    failing = [row for row in verdict.frame().to_dict("records") if row["outcome"] != PASS]
    if failing:
        parts += [Text(), *(Text(f"- {printable(row['sentence'])}") for row in failing)]
    if any(row["check"] == "worst_class_drop_pp" for row in failing):
        parts += [Text(), _classes(verdict)]
    return Group(*parts)


def printable(text: str) -> str:
    """Replace characters that would control a terminal.

    Example:
        >>> printable("cat" + chr(27) + "[31m")
        'cat?[31m'
    """
    return "".join(character if character.isprintable() else "?" for character in text)


def _checks(verdict: Verdict) -> Table:
    table = _table("", "check", "measured", f"{100 * (1 - verdict.alpha):g} % interval", "limit")
    for row in verdict.labelled_frame().to_dict("records"):
        interval = "" if math.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"
        mark = Text(_MARKS[row["outcome"]], style=_STYLES[row["outcome"]])
        table.add_row(mark, row["title"], row["measured"], interval, row["allowed"])
    return table


def _classes(verdict: Verdict) -> Table:
    rows = verdict.classes[verdict.classes["outcome"] != PASS]
    gravity = rows["outcome"].map(OUTCOMES.index)
    order = rows.assign(gravity=gravity, rise=-rows["drop_pp"]).sort_values(["gravity", "rise"], kind="stable")
    table = _table("", "class", "examples", "loss, pp", "interval", "at least")
    for row in order.head(SHOWN).to_dict("records"):
        unknown = math.isnan(row["drop_pp"])
        table.add_row(
            Text("FAIL" if row["outcome"] == FAIL else "?", style=_STYLES[row["outcome"]]),
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
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), caption_justify="left")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i > 1 else "left", no_wrap=True, overflow="ellipsis", max_width=24)
    return table
