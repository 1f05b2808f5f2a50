"""Every audit that a study allows, made in the order that reads each population once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfaudit.audit.classes import CENTERINGS
from tfaudit.report.evidence import BASELINE

if TYPE_CHECKING:
    from tfaudit.report.material import Material

__all__ = ["prepare"]


def prepare(material: Material, progress: Callable[[float, str], None]) -> None:
    """Makes and keeps the audits of all variants.

    Args:
        material: of the study.
        progress: told before each variant which share is done and what comes next.
    """
    corrupted = material.corrupted_keys if material.conditions else ()
    steps = [(key, False) for key in material.titles] + [(key, True) for key in corrupted]
    for i, (key, under_corruption) in enumerate(steps):
        where = " under corruption" * under_corruption
        progress(i / len(steps), f"Auditing {material.titles[key]}{where}, {i + 1} of {len(steps)}")
        if under_corruption:
            material.robustness(key)
        else:
            _audit(material, key)
    progress(1.0, "Audited")


def _audit(material: Material, key: str) -> None:
    """Makes those that rest on the answers of one variant to the examples as they are."""
    material.tally(key)
    material.unfairness(key)
    found = material.variant(key)
    if key == BASELINE:
        return
    if found.impact:
        for centering in CENTERINGS:
            material.impact(key, centering)
    if material.shares_members(key):
        material.distortion(key)
    if material.single(key):
        material.pair(key)
    if material.group_columns:
        material.attributes(key)
        for column in material.group_columns:
            material.group_impact(key, column)
    elif material.individuals is not None:
        material.group_impact(key)
    if len(material.groups.columns):
        material.trends(key)
