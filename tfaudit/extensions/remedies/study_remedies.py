"""The comparison of remedies with their controls, over all variants of a study at once."""

import dataclasses
from collections.abc import Mapping

from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.extensions.remedies.declaration import REMEDIES
from tfaudit.extensions.remedies.remedies import Remedies, Trio, remedies
from tfaudit.study.variants import Quantized, Remedied


def remedied(data: StudyData) -> Mapping[str, Remedied]:
    """Return the variants with a remedy whose control has members, too, by key."""
    variants = {key: data.study.variant(key) for key in data.compressed_keys}
    return {
        key: variant
        for key, variant in variants.items()
        if isinstance(variant, Remedied)
        and variant.remedies
        and variant.control.key in data.compressed_keys
    }


def study_remedies(data: StudyData) -> Remedies | None:
    """Return the comparison, corrected over all variants; None if none has a remedy and a control."""
    variants = remedied(data)
    trios: dict[str, Trio] = {
        data.titles[key]: (
            data.baseline,
            data.populations[variant.control.key],
            data.populations[key],
        )
        for key, variant in variants.items()
    }
    if not trios:
        return None
    result = remedies(trios, alpha=data.alpha)
    notes = [
        f"{data.titles[key]}: the control is quantized without further training."
        for key, variant in variants.items()
        if isinstance(variant, Quantized)
    ]
    return dataclasses.replace(result, notes=(*result.notes, *notes))


STUDY_REMEDIES = JointAudit(
    compute=lambda study_audit, limits: study_remedies(study_audit.data),
    shown=REMEDIES,
    applies=remedied,
)
