"""The pruned variants of a study that the regressions are about."""

from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.study_data import StudyData

SPARSITIES = 3
"""Sparsities that the regressions need: their model has a linear and an exponential term."""


def pruned_keys(data: StudyData) -> tuple[str, ...]:
    """Return the keys of the pruned variants if they have three sparsities or more; otherwise none."""
    variants = pruned_variants(data)
    sparsities = {variant.level for variant in variants.values()}
    return tuple(variants) if len(sparsities) >= SPARSITIES else ()
