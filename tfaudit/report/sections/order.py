"""Which sections a report has beyond the main table, in their order."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from tfaudit.audit.summary import Summary
from tfaudit.report.sections.chance import chance_section
from tfaudit.report.sections.costs import costs_section
from tfaudit.report.sections.distortion import distortion_section
from tfaudit.report.sections.factors import factors_section
from tfaudit.report.sections.groups import attributes_section, groups_section
from tfaudit.report.sections.material import Material
from tfaudit.report.sections.operating_points import operating_points_section
from tfaudit.report.sections.pairs import pairs_section
from tfaudit.report.sections.properties import properties_section
from tfaudit.report.sections.robustness import robustness_section
from tfaudit.report.sections.section import Section
from tfaudit.report.sections.survey import survey_section
from tfaudit.store import Store

__all__ = ["SECTIONS", "study_sections"]

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
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


def study_sections(
    store: Store,
    audit: Summary,
    *,
    split: str = "test",
    groups: pd.DataFrame | None = None,
    answers: pd.DataFrame | None = None,
) -> tuple[Section, ...]:
    """All sections that the data allows.

    Args:
        store: of the study.
        audit: what `read_study` gave for this split.
        split: whose predictions to report.
        groups: further columns, N rows in the order of the study's examples.
        answers: of a human study, as `tfaudit.survey` takes them.

    Raises:
        InputError: damaged files, or groups and answers that do not fit the study.
    """
    stored = store.examples(split, images=False)
    stored = stored[stored.attrs["groups"]]
    known = stored if groups is None else pd.concat([stored, groups.set_axis(stored.index)], axis=1)
    material = Material(store, audit, split, known, answers)
    return tuple(section for make in SECTIONS if (section := make(material)) is not None)
