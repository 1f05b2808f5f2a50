"""Counts of the members' predictions: small enough to cache, and enough to show any example or class.

A member whose best classes tie votes for each of them with an equal share.
"""

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.result import Result
from tfaudit.errors import require
from tfaudit.predictions import Predictions, frozen
from tfaudit.stats.modes import VOTES_AT_ONCE
from tfaudit.stats.ratios import member_mean
from tfaudit.stats.ties import BestClasses, Ties

LEAST_VOTE = 1e-3
"""Difference of votes below which classes are predicted equally often: thirds of votes are rounded."""


@dataclasses.dataclass(frozen=True)
class PredictionCounts(Result):
    """Top-1 predictions of K members on N examples of C classes. V is the number of distinct (example, class) pairs.

    Attributes:
        members, class_names: names of the K members and of the C classes.
        labels: `(N,)` true classes.
        recall, accuracy: `(K, C)` recalls, NaN for a class without examples, and `(K,)` accuracies.
        example: `(V,)` positions of examples, ascending.
        answer: `(V,)` classes that members predict for the example, the most frequent first, equals in the order of
            names.
        count: `(V,)` number of members that predict the class; fractions if classes tie.
        probability: `(V,)` mean probability that these members give their prediction; None if it is unknown.
    """

    members: tuple[str, ...]
    class_names: tuple[str, ...]
    labels: np.ndarray
    recall: np.ndarray
    accuracy: np.ndarray
    example: np.ndarray
    answer: np.ndarray
    count: np.ndarray
    probability: np.ndarray | None = None

    def mode(self) -> np.ndarray:
        """Return the modal labels, `(N,)`: the most frequent class, ties going to the first in the order of names."""
        return self.answer[self._first]

    def modal_classes(self) -> BestClasses:
        """Return the modal label of every example, or several that are predicted equally often."""
        leads = self.count > self.count[self._first][self.example] - LEAST_VOTE
        counted = np.bincount(self.example[leads], minlength=len(self.labels))
        tied = leads & (counted[self.example] > 1)
        order = np.lexsort((self.answer[tied], self.example[tied]))
        return BestClasses(self.mode(), Ties(self.example[tied][order], self.answer[tied][order]))

    def share(self) -> np.ndarray:
        """Return the `(N,)` shares of votes for the modal label."""
        return self.count[self._first] / len(self.members)

    def right_share(self) -> np.ndarray:
        """Return the `(N,)` shares of the members that are right."""
        return self._shares(self.answer == self.labels[self.example])

    def image(self, position: int) -> pd.DataFrame:
        """Return the predictions for one example, most votes first.

        Columns: `answer`, `class`, `votes`, `share`, and `probability` if it is known.
        """
        last = len(self.labels) - 1
        require(0 <= position <= last, "position", position, f"0 to {last}")
        rows = slice(*np.searchsorted(self.example, [position, position + 1]))
        table = self._votes(rows)
        if self.probability is not None:
            table["probability"] = self.probability[rows]
        return table

    def predicted(self, answer: int) -> np.ndarray:
        """Return the `(N,)` shares of the members that predict a class."""
        return self._shares(self.answer == answer)

    def confusion(self, label: int) -> pd.DataFrame:
        """Return the row of one true class of the confusion matrix, summed over members.

        Columns: `answer` (the predicted class, the most frequent first), `class` (its name), `count` over all members
        and examples of the true class, and `share` of these.
        """
        last = len(self.class_names) - 1
        require(0 <= label <= last, "label", label, f"0 to {last}")
        rows = self.labels[self.example] == label
        counts = np.bincount(self.answer[rows], self.count[rows], minlength=len(self.class_names))
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return self._table(order, counts[order], counts.sum())

    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per example and predicted class: `example` (position), `answer`, `class`, `votes`, `share`."""
        table = self._votes(slice(None))
        table.insert(0, "example", self.example)
        return table

    def summary(self) -> dict[str, Any]:
        """Return counts, the accuracy of members (mean) and of their mode, and the number of unanimous examples."""
        return {
            "members": len(self.members),
            "examples": len(self.labels),
            "classes": len(self.class_names),
            "accuracy": float(member_mean(self.accuracy)),
            "mode_accuracy": float(self.modal_classes().among_best(self.labels).mean()),
            "unanimous": int((self.count > len(self.members) - LEAST_VOTE).sum()),
        }

    @cached_property
    def _first(self) -> np.ndarray:
        """The row of the modal label of each example."""
        return np.searchsorted(self.example, np.arange(len(self.labels)))

    def _shares(self, rows: np.ndarray) -> np.ndarray:
        """Return the shares of the members that predict the class of some rows, one row per example: `(N,)`."""
        shares = np.zeros(len(self.labels))
        shares[self.example[rows]] = self.count[rows] / len(self.members)
        return shares

    def _votes(self, rows: slice) -> pd.DataFrame:
        table = self._table(self.answer[rows], self.count[rows], len(self.members))
        return table.rename(columns={"count": "votes"})

    def _table(self, classes: np.ndarray, counts: np.ndarray, of: int) -> pd.DataFrame:
        names = np.array(self.class_names, object)[classes]
        return pd.DataFrame(
            {"answer": classes, "class": names, "count": counts, "share": counts / of}
        )


def count_predictions(population: Predictions) -> PredictionCounts:
    """Count the top-1 predictions of the members of a population.

    Example:
        >>> counted = count_predictions(Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 0], [0, 0, 0]]))
        >>> counted.mode().tolist(), counted.share().round(2).tolist()
        ([0, 1, 0], [1.0, 0.67, 0.67])
        >>> counted.confusion(1)
           answer class  count  share
        0       0     0    3.0    0.5
        1       1     1    3.0    0.5
    """
    likely = None
    if population.has_probabilities:
        members = range(population.num_members)
        likely = np.stack([population.member_probabilities(i)[:, 0] for i in members])
    name_rank = np.argsort(np.argsort(population.class_names, kind="stable"))
    step = max(1, VOTES_AT_ONCE // population.num_members)
    examples = np.arange(population.num_examples)
    blocks = [
        _counted(population, examples[start : start + step], likely, name_rank)
        for start in range(0, len(examples), step)
    ]
    example, answer, count, probability = map(np.concatenate, zip(*blocks, strict=True))
    return PredictionCounts(
        members=tuple(map(str, population.members)),
        class_names=population.class_names,
        labels=population.labels,
        recall=frozen(population.recall()),
        accuracy=frozen(population.accuracy()),
        example=frozen(example),
        answer=frozen(answer),
        count=frozen(count),
        probability=None if likely is None else frozen(probability),
    )


def _counted(
    population: Predictions, examples: np.ndarray, likely: np.ndarray | None, name_rank: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `example`, `answer`, `count` and `probability` of `PredictionCounts` for some examples."""
    classes = population.num_classes
    rows, best, votes = population.best_of(examples).votes()
    cell, place = np.unique(rows % len(examples) * classes + best, return_inverse=True)
    place = place.ravel()
    count = np.bincount(place, votes)
    probability = np.zeros(len(count))
    if likely is not None:
        probability = np.bincount(place, votes * likely[:, examples].ravel()[rows]) / count
    example, answer = np.divmod(cell, classes)
    order = np.lexsort((name_rank[answer], -count.round(6), example))
    return (
        examples[example[order]].astype(np.int32),
        answer[order].astype(np.int32),
        count[order],
        probability[order].astype(np.float32),
    )
