"""What a population answers, counted: small enough to keep, enough to show any example or class."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.errors import require
from tfaudit.predictions import Predictions, frozen

__all__ = ["Tally", "tally"]


@dataclasses.dataclass(frozen=True)
class Tally:
    """The answers of K members to N examples of C classes. V is the number of different answers, over all examples.

    Attributes:
        members: names of the K members.
        class_names: of the C classes.
        labels: `(N,)` true classes.
        recall: `(K, C)` share of each class's examples that a member gets right; NaN for a class without examples.
        accuracy: `(K,)` share of all examples that a member gets right.
        example: `(V,)` positions of examples, ascending.
        answer: `(V,)` classes that any member answers there, the most frequent first, the lower one of equals.
        count: `(V,)` how many members answer so.
    """

    members: tuple[str, ...]
    class_names: tuple[str, ...]
    labels: np.ndarray
    recall: np.ndarray
    accuracy: np.ndarray
    example: np.ndarray
    answer: np.ndarray
    count: np.ndarray

    def mode(self) -> np.ndarray:
        """`(N,)` modal label of each example, the lowest of the most frequent answers."""
        return self.answer[self._first]

    def share(self) -> np.ndarray:
        """`(N,)` share of the votes that the mode has."""
        return self.count[self._first] / len(self.members)

    def image(self, position: int) -> pd.DataFrame:
        """The answers to one example, the most frequent first: `answer`, `class` (its name), `votes`, `share`.

        Args:
            position: of the example, from 0.

        Raises:
            InputError: there is no such example.
        """
        require(0 <= position < len(self.labels), "position", position, f"0 to {len(self.labels) - 1}")
        rows = slice(*np.searchsorted(self.example, [position, position + 1]))
        return self._table(self.answer[rows], self.count[rows], len(self.members)).rename(columns={"count": "votes"})

    def confusion(self, label: int) -> pd.DataFrame:
        """What members answer to the examples of one class: a row of the confusion matrix, summed over members.

        Args:
            label: the true class.

        Returns:
            The answers that occur, the most frequent first: `answer`, `class` (its name), `count` over all members and
            examples of the class, `share` of them.

        Raises:
            InputError: there is no such class.
        """
        require(0 <= label < len(self.class_names), "label", label, f"0 to {len(self.class_names) - 1}")
        rows = self.labels[self.example] == label
        counts = np.bincount(self.answer[rows], self.count[rows], minlength=len(self.class_names)).astype(np.int64)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return self._table(order, counts[order], counts.sum())

    def frame(self) -> pd.DataFrame:
        """One row per example and answer: `example` (position), `answer`, `class` (its name), `votes`, `share`."""
        table = self._table(self.answer, self.count, len(self.members)).rename(columns={"count": "votes"})
        table.insert(0, "example", self.example)
        return table

    def summary(self) -> dict[str, Any]:
        """Counts, the mean accuracy of members, that of their mode, and on how many examples all members agree."""
        return {
            "members": len(self.members),
            "examples": len(self.labels),
            "classes": len(self.class_names),
            "accuracy": float(self.accuracy.mean()),
            "mode_accuracy": float((self.mode() == self.labels).mean()),
            "unanimous": int((self.count == len(self.members)).sum()),
        }

    @cached_property
    def _first(self) -> np.ndarray:
        """Where each example's answers begin."""
        return np.searchsorted(self.example, np.arange(len(self.labels)))

    def _table(self, answers: np.ndarray, counts: np.ndarray, of: int) -> pd.DataFrame:
        names = np.array(self.class_names, object)[answers]
        return pd.DataFrame({"answer": answers, "class": names, "count": counts, "share": counts / of})


def tally(population: Predictions) -> Tally:
    """Counts the best classes that the members of a population answer.

    Example:
        >>> counted = tally(Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 0], [0, 0, 0]]))
        >>> counted.mode().tolist(), counted.share().round(2).tolist()
        ([0, 1, 0], [1.0, 0.67, 0.67])
        >>> counted.confusion(1)
           answer class  count  share
        0       0     0      3    0.5
        1       1     1      3    0.5
    """
    members, classes = population.num_members, population.num_classes
    cells = np.arange(population.num_examples) * classes + population.top1.astype(np.int64)
    cell, count = np.unique(cells, return_counts=True)
    example, answer = np.divmod(cell, classes)
    # One integer that sorts as example, most votes, lowest class: faster than sorting by three keys.
    order = np.argsort((example * (members + 1) + members - count) * classes + answer, kind="stable")
    return Tally(
        members=tuple(map(str, population.members)),
        class_names=population.class_names,
        labels=population.labels,
        recall=frozen(population.recall()),
        accuracy=frozen(population.accuracy()),
        example=frozen(example[order].astype(np.int32)),
        answer=frozen(answer[order].astype(np.int32)),
        count=frozen(count[order].astype(np.int32)),
    )
