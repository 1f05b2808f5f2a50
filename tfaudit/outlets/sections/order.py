"""The sections of a report after its main table, in order."""

import functools
from collections.abc import Callable, Mapping

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.outlets.sections.across import across_sections
from tfaudit.outlets.sections.attributes import attributes_section
from tfaudit.outlets.sections.audit import audit_section
from tfaudit.outlets.sections.candidates import candidates_section
from tfaudit.outlets.sections.chance import chance_section
from tfaudit.outlets.sections.costs import costs_section
from tfaudit.outlets.sections.distortion import distortion_section
from tfaudit.outlets.sections.factors import factors_section
from tfaudit.outlets.sections.groups import groups_section
from tfaudit.outlets.sections.model_pair import model_pair_section
from tfaudit.outlets.sections.operating_points import operating_points_section
from tfaudit.outlets.sections.robustness import robustness_section
from tfaudit.outlets.sections.section import Section
from tfaudit.outlets.sections.survey import survey_section
from tfaudit.outlets.sections.trends import trends_section

SECTIONS: Mapping[str, Callable[[StudyAudit], Section | None]] = {
    make.__name__.removesuffix("_section"): make
    for make in (
        candidates_section,
        model_pair_section,
        chance_section,
        robustness_section,
        distortion_section,
        operating_points_section,
        costs_section,
        groups_section,
        attributes_section,
        trends_section,
        factors_section,
        survey_section,
    )
}
"""By name of the audit, in the order of the viewer's pages.

Each returns its section, or None where the study has no data for it.
"""


def study_sections(study_audit: StudyAudit, limits: Limits = DEFAULT_LIMITS) -> tuple[Section, ...]:
    """Return all sections that the data allow.

    Those of `SECTIONS` come first, then those of audits with a question, then those of all variants side by side. The
    limits are those of the gate, which operating points must pass.

    Raises:
        InputError: damaged files, or groups or answers that do not fit the study.
    """
    others = [name for name, audit in AUDITS.items() if audit.shown and name not in SECTIONS]
    makers = dict(SECTIONS)
    makers["operating_points"] = functools.partial(operating_points_section, limits=limits)
    sections: list[Section | None] = [make(study_audit) for make in makers.values()]
    sections += [audit_section(study_audit, name) for name in others]
    sections += across_sections(study_audit)
    return tuple(section for section in sections if section is not None)
