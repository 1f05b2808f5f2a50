"""Candidates from which `tfaudit compress` chose the file; by hand: they come from a search, not an audit."""

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.renderer import can_draw
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.sections.section import Figure, Section

SHOWN = (
    "title",
    "chosen",
    "outcome",
    "judged",
    "judged_examples",
    "bytes",
    "size_ratio",
    "latency_1_ms",
    "top1",
    "change_pp",
    "change_low_pp",
    "change_high_pp",
    "worst_class",
    "worst_before",
    "worst_after",
)


def _figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    from tfaudit.audits.gate.candidates_chart import candidates_chart

    description = "Size of every candidate, and the change of its worst class, with intervals."
    return (Figure("candidates", candidates_chart(table, None), description),)


def candidates_section(study_audit: StudyAudit) -> Section | None:
    """Return the candidates of the search that wrote the study, or None if the study is not from a search."""
    table = study_audit.data.store.table("candidates")
    if table is None:
        return None
    tried = table[table["bytes"].notna()]
    titles = table.loc[table["chosen"], "title"]
    left_out = len(table) - len(tried)
    reasons = f"Why, and {left_out} that were left out" if left_out else "Why"
    return Section(
        "candidates",
        "Candidates",
        "Which files were tried, and which was chosen?",
        "",
        _figures(table) if can_draw() else (),
        (
            Grid.of("Tried, the smallest first", tried, SHOWN, "candidates"),
            Grid.of(reasons, table, ("title", "outcome", "reason"), "candidates", folded=True),
        ),
        (
            "This section is measured on the selection part, all other sections on the examples that judged the file.",
        ),
        findings=(f"{titles.iloc[0]} was chosen.",),
        method="All examples judge plain files, but for those that calibrate int8; other files are judged on the "
        "held-out part if they pass on the selection part. Both are judged from the largest down to the first that "
        "does not pass.",
    )
