"""Pruning (or compression) identified exemplars, PIEs: [F] 2.3 and 3.2.

If equally many members predict several classes, [F] takes the class with the lowest number. Here the tie is left open
by default, since a count that depends on how classes are numbered is an accident: a PIE is an example whose modal label
changes however ties are settled. If the change depends on the ties, the example counts as undecided.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.result import Drawing, Result
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.ratios import ratio
from tfaudit.stats.ties import BestClasses


@dataclasses.dataclass(frozen=True)
class Exemplars(Result):
    """The examples whose modal label changes with compression. P is the number of PIEs, N the number of all examples.

    Attributes:
        index: `(P,)` positions of the PIEs, ascending.
        class_names, labels: names of the classes, and `(N,)` true classes.
        baseline_mode, compressed_mode: modal labels of the two populations; several labels if they tie.
        probability: `(N,)` probability that the modal label changes if ties are settled at random.
        pies: one row per PIE; see `frame`.
        difficulty: mean accuracy per population, group and k; see `exemplars`.
        published: number of PIEs by [F]'s rule: ties go to the class with the lowest number.
    """

    index: np.ndarray
    class_names: tuple[str, ...]
    labels: np.ndarray
    baseline_mode: BestClasses
    compressed_mode: BestClasses
    probability: np.ndarray
    pies: pd.DataFrame
    difficulty: pd.DataFrame
    published: int
    notes = ()

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
        examples, pies = (
            np.bincount(classes, minlength=len(self.class_names)) for classes in labels
        )
        columns = {
            "class": self.class_names,
            "examples": examples,
            "pies": pies,
            "share": ratio(pies, examples),
        }
        return pd.DataFrame(columns)

    def unchanged_beside(self, positions: np.ndarray) -> np.ndarray:
        """Return, for each position, another example of the same class whose modal label does not change.

        Examples are drawn at random with a fixed seed, as in [F] figure 1. None is drawn twice while the class has
        enough; -1 if it has none.
        """
        rng = np.random.default_rng(0)
        stays = np.ones(len(self.labels), bool)
        stays[self.index] = stays[positions] = False
        beside = np.full(len(positions), -1)
        labels = self.labels[positions]
        for label in np.unique(labels):
            if len(unchanged := np.flatnonzero(stays & (self.labels == label))):
                rows = np.flatnonzero(labels == label)
                beside[rows] = np.resize(rng.permutation(unchanged), len(rows))
        return beside

    def confusions(self) -> pd.DataFrame:
        """Return what the lost images of every class become: one row per true class and class predicted instead.

        An image is lost if its majority prediction is right before and wrong after. Columns: `label`, `after` (names
        of the classes), `images`, their number, and `of_lost`, their share of the lost images of the class. Classes
        that lose most images come first.

        Example:
            >>> from tfaudit.predictions import Predictions
            >>> sides = ([[0, 0, 0, 1]], [[1, 1, 2, 1]])
            >>> names = ("dog", "cat", "fox")
            >>> pair = [Predictions.from_top1([0, 0, 0, 1], top1, class_names=names) for top1 in sides]
            >>> exemplars(*pair).confusions()[["label", "after", "images"]].to_numpy().tolist()
            [['dog', 'cat', 2], ['dog', 'fox', 1]]
        """
        rows = self.frame().query("label == baseline_mode")
        rows = rows.rename(columns={"compressed_mode": "after"})
        counts = rows.groupby(["label", "after"], sort=False).size().rename("images").reset_index()
        lost = counts.groupby("label")["images"].transform("sum")
        counts = counts.assign(of_lost=counts["images"] / lost, lost=lost)
        order = ["lost", "label", "images"]
        return counts.sort_values(order, ascending=[False, True, False]).drop(columns="lost")

    def summary(self) -> dict[str, Any]:
        """Return the count and share of PIEs, how many have a correct mode, and how many examples ties leave undecided.

        `expected` is the expected number of modal labels that change if ties are settled at random: the PIEs, plus
        undecided examples by their probability. A modal label is correct if it is the true class or ties with it.
        `published` is the number of PIEs by [F]'s rule: ties go to the class with the lowest number.
        """
        right = [
            mode.among_best(self.labels)[self.index] > 0
            for mode in (self.baseline_mode, self.compressed_mode)
        ]
        return {
            "examples": len(self.labels),
            "pies": len(self.index),
            "share": len(self.index) / len(self.labels),
            "undecided": int(((self.probability > 0) & (self.probability < 1)).sum()),
            "expected": math.fsum(self.probability),
            "published": self.published,
            "baseline_mode_right": int(right[0].sum()),
            "compressed_mode_right": int(right[1].sum()),
        }

    def chart(self) -> Drawing:
        """Draw [F] figure 3: accuracy on PIEs, on the other examples and on all."""
        from tfaudit.audits.exemplars.chart import difficulty_chart

        return difficulty_chart(self.difficulty)


def exemplars(baseline: Predictions, compressed: Predictions) -> Exemplars:
    """Find the examples whose modal label differs between the two populations: [F] 2.3. True labels are not used.

    A member whose best classes tie votes for each of them with an equal share. An example is a PIE only if the two
    populations have no modal label in common.

    The result's `difficulty` has one row per `population` (baseline, compressed), `group` (PIE, non-PIE, all) and `k`
    (1; 5 if stored): `examples`, and `accuracy` with `low` and `high`, a 95 % interval over members (NaN if empty).

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.

    Raises:
        InputError: different examples.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 1], [0, 1, 0]])
        >>> after = Predictions.from_top1([0, 1, 1], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
        >>> exemplars(before, after).index
        array([2])
    """
    require_same_examples(baseline, compressed)
    modes = baseline.modal_classes(), compressed.modal_classes()
    probability = 1 - modes[0].agreement(modes[1])
    changed = probability == 1
    index = np.flatnonzero(changed)
    names = baseline.class_names
    baseline_share, baseline_entropy = _votes(baseline, index)
    compressed_share, compressed_entropy = _votes(compressed, index)
    columns = {
        "index": index,
        "example": baseline.example_ids[index],
        "label": np.array(names, object)[baseline.labels[index]],
        "baseline_mode": modes[0].names(names)[index],
        "compressed_mode": modes[1].names(names)[index],
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
        probability=probability,
        published=int(np.sum(baseline.modal() != compressed.modal())),
    )


def changed_modes(baseline: Predictions, compressed: Predictions) -> np.ndarray:
    """Return `(N,)` booleans: whether the modal label changes however ties are settled.

    Example:
        >>> before, after = (Predictions.from_top1([0, 1], [[0, 0], last]) for last in ([0, 1], [1, 0]))
        >>> changed_modes(before, after)
        array([False, False])
    """
    return baseline.modal_classes().agreement(compressed.modal_classes()) == 0


def _votes(population: Predictions, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of votes for the most frequent class of each example, and the votes' entropy in bits, `(P,)`."""
    rows, classes, votes = population.best_of(index).votes()
    cells = rows % len(index) * population.num_classes + classes if len(index) else rows
    cell, place = np.unique(cells, return_inverse=True)
    share = np.bincount(place.ravel(), votes, len(cell)) / population.num_members
    most = np.zeros(len(index))
    entropy = np.zeros(len(index))
    np.maximum.at(most, cell // population.num_classes, share)
    np.add.at(entropy, cell // population.num_classes, -share * np.log2(share))
    return most, np.abs(entropy)


def _difficulty(populations: Mapping[str, Predictions], changed: np.ndarray) -> pd.DataFrame:
    rows = []
    masks = {"PIE": changed, "non-PIE": ~changed, "all": np.ones_like(changed)}
    examples = np.sum(list(masks.values()), axis=1)
    weights = np.column_stack(list(masks.values())).astype(float)
    for name, population in populations.items():
        for k in (k for k in (1, 5) if k <= population.ranked.shape[2]):
            hits = np.stack([row @ weights for row in population.right(k)])
            for group, count, right in zip(masks, examples, hits.T, strict=True):
                interval = mean_interval(ratio(right, count), least=0, most=1)
                row = {"population": name, "group": group, "k": k, "examples": count}
                ends = {"low": interval.low, "high": interval.high}
                rows.append(row | {"accuracy": interval.mean, **ends})
    return pd.DataFrame(rows)
