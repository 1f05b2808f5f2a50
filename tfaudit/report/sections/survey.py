"""What people saw in the exemplars."""

from __future__ import annotations

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.survey.survey import survey
from tfaudit.ratings.answers import open_answers
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["survey_section"]


def survey_section(study_audit: StudyAudit) -> Section | None:
    """The human study, where answers were brought along; else the last one that raters have begun in the viewer."""
    answers, notes = (study_audit.data.answers, ()) if study_audit.data.answers is not None else _stored(study_audit)
    if answers is None:
        return None
    found = survey(answers, alpha=study_audit.data.alpha)
    frame = found.frame()
    return Section(
        "survey",
        "Human study",
        "What raters who did not know which images are PIEs saw in them and in the others, and how far raters agree.",
        "[F] 3.2 and C [K]",
        (Figure("survey", found.chart(), "Share of PIEs and of other images to which raters answered yes."),),
        (
            Table(
                "Answers",
                (
                    column(frame, "attribute", "attribute"),
                    column(frame, "share_pie", "of PIEs, %", ".1f", scale=100),
                    column(frame, "share_non_pie", "of others, %", ".1f", scale=100),
                    column(frame, "ratio", "ratio", ".2f"),
                    column(frame, "p", "p", ".2g", meaning="Fisher's exact test"),
                    column(frame, "p_holm", "p, Holm", ".2g"),
                    column(frame, "kappa", "kappa", ".2f", meaning="Fleiss', agreement of the raters beyond chance"),
                ),
            ),
        ),
        (*notes, *found.notes),
    )


def _stored(study_audit: StudyAudit) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
    """The answers, and which study they are of."""
    stored = open_answers(study_audit.data.store.directory)
    studies = (
        stored.studies(study_audit.data.split, study_audit.data.fingerprints.examples)
        .query("raters > 0")
        .to_dict("records")
    )
    if not studies:
        return None, ()
    shown = studies[-1]
    more = f"; the last of {len(studies)} studies" if len(studies) > 1 else ""
    title = study_audit.data.study.titles.get(shown["variant"], shown["variant"])
    return stored.answers(shown["study"]), (f"The images are of {title}, {shown['images']} of them{more}.",)
