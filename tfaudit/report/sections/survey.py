"""What people saw in the exemplars."""

from __future__ import annotations

from tfaudit.audit.survey import survey
from tfaudit.report.material import Material
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["survey_section"]


def survey_section(material: Material) -> Section | None:
    """The human study, where answers were brought along."""
    if material.answers is None:
        return None
    found = survey(material.answers, alpha=material.alpha)
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
        found.notes,
    )
