"""What chance alone would give: permutation tests of the number of PIEs and of significant classes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.audit.classes import CENTERINGS
from tfaudit.errors import InputError, require
from tfaudit.predictions import TIES, Predictions, require_same_examples
from tfaudit.stats.permutation import CountNull, assign, count_changed_modes, count_significant

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

__all__ = ["Chance", "chance"]

PIES, CLASSES = "PIEs", "significant classes"


@dataclasses.dataclass(frozen=True)
class Chance:
    """The two counts of an audit beside what they would be if compression did nothing.

    Attributes:
        pies: of the number of PIEs.
        classes: of the number of significant classes, uncorrected; None where a population has a single member.
        paired: were members reassigned within pairs only?
        alpha: level of the tests per class.
        notes: what a reader has to know, one sentence each.
    """

    pies: CountNull
    classes: CountNull | None
    paired: bool
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per count.

        Columns: `count` (PIEs, significant classes), `observed`, `expected` (the mean by chance), `low` and `high` (the
        central 95 % by chance), `p`, `permutations` and `exact`.
        """
        return pd.DataFrame(
            {
                "count": name,
                "observed": null.observed,
                "expected": null.mean,
                "low": null.low,
                "high": null.high,
                "p": null.p,
                "permutations": null.permutations,
                "exact": null.exact,
            }
            for name, null in self._nulls().items()
        )

    def distribution(self) -> pd.DataFrame:
        """How often each value occurred: `count` (as in `frame`), `value` and `share` of the permutations."""
        tables = [
            pd.DataFrame({"count": name, "value": values, "share": times / null.permutations})
            for name, null in self._nulls().items()
            for values, times in [np.unique(null.counts, return_counts=True)]
        ]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """Observed and expected counts and p-values; those of the classes are None where they cannot be tested."""
        pies, classes = self.pies, self.classes
        return {
            "permutations": pies.permutations,
            "exact": pies.exact,
            "pies": pies.observed,
            "pies_by_chance": pies.mean,
            "pies_p": pies.p,
            "significant": classes and classes.observed,
            "significant_by_chance": classes and classes.mean,
            "significant_p": classes and classes.p,
        }

    def chart(self) -> Drawing:
        """The counts of all permutations, and the observed one."""
        from tfaudit.charts.chance import chance_chart  # report depends on audit, never the other way at import

        return chance_chart(self.frame(), self.distribution())

    def _nulls(self) -> dict[str, CountNull]:
        return {PIES: self.pies} | ({} if self.classes is None else {CLASSES: self.classes})


def chance(
    baseline: Predictions,
    compressed: Predictions,
    *,
    permutations: int = 1000,
    seed: int = 0,
    paired: bool = False,
    alpha: float = 0.05,
    centering: str = "member",
    ties: str = "lowest",
) -> Chance:
    """Tests whether there are more PIEs, and more significant classes, than two equal populations would have.

    Two halves of one population disagree on some modal labels, too. If compression does nothing, the K1 + K2 members
    are exchangeable: they are reassigned to groups of K1 and K2 and everything is counted anew. All assignments are
    counted if they are at most `permutations`, else random ones; p is the share that reaches the observed count.

    Members that are made from one parent are more alike than two others are. They are not exchangeable across pairs:
    free reassignment would often put both into one group, which lets the groups differ by more than compression could
    make them, and the null would be too wide. `paired=True` swaps members within their pairs only.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        permutations: how many assignments to count at most.
        seed: of the random assignments.
        paired: the members of the same name belong together: the compressed one is made from the other.
        alpha: a class is significant where p <= alpha.
        centering: as in `class_impact`.
        ties: as in `exemplars`; "confidence" compares sums of probabilities to about 13 digits.

    Raises:
        InputError: other examples, an option that is not allowed, or pairs whose members' names differ.

    Example:
        >>> labels = [0, 0, 1, 1]
        >>> before = Predictions.from_top1(labels, [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
        >>> after = Predictions.from_top1(labels, [[0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]])
        >>> chance(before, after).frame()[["count", "observed", "expected", "p", "permutations"]]
                         count  observed  expected    p  permutations
        0                 PIEs         1       0.4  0.4            20
        1  significant classes         0       0.0  1.0            20
    """
    require_same_examples(baseline, compressed)
    require(centering in CENTERINGS, "centering", centering, ", ".join(CENTERINGS))
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require(ties in TIES, "ties", ties, ", ".join(TIES))
    both = (baseline, compressed)
    order = _order(*both, paired=paired)
    first, second = (population.num_members for population in both)
    assignments = assign(first, second, permutations=permutations, seed=seed, paired=paired)
    ranked, probabilities = _answers(both, ties)
    likely = None if probabilities is None else probabilities[order]
    pies = assignments.null(count_changed_modes(assignments.first, ranked[order], likely, ties=ties))
    classes = None
    if min(first, second) > 1:
        recall, accuracy = (np.concatenate([getattr(each, name)() for each in both]) for name in ("recall", "accuracy"))
        # Under "population" what is subtracted depends on the assignment; it moves the means only.
        values = np.round(recall - accuracy[:, None] if centering == "member" else recall, 12)[order]
        shift = accuracy[order] if centering == "population" else None
        classes = assignments.null(count_significant(assignments.first, values, shift, alpha=alpha))
    return Chance(pies, classes, paired, alpha, _notes(pies, classes, alpha))


def _order(baseline: Predictions, compressed: Predictions, *, paired: bool) -> np.ndarray:
    """Positions of all members, the baseline's first; in pairs the compressed ones follow in the baseline's order."""
    first, second = baseline.members, compressed.members
    if not paired:
        return np.arange(len(first) + len(second))
    if set(first) != set(second) or len(first) != len(second):
        raise InputError(
            f"paired: needs members of the same names, but the baseline has {', '.join(map(str, first))} "
            f"and the compressed population {', '.join(map(str, second))}"
        )
    return np.array([*range(len(first)), *(len(first) + second.index(member) for member in first)])


def _answers(both: tuple[Predictions, Predictions], ties: str) -> tuple[np.ndarray, np.ndarray | None]:
    """What the modes hang on, of all members."""
    if ties != "confidence":
        return np.concatenate([population.ranked[:, :, :1] for population in both]), None
    probabilities = [population.probabilities for population in both if population.probabilities is not None]
    if len(probabilities) < 2:
        raise InputError("ties: 'confidence' needs probabilities, and these predictions hold none")
    depths = [population.ranked.shape[2] for population in both]
    require(depths[0] == depths[1], "ties", "confidence", f"for equally many ranks, not {depths[0]} and {depths[1]}")
    return np.concatenate([population.ranked for population in both]), np.concatenate(probabilities)


def _notes(pies: CountNull, classes: CountNull | None, alpha: float) -> tuple[str, ...]:
    notes = []
    if pies.smallest_p > alpha:
        notes.append(
            f"So few members have {pies.permutations} assignments only: p cannot be below {pies.smallest_p:.3g}, "
            "whatever compression does."
        )
    if classes is None:
        notes.append("Significant classes need two members or more in both populations.")
    return tuple(notes)
