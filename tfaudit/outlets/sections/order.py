"""The sections of a report after its main table, in order."""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.chance.declaration import CHANCE
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.extensions import Registry
from tfaudit.outlets.sections.audit import Shown, audit_section, section_of
from tfaudit.outlets.sections.candidates import candidates_section
from tfaudit.outlets.sections.costs import costs_section
from tfaudit.outlets.sections.distortion import distortion_section
from tfaudit.outlets.sections.operating_points import operating_points_section
from tfaudit.outlets.sections.robustness import robustness_section
from tfaudit.outlets.sections.section import Section
from tfaudit.outlets.sections.trends import trends_section

METHODS = "Methods"
"""Part of the sections that only a reader of the papers looks for; audits without a part of their own join it."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "Who pays": (
        "model_pair",
        "groups",
        "intersections",
        "divergence",
        "distortion",
    ),
    "Which examples": (
        "negative_flips",
        "attributes",
        "trends",
    ),
    "In use": (
        "candidates",
        "operating_points",
        "costs",
        "robustness",
        "calibration",
    ),
    METHODS: ("chance",),
}
"""Parts of a report after its verdict, and the audits of each in order."""


def _chance(study_audit: StudyAudit) -> Section | None:
    """Return the permutation tests of the numbers of PIEs and of significant classes."""
    titles = study_audit.data.titles
    chances = study_audit.summary.chances
    return section_of(CHANCE, [Shown(chances[key], titles[key], key) for key in chances])


def section_makers(limits: Limits) -> Mapping[str, Callable[[StudyAudit], Section | None]]:
    """Return the functions that make the sections, by name of the audit, in the order of `PARTS`.

    Those of extensions come last.
    """
    by_hand: dict[str, Callable[[StudyAudit], Section | None]] = {
        "candidates": candidates_section,
        "chance": _chance,
        "robustness": robustness_section,
        "distortion": distortion_section,
        "operating_points": functools.partial(operating_points_section, limits=limits),
        "costs": costs_section,
        "trends": trends_section,
    }
    makers: dict[str, Callable[[StudyAudit], Section | None]] = {
        name: functools.partial(audit_section, name=name)
        for name, audit in AUDITS.items()
        if audit.shown
    }
    makers |= Registry("sections", by_hand)
    placed = itertools.chain(*PARTS.values())
    return {name: makers[name] for name in dict.fromkeys((*placed, *makers))}


def in_parts(sections: Iterable[Section]) -> dict[str, list[Section]]:
    """Return sections by the title of their part of the report; every part is there, with or without sections."""
    part_of = {name.replace("_", "-"): title for title, names in PARTS.items() for name in names}
    parts: dict[str, list[Section]] = {title: [] for title in PARTS}
    for section in sections:
        parts.setdefault(part_of.get(section.key, section.part), []).append(section)
    return parts


def study_sections(study_audit: StudyAudit, limits: Limits = DEFAULT_LIMITS) -> tuple[Section, ...]:
    """Return all sections that the data allow; operating points must pass the limits of the gate.

    Raises:
        InputError: damaged files, or groups or answers that do not match the study.
    """
    sections = [make(study_audit) for make in section_makers(limits).values()]
    return tuple(section for section in sections if section is not None)
