"""The human study of a study: attributes that raters saw in the exemplars."""

from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.extensions.survey.declaration import SURVEY
from tfaudit.extensions.survey.survey import Survey, survey


def study_survey(study_audit: StudyAudit, limits: Limits) -> Survey | None:
    """Return the analysis of the answers that the study was opened with, if any."""
    data = study_audit.data
    return None if data.answers is None else survey(data.answers, alpha=data.alpha)


STUDY_SURVEY = JointAudit(
    compute=study_survey, shown=SURVEY, applies=lambda data: data.answers is not None
)
