"""What chance alone would give."""

from __future__ import annotations

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["chance_section"]


def chance_section(study_audit: StudyAudit) -> Section | None:
    """The permutation tests of the numbers of PIEs and of significant classes."""
    found = study_audit.summary.chances
    if not found:
        return None
    rows = pd.concat([each.frame().assign(title=study_audit.data.titles[key]) for key, each in found.items()])
    rows["kind"] = rows["exact"].map({True: "all", False: "random"})
    return Section(
        "chance",
        "What chance gives",
        "How many PIEs and significant classes two populations would show if compression did nothing: the members are "
        "reassigned to two groups at random (within pairs, where one is made from the other) and all is counted anew.",
        "[PS]",
        tuple(
            Figure(
                f"chance-{key}",
                each.chart(),
                "Histogram of the counts by chance, with the observed count.",
                study_audit.data.titles[key],
            )
            for key, each in found.items()
            if len(each.distribution()) > len(each.frame())  # else each count has one value: nothing to draw
        ),
        (
            Table(
                "Counts by chance",
                (
                    column(rows, "title", "variant"),
                    column(rows, "count", "count of"),
                    column(rows, "observed", "found", ",d"),
                    column(rows, "expected", "by chance", ",.1f"),
                    column(rows, "low", "from", ",.0f", meaning="lower end of the central 95 % by chance"),
                    column(rows, "high", "to", ",.0f", meaning="upper end"),
                    column(rows, "p", "p", ".2g"),
                    column(rows, "permutations", "assignments", ",d"),
                    column(rows, "kind", "of them", meaning="all there are, or random ones"),
                ),
                folded=True,
            ),
        ),
        tuple(dict.fromkeys(note for each in found.values() for note in each.notes)),
    )
