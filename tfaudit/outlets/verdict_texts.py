"""Texts of a verdict that the terminal and Markdown share."""

from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.verdict.study_verdict import StudyVerdict


def data_text(verdict: Verdict) -> str:
    """Return the data behind a verdict: the number of examples, and the number of members if there are several."""
    before, after = verdict.members
    members = f", {before} and {after} members" if max(before, after) > 1 else ""
    return f"{verdict.examples:,} {verdict.examples_are}{members}"


def retraining_in_words(verdict: StudyVerdict) -> str:
    """Return how many predictions change when the baseline is trained again; empty for single models."""
    known = verdict.table.dropna(subset=["retrained_share"])
    if known.empty:
        return ""
    share, examples = known.iloc[0][["retrained_share", "examples"]]
    return f"Training the baseline again changes {share * examples:,.0f} of {examples:,.0f} predictions."


def check_headings(verdict: Verdict) -> tuple[str, ...]:
    """Return the headings of the table of checks; the first column holds their outcomes."""
    return ("", "check", "measured", f"{verdict.level} interval", "limit")


def check_rows(verdict: Verdict) -> list[tuple[str, ...]]:
    """Return outcome, title, value, interval and limit of every check, the gravest first."""
    shown = ["outcome", "title", "measured", "interval", "allowed"]
    return [*verdict.labelled_frame()[shown].itertuples(index=False, name=None)]
