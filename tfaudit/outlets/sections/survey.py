"""The human study: attributes that raters saw in the exemplars."""

import dataclasses

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.survey.declaration import SURVEY
from tfaudit.audits.survey.survey import survey
from tfaudit.outlets.sections.audit import Shown, section_of
from tfaudit.outlets.sections.section import Section
from tfaudit.store.ratings.answers import open_answers


def survey_section(study_audit: StudyAudit) -> Section | None:
    """Return the analysis of the given answers, or else of the last human study that raters began in the viewer."""
    data = study_audit.data
    answers = data.answers
    notes = []
    if answers is None:
        stored = open_answers(data.store.directory)
        studies = stored.studies(data.split, data.fingerprints.examples).query("raters > 0")
        if studies.empty:
            return None
        *_, last = studies.to_dict("records")
        answers = stored.answers(last["study"])
        more = f"; the last of {len(studies)} studies" if len(studies) > 1 else ""
        title = data.study.titles.get(last["variant"], last["variant"])
        notes = [f"The images are of {title}, {last['images']} of them{more}."]
    result = survey(answers, alpha=data.alpha)
    noted = dataclasses.replace(result, notes=(*notes, *result.notes))
    return section_of(SURVEY, [Shown(noted)])
