"""The human study: attributes that raters saw in the exemplars."""

import dataclasses

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.survey.declaration import SURVEY
from tfaudit.audits.survey.survey import survey
from tfaudit.outlets.sections.audit import Shown, section_of
from tfaudit.outlets.sections.section import Section
from tfaudit.store.ratings.answers import open_answers


def survey_section(study_audit: StudyAudit) -> Section | None:
    """Return the analysis of the answers that were passed, else of the last study that raters began in the viewer."""
    data = study_audit.data
    answers: pd.DataFrame | None = data.answers
    notes: tuple[str, ...] = ()
    if answers is None:
        answers, notes = _stored_answers(study_audit)
    if answers is None:
        return None
    result = survey(answers, alpha=data.alpha)
    noted = dataclasses.replace(result, notes=(*notes, *result.notes))
    return section_of(SURVEY, [Shown(noted)])


def _stored_answers(study_audit: StudyAudit) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
    """Return the answers of the last study that has any, and a note that names it."""
    data = study_audit.data
    stored = open_answers(data.store.directory)
    studies = (
        stored.studies(data.split, data.fingerprints.examples)
        .query("raters > 0")
        .to_dict("records")
    )
    if not studies:
        return None, ()
    last = studies[-1]
    more = f"; the last of {len(studies)} studies" if len(studies) > 1 else ""
    title = data.study.titles.get(last["variant"], last["variant"])
    note = f"The images are of {title}, {last['images']} of them{more}."
    return stored.answers(last["study"]), (note,)
