"""Pruning (or compression) identified exemplars, PIEs: [F] 2.3 and 3.2."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.notebook import html_of
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.modes import TIES
from tfaudit.stats.ratios import ratio

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing


@dataclasses.dataclass(frozen=True)
class Exemplars:
    """The examples whose modal label changes with compression. P is the number of PIEs, N that of all examples.

    Attributes:
        index: `(P,)` positions of the PIEs, ascending.
        class_names, labels: names of the classes, and `(N,)` true classes.
        baseline_mode, compressed_mode: `(N,)` modal labels of the two populations.
        pies: one row per PIE; see `frame`.
        difficulty: mean accuracy per population, group and k; see `exemplars`.
        tie_changes: for every other tie rule, the number of examples that are a PIE under one rule only.
        ties: the tie rule used.
    """

    index: np.ndarray
    class_names: tuple[str, ...]
    labels: np.ndarray
    baseline_mode: np.ndarray
    compressed_mode: np.ndarray
    pies: pd.DataFrame
    difficulty: pd.DataFrame
    tie_changes: Mapping[str, int]
    ties: str

    _repr_html_ = html_of

    def frame(self) -> pd.DataFrame:
        """Return one row per PIE.

        Columns: `index`, `example` (id), `label`, `baseline_mode`, `compressed_mode` (class names), `baseline_share`,
        `compressed_share` (of the population's votes for its own mode), `baseline_entropy`, `compressed_entropy` (of
        the votes, bits) and `decisiveness`, the product of the shares: the probability that two members, one drawn from
        each population, both predict their population's mode.
        """
        return self.pies.copy()

    def by_class(self) -> pd.DataFrame:
        """Return PIEs per true class: `class`, `examples`, `pies`, `share` (NaN for a class without examples)."""
        labels = (self.labels, self.labels[self.index])
        examples, pies = (np.bincount(classes, minlength=len(self.class_names)) for classes in labels)
        columns = {"class": self.class_names, "examples": examples, "pies": pies, "share": ratio(pies, examples)}
        return pd.DataFrame(columns)

    def unchanged_beside(self, positions: np.ndarray) -> np.ndarray:
        """Return, for each position, another example of the same class whose modal label does not change.

        Drawn at random with a fixed seed, none twice while the class has enough; -1 where it has none: [F] figure 1.
        """
        rng, stays = np.random.default_rng(0), np.ones(len(self.labels), bool)
        stays[self.index] = stays[positions] = False
        beside, labels = np.full(len(positions), -1), self.labels[positions]
        for label in np.unique(labels):
            if len(unchanged := np.flatnonzero(stays & (self.labels == label))):
                rows = np.flatnonzero(labels == label)
                beside[rows] = np.resize(rng.permutation(unchanged), len(rows))
        return beside

    def summary(self) -> dict[str, Any]:
        """Return the count and share of PIEs, how many have the right mode, how many depend on ties."""
        truth = self.labels[self.index]
        return {
            "examples": len(self.labels),
            "pies": len(self.index),
            "share": len(self.index) / len(self.labels),
            "baseline_mode_right": int((self.baseline_mode[self.index] == truth).sum()),
            "compressed_mode_right": int((self.compressed_mode[self.index] == truth).sum()),
            "ties": self.ties,
            "tie_changes": dict(self.tie_changes),
        }

    def chart(self) -> Drawing:
        """Draw [F] figure 3: accuracy on PIEs, on the other examples and on all."""
        from tfaudit.charts.exemplars import difficulty_chart

        return difficulty_chart(self.difficulty)


def exemplars(baseline: Predictions, compressed: Predictions, *, ties: str = "lowest") -> Exemplars:
    """Find the examples whose modal label differs between the two populations: [F] 2.3. True labels are not used.

    The result's `difficulty` has one row per `population` (baseline, compressed), `group` (PIE, non-PIE, all) and `k`
    (1; 5 if stored): `examples`, and `accuracy` with `low` and `high`, a 95 % interval over members (NaN if empty).

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        ties: which of the most frequent classes is the mode: "lowest" or "highest" class index, or "confidence".

    Raises:
        InputError: other examples, or a tie rule that is unknown or needs probabilities that are unknown.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 1], [0, 1, 0]])
        >>> after = Predictions.from_top1([0, 1, 1], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
        >>> exemplars(before, after).index
        array([2])
    """
    require_same_examples(baseline, compressed)
    modes = baseline.modal(ties), compressed.modal(ties)
    changed = modes[0] != modes[1]
    index = np.flatnonzero(changed)
    known = baseline.probabilities is not None and compressed.probabilities is not None
    rules = [rule for rule in TIES if rule != ties and (known or rule != "confidence")]
    names = np.array(baseline.class_names, object)
    baseline_share, baseline_entropy = _votes(baseline.top1[:, index], modes[0][index])
    compressed_share, compressed_entropy = _votes(compressed.top1[:, index], modes[1][index])
    columns = {
        "index": index,
        "example": baseline.example_ids[index],
        "label": names[baseline.labels[index]],
        "baseline_mode": names[modes[0][index]],
        "compressed_mode": names[modes[1][index]],
        "baseline_share": baseline_share,
        "compressed_share": compressed_share,
        "baseline_entropy": baseline_entropy,
        "compressed_entropy": compressed_entropy,
        "decisiveness": baseline_share * compressed_share,
    }
    return Exemplars(
        index=index,
        class_names=baseline.class_names,
        labels=baseline.labels,
        baseline_mode=modes[0],
        compressed_mode=modes[1],
        pies=pd.DataFrame(columns),
        difficulty=_difficulty({"baseline": baseline, "compressed": compressed}, changed),
        tie_changes={rule: int(np.sum(changed != (baseline.modal(rule) != compressed.modal(rule)))) for rule in rules},
        ties=ties,
    )


def _votes(top1: np.ndarray, mode: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of the mode among the K votes, and the entropy of the votes in bits, both `(P,)`."""
    # Each vote adds 1/K times the surprisal of its class, which needs no (P, C) table of counts.
    counts = np.zeros(top1.shape, np.int32)
    for member in top1:
        counts += top1 == member
    return (top1 == mode).mean(0), np.abs(np.log2(counts / len(top1)).mean(0))


def _difficulty(populations: Mapping[str, Predictions], changed: np.ndarray) -> pd.DataFrame:
    rows = []
    masks = {"PIE": changed, "non-PIE": ~changed, "all": np.ones_like(changed)}
    for name, population in populations.items():
        for k in (k for k in (1, 5) if k <= population.ranked.shape[2]):
            correct = population.correct(k)
            for group, mask in masks.items():
                interval = mean_interval(correct[:, mask].mean(1) if mask.any() else np.full(len(correct), np.nan))
                rows.append((name, group, k, int(mask.sum()), interval.mean, interval.low, interval.high))
    return pd.DataFrame(rows, columns=["population", "group", "k", "examples", "accuracy", "low", "high"])
