"""The image that compression loses to corruption first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tfaudit.analysis.study_audit import Material
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audit.corruption.robustness import Robustness
from tfaudit.report.image_strip import Strip, image_strip

__all__ = ["strip"]

LANES = 4
"""Corruptions that are shown at most: those under which the image is lost most often."""


def strip(material: Material, found: Mapping[str, Robustness]) -> Strip | None:
    """The image that compression loses to corruption most often while the baseline still holds it.

    It is right when clean by the modes of the baseline and of the compressed population, counted over the variants and
    the computed conditions. The pictures are corrupted anew from the stored one, as they were for the models.

    Args:
        material: of the report.
        found: results by variant.

    Returns:
        None where no image is lost so, or none is stored.
    """
    keys = (BASELINE, *found)
    evaluated = [material.conditions, *(material.inputs.evaluations[key] for key in keys)]
    made = material.keep("strip", tuple[Strip, ...], lambda: tuple(_strips(material, found)), of=keys, by=evaluated)
    return made[0] if made else None


def _strips(material: Material, found: Mapping[str, Robustness]) -> Iterator[Strip]:
    """One, or none."""
    computed = dict.fromkeys(condition.corruption for condition in material.conditions if condition.is_computed)
    totals = {name: np.sum([each.lost_first[name] for each in found.values()], axis=0, dtype=int) for name in computed}
    if not totals:
        return
    position = int(np.argmax(sum(totals.values())))
    lost = {corruption: int(counts[position]) for corruption, counts in totals.items() if counts[position]}
    if not lost or not material.store.images(material.split, [position])[0]:
        return
    shown = sorted(lost, key=lambda corruption: -lost[corruption])[:LANES]
    says = _says(material, position, len(lost) - len(shown))
    yield image_strip(material, position, shown, [BASELINE, *found], says=says)


def _says(material: Material, position: int, more: int) -> str:
    examples = material.store.examples(material.split, images=False, groups=False)
    example, label = examples["example"].iloc[position], examples["label"].iloc[position]
    kind = "modal answers with their share of the votes" if len(material.inputs.members[BASELINE]) > 1 else "answers"
    sentence = (
        f"Image {example}, of class {examples.attrs['class_names'][label]}: right when clean, and the one that "
        "compressed models lose to corruption most often while the baseline still holds it. Below the pictures stand "
        f"the {kind}."
    )
    if more:
        sentence += f" {more} more corruption{'s' * (more > 1)} part{'s' * (more == 1)} the models on it."
    return sentence
