"""The human study: attributes that raters saw in the exemplars."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.extensions.survey.declaration import SURVEY
from tfaudit.extensions.survey.survey import survey
from tfaudit.outlets.sections.audit import Shown, section_of
from tfaudit.outlets.sections.section import Section


def survey_section(study_audit: StudyAudit) -> Section | None:
    """Return the analysis of the answers that the study was opened with, if any."""
    data = study_audit.data
    if data.answers is None:
        return None
    return section_of(SURVEY, [Shown(survey(data.answers, alpha=data.alpha))])
