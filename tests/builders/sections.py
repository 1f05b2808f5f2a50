"""Sections of a report, by key, and their tables, by heading."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.report.sections.order import study_sections


def sections_of(store, **brought):
    return {section.key: section for section in study_sections(StudyAudit.read(store, permutations=50, **brought))}


def cells(table):
    return {one.heading: one.cells for one in table.columns}
