"""Which sections a report has beyond the main table, in their order."""

from __future__ import annotations

from collections.abc import Callable

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.report.sections.chance import chance_section
from tfaudit.report.sections.costs import costs_section
from tfaudit.report.sections.distortion import distortion_section
from tfaudit.report.sections.factors import factors_section
from tfaudit.report.sections.groups import attributes_section, groups_section
from tfaudit.report.sections.operating_points import operating_points_section
from tfaudit.report.sections.pairs import pairs_section
from tfaudit.report.sections.properties import properties_section
from tfaudit.report.sections.robustness import robustness_section
from tfaudit.report.sections.section import Section
from tfaudit.report.sections.survey import survey_section

__all__ = ["SECTIONS", "study_sections"]

SECTIONS: tuple[Callable[[StudyAudit], Section | None], ...] = (
    pairs_section,
    chance_section,
    distortion_section,
    groups_section,
    attributes_section,
    properties_section,
    robustness_section,
    costs_section,
    operating_points_section,
    factors_section,
    survey_section,
)
"""Each makes its section, or None where the study holds no data for it."""


def study_sections(study_audit: StudyAudit) -> tuple[Section, ...]:
    """All sections that the data allows.

    Raises:
        InputError: damaged files, or groups and answers that do not fit the study.
    """
    return tuple(section for make in SECTIONS if (section := make(study_audit)) is not None)
