"""Texts of a verdict that the terminal and Markdown share."""

import math

from tfaudit.audits.gate.gate import Verdict


def data_text(verdict: Verdict) -> str:
    """Return the data behind a verdict: the number of images, and the number of members if there are several."""
    before, after = verdict.members
    members = f", {before} and {after} members" if max(before, after) > 1 else ""
    return f"{verdict.examples:,} images{members}"


def check_headings(verdict: Verdict) -> tuple[str, ...]:
    """Return the headings of the table of checks; the first column holds their outcomes."""
    return ("", "check", "measured", f"{verdict.level} interval", "limit")


def check_rows(verdict: Verdict) -> list[tuple[str, ...]]:
    """Return outcome, title, value, interval and limit of every check, the gravest first."""
    rows: list[tuple[str, ...]] = []
    for row in verdict.labelled_frame().to_dict("records"):
        interval = "" if math.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}"
        rows.append((row["outcome"], row["title"], row["measured"], interval, row["allowed"]))
    return rows
