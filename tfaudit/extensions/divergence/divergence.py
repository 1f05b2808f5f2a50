"""How far compression moves the probabilities of each class, also where no prediction changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import CANNOT_TELL, empty_class_notes
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.predictions import Predictions
from tfaudit.stats.changes import group_changes
from tfaudit.stats.divergence import kl_divergence
from tfaudit.stats.group_codes import group_means
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.multiplicity import adjust

ALL = "all examples"
MORE, LESS = "more than average", "less than average"


@dataclasses.dataclass(frozen=True)
class Divergence(Result):
    """Shifts of the probabilities over all images and in each class, with intervals over images and members.

    Attributes:
        table: one row for all images, then one per class; see `frame`.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row for all images, then one per class.

        Columns: `class`; `examples`; `agreement`, the share of predictions that stay the same; `kl`, the mean
        divergence in nats; `shift`, the mean of its square root, with `shift_low` and `shift_high`; the difference of
        the class from all images, `relative_shift`, with `relative_shift_low`, `relative_shift_high`, `relative_p`,
        `relative_p_holm` and `verdict` (more than average, less than average, cannot tell). Corrections are Holm's for
        the number of classes.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return agreement and divergence over all images, and the class that is moved most."""
        whole, classes = self.table.iloc[0], self.table.iloc[1:].dropna(subset=["shift"])
        most = None if classes.empty else classes.iloc[int(classes["shift"].argmax())]
        return {
            **{name: float(whole[name]) for name in ("agreement", "kl", "shift")},
            "more_than_average": int((self.table["verdict"] == MORE).sum()),
            "most_moved": None if most is None else most["class"],
        }

    def chart(self) -> Drawing:
        """Draw the shift of every class with its interval; the dashed line is the shift over all images."""
        from tfaudit.extensions.divergence.chart import shifts_chart

        return shifts_chart(self.table)


def divergence(
    baseline: Predictions,
    compressed: Predictions,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Divergence:
    """Measure how far compression moves the probabilities: Kullback-Leibler divergence and agreement by class [Du].

    A prediction changes only if its probabilities have moved far enough, so shifts show with few images which classes
    compression disturbs. They say nothing about right and wrong. Tests use the square root of the divergence, which is
    proportional to the size of a small disturbance and less skewed.

    Args:
        baseline: the dense model or population, with probabilities.
        compressed: the models made from it, on the same examples, with probabilities.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: different examples, no probabilities, no pairs, or a level outside (0, 1).

    Example:
        >>> dense = Predictions.from_scores([0, 0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
        >>> int8 = Predictions.from_scores([0, 0, 1, 1], [[0.9, 0.1], [0.7, 0.3], [0.3, 0.7], [0.2, 0.8]])
        >>> divergence(dense, int8).frame()[["class", "agreement", "kl"]].round(4)
                  class  agreement      kl
        0  all examples        1.0  0.0156
        1             0        1.0  0.0129
        2             1        1.0  0.0183
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    shifts = _Shifts.of(comparison)
    notes = [*comparison.notes, *empty_class_notes(baseline.class_names, comparison.class_examples)]
    ranks = min(population.ranked.shape[2] for population in (baseline, compressed))
    if ranks < baseline.num_classes:
        notes.append(
            f"Divergences are lower bounds: only {ranks} of {baseline.num_classes} classes are stored."
        )
    names, labels = baseline.class_names, baseline.labels
    whole = shifts.rows(np.zeros_like(labels), (ALL,)).assign(verdict="")
    whole.loc[:, whole.columns.str.startswith("relative_")] = np.nan
    table = pd.concat([whole, shifts.rows(labels, names)], ignore_index=True)
    return Divergence(table, alpha, tuple(notes))


@dataclasses.dataclass(frozen=True)
class _Shifts:
    """Square roots of the divergences of K pairs, `(K, N)` float32, and how many of them agree, `(N,)` shares."""

    comparison: Comparison
    roots: np.ndarray
    agreement: np.ndarray

    @classmethod
    def of(cls, comparison: Comparison) -> _Shifts:
        """Read the probabilities of each pair once."""
        before, after = comparison.baseline, comparison.compressed
        agreement = np.zeros(before.num_examples)
        roots = []
        for i, j in comparison.made_from:
            agreement += before.best(i).agreement(after.best(j))
            divergences = kl_divergence(before.member(i), after.member(j), before.num_classes)
            roots.append(np.sqrt(divergences).astype(np.float32))
        return cls(comparison, np.stack(roots), agreement / len(roots))

    def rows(self, groups: np.ndarray, names: tuple[str, ...]) -> pd.DataFrame:
        """Return a row of the table for each group of images."""
        comparison, count = self.comparison, len(names)
        before = Rows(len(self.roots), lambda k: np.zeros_like(self.roots[k]))
        moved = group_changes(
            before,
            self.roots,
            groups,
            count,
            paired=True,
            clusters=comparison.clusters,
            continuous=True,
        )
        low, high = moved.absolute.interval(comparison.confidence, least=0)
        relative_low, relative_high = moved.relative.interval(comparison.confidence)
        p = adjust(moved.relative.p(), "holm")
        divergences = Rows.of(self.roots).map(np.square).mean()
        return pd.DataFrame(
            {
                "class": names,
                "examples": moved.examples,
                "agreement": group_means(self.agreement[None], groups, count)[0],
                "kl": group_means(divergences[None], groups, count)[0],
                "shift": moved.absolute.value,
                "shift_low": low,
                "shift_high": high,
                "relative_shift": moved.relative.value,
                "relative_shift_low": relative_low,
                "relative_shift_high": relative_high,
                "relative_p": moved.relative.p(),
                "relative_p_holm": p,
                "verdict": np.where(
                    p <= comparison.alpha,
                    np.where(moved.relative.value > 0, MORE, LESS),
                    CANNOT_TELL,
                ),
            }
        )
