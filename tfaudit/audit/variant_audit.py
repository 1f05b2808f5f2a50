"""What a study's table says of one variant: all that needs its predictions, and nothing of the other variants."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audit.chance import Chance, chance
from tfaudit.audit.classes import ClassImpact, class_impact
from tfaudit.audit.exemplars import Exemplars, exemplars
from tfaudit.predictions import Predictions

__all__ = ["VariantAudit", "audit_variant"]


@dataclasses.dataclass(frozen=True)
class VariantAudit:
    """One population of K members, beside the baseline.

    Attributes:
        members: their names.
        top1: `(K,)` accuracies, shares.
        top5: the same of five guesses; None where fewer are stored.
        impact: its effect on the classes; None for the baseline, and where either side has a single member.
        exemplars: its PIEs; None for the baseline.
        chance: its permutation tests; None where they cannot be made, or are not wanted.
        parentless: are members made from the baseline's not of the same names? Then there is no `chance`.
    """

    members: tuple[object, ...]
    top1: np.ndarray
    top5: np.ndarray | None
    impact: ClassImpact | None
    exemplars: Exemplars | None
    chance: Chance | None
    parentless: bool

    def accuracies(self) -> pd.DataFrame:
        """One row per `member` and `k`: the member's top-k `accuracy`, a share."""
        known = {k: values for k, values in ((1, self.top1), (5, self.top5)) if values is not None}
        return pd.concat(
            pd.DataFrame({"member": self.members, "k": k, "accuracy": values}) for k, values in known.items()
        )

    def row(self) -> dict[str, Any]:
        """Its figures in the table of a study: the columns of `Summary.frame` from `members` on, without `bytes`."""
        found: dict[str, Any] = {"members": len(self.members), "top1": self.top1.mean()}
        found["top5"] = np.nan if self.top5 is None else self.top5.mean()
        if self.exemplars:
            found |= {"pies": len(self.exemplars.index), "pie_share": self.exemplars.summary()["share"]}
        for each, names in ((self.impact, _TESTED), (self.chance, _BY_CHANCE)):
            if each:
                facts = each.summary()
                found |= {name: facts[name] for name in names}
        return found


_TESTED = ("significant", "expected_by_chance", "significant_holm", "significant_bh", "harmed", "favoured")
_BY_CHANCE = ("significant_p", "pies_by_chance", "pies_p")


def audit_variant(
    baseline: Predictions,
    compressed: Predictions | None,
    *,
    alpha: float = 0.05,
    permutations: int = 1000,
    seed: int = 0,
    paired: bool = False,
) -> VariantAudit:
    """Audits one population against the baseline; the baseline itself where there is none.

    Args:
        baseline: the uncompressed population.
        compressed: another, on the same examples.
        alpha: level of the tests.
        permutations: how many assignments of members to count at most, for the figures by chance; 0 for none.
        seed: of random assignments.
        paired: are its members made from the baseline's members of the same names?

    Raises:
        InputError: other examples, or an option that is not allowed.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 0]])
        >>> after = Predictions.from_top1([0, 1, 1], [[1, 1, 1], [1, 1, 1]])
        >>> audit_variant(before, after).row()["pies"]
        2
    """
    population = baseline if compressed is None else compressed
    parentless = paired and permutations > 0 and set(population.members) != set(baseline.members)
    several = min(population.num_members, baseline.num_members) > 1
    countable = permutations and not parentless and population.num_members + baseline.num_members > 2
    return VariantAudit(
        members=population.members,
        top1=population.accuracy(),
        top5=population.accuracy(5) if population.ranked.shape[2] >= 5 else None,
        impact=class_impact(baseline, compressed, alpha=alpha) if compressed and several else None,
        exemplars=exemplars(baseline, compressed) if compressed else None,
        chance=chance(baseline, compressed, permutations=permutations, seed=seed, alpha=alpha, paired=paired)
        if compressed and countable
        else None,
        parentless=parentless,
    )
