"""The section of a report that compares remedies with their controls."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.extensions.remedies.declaration import REMEDIES
from tfaudit.extensions.remedies.study_remedies import study_remedies
from tfaudit.outlets.sections.audit import Shown, section_of
from tfaudit.outlets.sections.section import Section


def remedies_section(study_audit: StudyAudit) -> Section | None:
    """Return the comparison over all variants; None if no variant has a remedy and a control."""
    result = study_remedies(study_audit.data)
    return None if result is None else section_of(REMEDIES, [Shown(result)])
