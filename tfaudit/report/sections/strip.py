"""The image that compression loses to corruption first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audit.corruption.robustness import Robustness
from tfaudit.report.image_strip import Strip, image_strip

__all__ = ["strip"]

LANES = 4
"""Corruptions that are shown at most: those under which the image is lost most often."""


def strip(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> Strip | None:
    """The image that compression loses to corruption most often while the baseline still holds it.

    It is right when clean by the modes of the baseline and of the compressed population, counted over the variants and
    the computed conditions. The pictures are corrupted anew from the stored one, as they were for the models.

    Args:
        study_audit: of the report.
        found: results by variant.

    Returns:
        None where no image is lost so, or none is stored.
    """
    keys = (BASELINE, *found)
    evaluated = [study_audit.conditions, *(study_audit.inputs.evaluations[key] for key in keys)]
    made = study_audit.keep(
        "strip", tuple[Strip, ...], lambda: tuple(_strips(study_audit, found)), of=keys, by=evaluated
    )
    return made[0] if made else None


def _strips(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> Iterator[Strip]:
    """One, or none."""
    computed = dict.fromkeys(condition.corruption for condition in study_audit.conditions if condition.is_computed)
    totals = {name: np.sum([each.lost_first[name] for each in found.values()], axis=0, dtype=int) for name in computed}
    if not totals:
        return
    position = int(np.argmax(sum(totals.values())))
    lost = {corruption: int(counts[position]) for corruption, counts in totals.items() if counts[position]}
    if not lost or not study_audit.store.images(study_audit.split, [position])[0]:
        return
    shown = sorted(lost, key=lambda corruption: -lost[corruption])[:LANES]
    says = _says(study_audit, position, len(lost) - len(shown))
    yield image_strip(study_audit, position, shown, [BASELINE, *found], says=says)


def _says(study_audit: StudyAudit, position: int, more: int) -> str:
    examples = study_audit.store.examples(study_audit.split, images=False, groups=False)
    example, label = examples["example"].iloc[position], examples["label"].iloc[position]
    kind = "modal answers with their share of the votes" if len(study_audit.inputs.members[BASELINE]) > 1 else "answers"
    sentence = (
        f"Image {example}, of class {examples.attrs['class_names'][label]}: right when clean, and the one that "
        "compressed models lose to corruption most often while the baseline still holds it. Below the pictures stand "
        f"the {kind}."
    )
    if more:
        sentence += f" {more} more corruption{'s' * (more > 1)} part{'s' * (more == 1)} the models on it."
    return sentence
