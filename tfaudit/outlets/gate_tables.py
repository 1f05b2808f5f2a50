"""Verdicts for the terminal: the first screen of a study, and the checks and failing classes of one variant."""

import dataclasses
import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tfaudit.analysis.recommendation import Recommendation
from tfaudit.audits.gate.checks import FAIL, OUTCOMES, PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.errors import printable
from tfaudit.outlets.columns import Column, verdict_columns
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.outcome_marks import MARKS
from tfaudit.outlets.verdict_texts import (
    checks_grid,
    data_text,
    retraining_in_words,
    variants_grid,
)

SHOWN = 10  # classes printed per variant
VARIANT = 24  # letters in a line of its name, at most


def verdict_table(name: str, verdict: Verdict) -> RenderableType:
    """Return the checks of one variant, the sentences of those that do not pass, and the ten worst classes and groups.

    If there are doubts, return these alone.

    In the tables, `at least` is the lower end of the interval that holds for all of them at once.

    Args:
        name: name of the variant.
        verdict: verdict on the variant.
    """
    mark = MARKS[verdict.outcome].in_terminal()
    if verdict.doubts:
        reasons = " ".join(printable(doubt.sentence) for doubt in verdict.doubts)
        return Text.assemble((printable(name), "bold"), ": ", mark, ". ", reasons)
    head = Text.assemble((printable(name), "bold"), ": ", mark, ", ", data_text(verdict))
    parts: list[RenderableType] = [head, checks_grid(verdict).in_terminal(most=VARIANT, gap=2)]
    failing = [row for row in verdict.frame().to_dict("records") if row["outcome"] != PASS]
    if failing:
        parts += [Text(), *(Text(f"- {printable(row['sentence'])}") for row in failing)]
    undecided = {row["check"] for row in failing}
    if "worst_class_drop_pp" in undecided:
        parts += [Text(), _worst(verdict.classes, "class", "recall")]
    if "group_drop_pp" in undecided:
        parts += [Text(), _worst(verdict.groups, "group", verdict.score)]
    return Group(*parts)


def first_screen(verdict: StudyVerdict, advice: Recommendation | None = None) -> RenderableType:
    """Return the headline, the alerts, the advice, one row per variant, and the reasons why others do not pass.

    An asterisk marks the variant to ship. Changes are after minus before, with their interval.
    """
    frame = pd.DataFrame(verdict.rows)
    parts: list[RenderableType] = [Text(printable(verdict.headline), "bold"), Text()]
    if verdict.alerts:
        parts += [*(Text(printable(alert), "red") for alert in verdict.alerts), Text()]
    if advice:
        *lines, command = advice.text.splitlines()
        parts += [Text(printable(line)) for line in lines]
        # In one line, however long, to be copied.
        parts += [Text(printable(command), no_wrap=True, overflow="ignore"), Text()]
    unknown = [] if frame["size_ratio"].notna().any() else ["size_ratio"]
    columns = verdict_columns("reason", *unknown, sizes=verdict.sizes)
    # Eighty columns have no room for numbers of changes, which a line below compares.
    columns["changed_share"] = dataclasses.replace(columns["changed_share"], cell=None)
    parts.append(variants_table(frame, frame["best"], columns))
    if verdict.best is not None:
        parts.append(Text(f"* recommended: {verdict.rule}"))
    parts.append(Text(f"In brackets: {verdict.level} intervals."))
    if again := retraining_in_words(verdict):
        parts.append(Text(again))
    parts.append(Text(f"Limits: {verdict.limits.in_words()}.\n"))
    unlisted = (frame["outcome"] == PASS) | (frame["variant"] == (advice and advice.variant))
    for row in frame[~unlisted].to_dict("records"):
        parts.append(Text(printable(f"- {row['title']}: {row['reason']}")))
    return Group(*parts, Text())


def variants_table(frame: pd.DataFrame, marked: pd.Series, columns: Mapping[str, Column]) -> Table:
    """Return one row per variant: its title, with an asterisk if it is marked, its outcome, and some columns.

    Args:
        frame: data frame with the columns `title` and `outcome`, and those in `columns`.
        marked: whether each row is marked.
        columns: columns to show after the outcome, by name.
    """
    words = [len(word) for title in frame["title"] for word in str(title).split()]
    width = min(max(words, default=10), VARIANT)
    table = variants_grid(frame.to_dict("records"), marked, columns).in_terminal(
        least=width, most=VARIANT
    )
    table.columns[1].max_width = 7
    for column in table.columns:
        column.header = str(column.header).replace(", ", "\n")
    return table


def _worst(frame: pd.DataFrame, noun: str, score: str) -> Table:
    """Return the classes or groups that do not pass, the gravest first; classes have a precision, too."""
    rows = frame[frame["outcome"] != PASS]
    gravity = rows["outcome"].map(OUTCOMES.index)
    order = np.lexsort([-rows["drop_pp"], gravity])
    shown = []
    for row in rows.iloc[order[:SHOWN]].to_dict("records"):
        known = not math.isnan(row["drop_pp"])
        loss = [_with_interval(row, ""), f"{row['sure_low_pp']:.1f}" if known else ""]
        if noun == "class":
            loss.append(_with_interval(row, "precision_"))
        mark = MARKS[row["outcome"]].in_terminal("" if row["outcome"] == FAIL else "?")
        shown.append([mark, row[noun], f"{row['examples']:,}", *loss])
    precision = ["precision lost, pp"] * (noun == "class")
    headings = ("", noun, "examples", f"{score} lost, pp", "at least", *precision)
    table = Grid.of_rows(headings, shown, words=2).in_terminal(most=VARIANT, gap=2)
    if len(rows) > SHOWN:
        table.caption = f"and {len(rows) - SHOWN} more"
    return table


def _with_interval(row: Mapping[Hashable, Any], prefix: str) -> str:
    """Return a loss with its interval."""
    loss, low, high = (row[f"{prefix}{name}_pp"] for name in ("drop", "low", "high"))
    return "unknown" if math.isnan(loss) else f"{loss:z.2f} ({low:z.1f} to {high:z.1f})"
