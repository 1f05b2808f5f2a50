"""From a study's directory to its audit."""

from __future__ import annotations

from tfaudit.audit.summary import Summary
from tfaudit.report.material import Material
from tfaudit.store import Store

__all__ = ["read_study"]


def read_study(
    store: Store, split: str = "test", *, alpha: float = 0.05, permutations: int = 1000, seed: int = 0
) -> Summary:
    """Audits every variant that has members; the notes say what is missing.

    What is found is kept beside the study, and found there the next time.

    Args:
        store: of the study.
        split: whose predictions to read.
        alpha: level of the tests.
        permutations: how many assignments of members to count at most, for the figures by chance; 0 for none.
        seed: of random assignments.

    Raises:
        InputError: no such split, damaged files, or no dense member to compare with.
    """
    return Material.read(store, split, alpha=alpha, permutations=permutations, seed=seed).audit
