"""Sections of a report by key, and cells of their tables by heading."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.sections.order import study_sections


def sections_of(store, **options):
    """Return the sections of a study; options are those of `StudyAudit.read`."""
    return {
        section.key: section
        for section in study_sections(StudyAudit.read(store, permutations=50, **options))
    }


def cells(table):
    """Return the cells of a `Grid` by heading."""
    return {column.heading: column.cells for column in table.columns}
