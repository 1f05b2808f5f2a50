"""Sections of the audits of all variants side by side."""

from tfaudit.analysis.across_variants import ACROSS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.sections.section import Figure, ReportTable, Section

ROWS = 40  # longer tables are folded


def across_sections(study_audit: StudyAudit) -> tuple[Section, ...]:
    """Return a section per row of `ACROSS` that the study allows: chart, table, further tables folded."""
    sections = []
    for name, audit in ACROSS.items():
        result = audit.compute(study_audit)
        if result is None:
            continue
        frame = result.frame()
        tables = [ReportTable.declared("Table", audit.shown.table, frame, folded=len(frame) > ROWS)]
        further = result.tables()
        tables += [
            ReportTable.of(title, rows, table=name, folded=True) for title, rows in further.items()
        ]
        figure = Figure(
            f"across-{name}", result.chart(), f"{audit.shown.title}: {audit.shown.question}"
        )
        sections.append(Section.of(audit.shown, (figure,), tuple(tables), result.notes))
    return tuple(sections)
