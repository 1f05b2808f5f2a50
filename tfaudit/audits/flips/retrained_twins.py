"""The noise floor of predictions: how many differ between two baseline models that differ only in their seeds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import require
from tfaudit.predictions import Predictions
from tfaudit.stats.modes import count_changed_modes
from tfaudit.stats.permutation import assign

HALVES = 100  # ways to halve the population: the maximum that is counted


@dataclasses.dataclass(frozen=True)
class RetrainedTwins(Result):
    """Predictions that change when the baseline is retrained. P is the number of pairs of members.

    Attributes:
        examples: N, the number of examples.
        first, second: names of the members of each pair.
        changed: `(P,)` number of examples for which both predict different classes; ties count as their expectation.
        halves: `(H,)` number of modal labels that differ between two halves of the population, for H ways to halve it;
            empty for fewer than four members.
    """

    examples: int
    first: tuple[str, ...]
    second: tuple[str, ...]
    changed: np.ndarray
    halves: np.ndarray
    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per pair of members: `first`, `second`, `changed` and its `share` of the examples."""
        columns = {"first": self.first, "second": self.second, "changed": self.changed}
        return pd.DataFrame({**columns, "share": self.changed / self.examples})

    def summary(self) -> dict[str, Any]:
        """Return mean, least and most changed predictions over the pairs, and modal labels over the halves (or NaN)."""
        halves = self.halves if len(self.halves) else np.array([np.nan])
        return {
            "examples": self.examples,
            "pairs": len(self.changed),
            "changed": float(self.changed.mean()),
            "changed_low": float(self.changed.min()),
            "changed_high": float(self.changed.max()),
            "changed_share": float(self.changed.mean() / self.examples),
            "modes_of_halves": float(halves.mean()),
            "modes_of_halves_low": float(halves.min()),
            "modes_of_halves_high": float(halves.max()),
        }

    def chart(self) -> Drawing:
        """Draw one point per pair of members at the number of predictions that differ."""
        from tfaudit.audits.flips.twins_chart import twins_chart

        return twins_chart(self.frame())


def retrained_twins(baseline: Predictions, *, seed: int = 0) -> RetrainedTwins:
    """Count the predictions that differ between members of one population, the noise floor of compression's changes.

    Two models that differ only in their seeds disagree on some images. A compressed model that changes fewer
    predictions changes less than retraining does.

    Args:
        baseline: a population of K >= 2 members that were trained alike.
        seed: seed that draws 100 ways to halve the population if there are more.

    Raises:
        InputError: a single member.

    Example:
        >>> baseline = Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 0], [1, 1, 0]])
        >>> retrained_twins(baseline).frame()[["first", "second", "changed"]]
          first second  changed
        0     0      1      1.0
        1     0      2      2.0
        2     1      2      1.0
    """
    members = baseline.num_members
    require(members >= 2, "baseline", members, "2 members or more, trained alike")
    halves = np.zeros(0, np.int64)
    if members >= 4:
        ways = assign(members // 2, members - members // 2, permutations=HALVES, seed=seed)
        halves = count_changed_modes(ways.first, baseline.ranked, tied=baseline.ties)
    first, second = np.triu_indices(members, 1)
    names = [str(member) for member in baseline.members]
    return RetrainedTwins(
        examples=baseline.num_examples,
        first=tuple(names[i] for i in first),
        second=tuple(names[i] for i in second),
        changed=changed_predictions(baseline, None),
        halves=halves,
    )


def changed_predictions(
    baseline: Predictions, compressed: Predictions | None, paired: bool | None = None
) -> np.ndarray:
    """Count the examples for which two models predict different classes, `(P,)` floats over P pairs of models.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed one on the same examples; None to count over pairs of baseline members (no pairs for
            a single member).
        paired: whether members are compared only with those they were made from, not all with all; by default as
            `compressed.parents` says.

    Example:
        >>> before, after = (Predictions.from_top1([0, 1], [[x, 1], [x, 1]]) for x in (0, 1))
        >>> changed_predictions(before, after), changed_predictions(before, None)
        (array([1., 1., 1., 1.]), array([0.]))
    """
    if compressed is None:
        first, second = np.triu_indices(baseline.num_members, 1)
        return _differences(baseline, baseline, first, second)
    return _differences(baseline, compressed, *Comparison(baseline, compressed, paired).compared)


def _differences(
    one: Predictions, other: Predictions, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    changes = (one.best(i).differences(other.best(j)) for i, j in zip(first, second, strict=True))
    return np.fromiter(changes, float, len(first))
