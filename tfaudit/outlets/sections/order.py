"""The sections of a report after its main table, in order."""

import functools
from collections.abc import Callable, Mapping

from tfaudit.analysis.across_variants import ACROSS, Across
from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.chance.declaration import CHANCE
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.outlets.sections.audit import Shown, audit_section, section_of
from tfaudit.outlets.sections.candidates import candidates_section
from tfaudit.outlets.sections.costs import costs_section
from tfaudit.outlets.sections.distortion import distortion_section
from tfaudit.outlets.sections.factors import factors_section
from tfaudit.outlets.sections.operating_points import operating_points_section
from tfaudit.outlets.sections.robustness import robustness_section
from tfaudit.outlets.sections.section import Section
from tfaudit.outlets.sections.survey import survey_section
from tfaudit.outlets.sections.trends import trends_section

FIRST = ("candidates", "model_pair", "chance", "robustness", "distortion", "operating_points")
LAST = ("costs", "groups", "attributes", "trends", "factors", "survey")


def _chance(study_audit: StudyAudit) -> Section | None:
    """Return the permutation tests of the numbers of PIEs and of significant classes."""
    titles = study_audit.data.titles
    chances = study_audit.summary.chances
    return section_of(CHANCE, [Shown(chances[key], titles[key], key) for key in chances])


def _across(audit: Across, study_audit: StudyAudit) -> Section | None:
    result = audit.compute(study_audit)
    return None if result is None else section_of(audit.shown, [Shown(result)])


def section_makers(limits: Limits) -> Mapping[str, Callable[[StudyAudit], Section | None]]:
    """Return the functions that make the sections, by name of the audit, in the order of the viewer's pages.

    Audits that have a question but no place of their own come last, then audits of all variants side by side.
    """
    by_hand: dict[str, Callable[[StudyAudit], Section | None]] = {
        "candidates": candidates_section,
        "chance": _chance,
        "robustness": robustness_section,
        "distortion": distortion_section,
        "operating_points": functools.partial(operating_points_section, limits=limits),
        "costs": costs_section,
        "trends": trends_section,
        "factors": factors_section,
        "survey": survey_section,
    }
    shown = [name for name, audit in AUDITS.items() if audit.shown]
    makers = {
        name: by_hand.get(name, functools.partial(audit_section, name=name))
        for name in dict.fromkeys((*FIRST, *LAST, *shown))
    }
    return makers | {name: functools.partial(_across, audit) for name, audit in ACROSS.items()}


def study_sections(study_audit: StudyAudit, limits: Limits = DEFAULT_LIMITS) -> tuple[Section, ...]:
    """Return all sections that the data allow; operating points must pass the limits of the gate.

    Raises:
        InputError: damaged files, or groups or answers that do not match the study.
    """
    sections = [make(study_audit) for make in section_makers(limits).values()]
    return tuple(section for section in sections if section is not None)
