"""The sections of a report after its main table, in order."""

import itertools
from collections.abc import Iterable, Mapping

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import JOINT_AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.outlets.sections.audit import audit_section, joint_section
from tfaudit.outlets.sections.section import Section

METHODS = "Methods"
"""Part of the sections that only a reader of the papers looks for; audits without a part of their own join it."""

REPORT_PARTS: Mapping[str, tuple[str, ...]] = {
    "Who pays": (
        "model_pair",
        "groups",
    ),
    "Which examples": (
        "negative_flips",
        "attributes",
    ),
    "In use": ("robustness",),
    METHODS: ("chance",),
}
"""Parts of a report after its verdict, and the audits of each in order."""


OF_THE_PAGE = ("classes",)
"""Audits that the page of a report shows itself, since the rows of its first table lead to them."""


def in_parts(sections: Iterable[Section]) -> dict[str, list[Section]]:
    """Return sections by the title of their part of the report; every part is there, with or without sections."""
    part_of = {
        name.replace("_", "-"): title for title, names in REPORT_PARTS.items() for name in names
    }
    parts: dict[str, list[Section]] = {title: [] for title in REPORT_PARTS}
    for section in sections:
        parts.setdefault(part_of.get(section.key, section.part), []).append(section)
    return parts


def study_sections(study_audit: StudyAudit, limits: Limits = DEFAULT_LIMITS) -> tuple[Section, ...]:
    """Return all sections that the data allow, in the order of `REPORT_PARTS`; those of extensions come last.

    Operating points must pass the limits of the gate.

    Raises:
        InputError: damaged files, or groups or answers that do not match the study.
    """
    shown = (name for name, audit in AUDITS.items() if audit.shown and name not in OF_THE_PAGE)
    placed = itertools.chain(*REPORT_PARTS.values())
    sections = (
        joint_section(study_audit, limits, name)
        if name in JOINT_AUDITS
        else audit_section(study_audit, name)
        for name in dict.fromkeys((*placed, *shown, *JOINT_AUDITS))
    )
    return tuple(section for section in sections if section is not None)
