"""Predictions of a population: the only bridge from models to statistics."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.errors import (
    InputError,
    listed,
    plural,
    require,
    require_one_of,
    require_type,
    require_whole,
)
from tfaudit.runtime.names import clean_names, clean_texts
from tfaudit.stats.class_numbers import class_numbers, distinct_names, numbered_name
from tfaudit.stats.copies import clusters_of_copies
from tfaudit.stats.group_codes import cluster_codes
from tfaudit.stats.modes import modal_classes
from tfaudit.stats.one_hot import without_one_hot
from tfaudit.stats.ranking import (
    RankedClasses,
    are_probabilities,
    rank_scores,
    scores_of_both,
    stated_kind,
)
from tfaudit.stats.ratios import ratio
from tfaudit.stats.ties import BestClasses, Ties, settle_ties


class Predictions:
    """Predictions of the K members of a population on N examples.

    If several classes share the best score exactly, as often happens with the 256 levels of an int8 output, the
    prediction counts as each of them with equal probability, so that no figure depends on the order of the classes.
    `by_argmax` returns the predictions that `argmax` makes instead.

    Args:
        labels: true class of each example, `(N,)` integers, or names if `class_names` are given, or one-hot `(N, C)`.
        ranked: the k best classes of each member, best first, `(K, N, k)` integers or names; or the result of
            `tfaudit.predict`, for one model or a list of several.
        probabilities: probabilities of the classes in `ranked`, `(K, N, k)` floats in [0, 1]; or a function that takes
            the position of a member and returns its `(N, k)`, called whenever they are needed, so that they take no
            memory; None by default.
        class_names: names of the C classes; "0", "1", ... by default.
        listed: whether `class_names` are a list of classes to judge, so that a class without examples cannot pass; True
            by default. False for names that merely occur; without `class_names` they always do.
        example_ids: unique identifiers of the examples, `(N,)`; positions by default.
        members: names of the K members, for instance their seeds; positions by default.
        parents: names of the baseline's members from which the K members were made, for instance by quantization;
            comparisons with that baseline are then paired. None by default, for members trained independently.
        clusters: clusters of examples that resemble each other, such as films, writers or patients, `(N,)` names of any
            type. Intervals then have the clusters as their sample, not the single examples, so that ten frames of one
            film do not count as ten images. An example whose name is missing is a cluster of its own. None by default,
            for independent examples; exact copies of an example, which `tfaudit.predict` knows, are then clusters if
            they make a difference (`tfaudit.stats.clusters_of_copies`).
        ties: predictions whose best score several classes share; row k N + i is member k's for example i. By default
            none, or those in the result of `tfaudit.predict`.
        read_as: what each column of the files was read as, one line per file; none by default.

    Raises:
        InputError: shapes do not match, classes are out of range, a ranking has a class twice, or ids repeat.

    Example:
        >>> predictions = Predictions([0, 1, 1], [[[0], [1], [0]], [[0], [0], [0]]])
        >>> predictions.recall().tolist(), predictions.modal().tolist()
        ([[1.0, 0.5], [1.0, 0.0]], [0, 0, 0])
        >>> Predictions.from_scores([0, 1, 2], [[5, 5, 1], [5, 5, 1], [5, 5, 1]]).correct()
        array([[0.5, 0.5, 0. ]])
        >>> Predictions([0], RankedClasses(np.array([[1, 0]])))
        Predictions(1 members, 1 examples, 2 classes, top-2)
    """

    def __init__(
        self,
        labels: ArrayLike,
        ranked: ArrayLike | RankedClasses | Sequence[RankedClasses],
        probabilities: ArrayLike | Callable[[int], np.ndarray] | None = None,
        *,
        class_names: Sequence[str] | None = None,
        listed: bool = True,
        example_ids: ArrayLike | None = None,
        members: Sequence[object] | None = None,
        parents: Sequence[object] | None = None,
        clusters: ArrayLike | None = None,
        ties: Ties | None = None,
        read_as: Sequence[str] = (),
    ) -> None:
        stacked = _ranked_members(ranked)
        if stacked:
            given = type(probabilities).__name__
            require(probabilities is None, "probabilities", given, "none beside predictions")
            ranked, probabilities, ties = _stacked(stacked)
        hashed = (member.contents for member in stacked if member.contents is not None)
        self.contents: np.ndarray | None = next(hashed, None)
        self.ties = Ties.none() if ties is None else ties
        lists = {"class_names": class_names, "members": members, "parents": parents}
        require_type("a list of names", Iterable, type(None), **lists)
        given_names = None if class_names is None else [*map(str, class_names)]
        labels = class_numbers(without_one_hot(np.asarray(labels)), given_names, "labels")
        self.labels = _classes(labels, "labels", 1, np.intp)
        numbers = class_numbers(ranked, given_names, "ranked")  # type: ignore[arg-type]
        self.ranked = _classes(numbers, "ranked", 3)
        count = len(self.labels)
        _check_ranked(self.ranked, count)
        best = max(int(self.ranked.max()), int(self.ties.classes.max(initial=0)))
        largest = max(int(self.labels.max()), best)
        known = map(str, range(1 + largest)) if given_names is None else given_names
        self.class_names = clean_names(known, "class_names")
        self.listed = listed and given_names is not None
        _check_numbers(self.labels, best, len(self.class_names))
        self._read, self._probabilities = _read_or_known(probabilities, self.ranked.shape)
        ids = np.arange(count) if example_ids is None else np.asarray(example_ids)
        self.example_ids = _distinct_ids(ids, count)
        self.clusters_are_copies = clusters is None and self.contents is not None
        if self.contents is not None and clusters is None:
            clusters = clusters_of_copies(self.contents, self.labels)
        self.clusters = None if clusters is None else frozen(cluster_codes(clusters, count))
        self.members = tuple(range(len(self.ranked)) if members is None else members)
        self.parents = None if parents is None else tuple(parents)
        self.read_as = tuple(read_as)
        _require_one_each(len(self.ranked), members=self.members, parents=self.parents)
        self._forget()

    def _forget(self) -> None:
        """Forget results that every comparison with a baseline needs."""
        self._right: dict[int, np.ndarray] = {}
        self._recall: np.ndarray | None = None
        self._modal_classes: BestClasses | None = None

    @classmethod
    def on(cls, examples: Any, ranked: RankedClasses) -> Predictions:
        """Return ranked classes of labelled examples, such as a `tfaudit` data set, as predictions of one member."""
        return cls(
            examples.labels,
            ranked,
            class_names=examples.class_names,
            example_ids=examples.example_ids,
            clusters=examples.clusters,
        )

    @classmethod
    def from_scores(
        cls, labels: ArrayLike, scores: ArrayLike, *, k: int = 5, scores_are: str = "auto", **names
    ) -> Predictions:
        """Rank the classes of scores: probabilities, or logits, which are put through softmax; see `rank_scores`.

        Args:
            labels: `(N,)` integers, or names if those of the classes are known, or one-hot `(N, C)`.
            scores: scores of the classes, `(K, N, C)` or `(N, C)` finite floats; others raise `InputError`. For two
                classes also the scores of class 1 alone, `(N,)`, `(N, 1)` or `(K, N, 1)`: probabilities if all lie in
                [0, 1], logits if they have both signs. A DataFrame, whose columns name the classes: columns that
                differ by a number, such as `p0` to `p9`, are those of the classes 0 to C-1, in any order.
            k: number of best classes to rank; at most C are stored.
            scores_are: kind of the scores, "probabilities", "logits" or "auto". With "auto", they are probabilities if
                all lie in [0, 1] and rows sum to 1 within 0.001, and logits if any lies outside [0, 1]; otherwise an
                `InputError` asks for the kind.
            **names: arguments of `Predictions`: `class_names`, `example_ids`, `members`, `parents`,
                `clusters`.

        Example:
            >>> Predictions.from_scores([1], [[0.2, 0.8]]).ranked
            array([[[1, 0]]])
        """
        if isinstance(scores, pd.DataFrame) and scores.shape[1] > 1:
            scores, columns = _in_order(scores, names.get("class_names"))
            names["class_names"] = columns
        require_whole("k", k, 1)
        scores = np.asarray(scores)
        probabilities = stated_kind(scores_are)
        scores = scores[..., None] if scores.ndim == 1 else scores
        scores = scores[None] if scores.ndim == 2 else scores
        if scores.ndim != 3:
            raise InputError(
                "scores",
                f"shape {scores.shape}",
                "(members, examples, classes) or (examples, classes)",
            )
        if scores.shape[2] == 1:
            scores, probabilities = scores_of_both(scores[..., 0], probabilities)
        blocks = (member.astype(np.float64) for member in scores)
        ranked = rank_scores(blocks, k=k, probabilities=probabilities)
        if names.get("class_names") is None and distinct_names(labels) is None:
            names["class_names"] = tuple(map(str, range(scores.shape[2])))
        classes, ranked_probabilities = (
            frozen(np.asarray(array).reshape(*scores.shape[:2], -1)) for array in ranked
        )
        return cls(labels, classes.astype(np.intp), ranked_probabilities, ties=ranked.ties, **names)

    @classmethod
    def from_ranked(
        cls, labels: ArrayLike, ranked: Sequence[RankedClasses], **names
    ) -> Predictions:
        """Take the ranked classes of K members; probabilities are dropped unless all members have them.

        Example:
            >>> Predictions.from_ranked([0, 1], [RankedClasses(np.array([[0, 1], [0, 1]]))]).accuracy(2)
            array([1.])
        """
        return cls(labels, list(ranked), **names)

    @classmethod
    def from_top1(cls, labels: ArrayLike, classes: ArrayLike, **names) -> Predictions:
        """Take only the best class, `(K, N)` or `(N,)` integers or names.

        If labels and classes are names, `class_names` are by default those that occur, sorted.

        Example:
            >>> Predictions.from_top1([0, 1], [0, 0]).accuracy()
            array([0.5])
            >>> Predictions.from_top1(["cat", "dog"], ["cat", "owl"]).class_names
            ('cat', 'dog', 'owl')
        """
        if names.get("class_names") is None:
            names |= {"class_names": distinct_names(labels, classes), "listed": False}
        top1 = np.asarray(classes)
        top1 = top1[None] if top1.ndim == 1 else top1
        if top1.ndim != 2:
            raise InputError("classes", f"shape {top1.shape}", "(members, examples) or (examples,)")
        return cls(labels, top1[..., None], **names)

    @property
    def num_members(self) -> int:
        """Number of members, K."""
        return self.ranked.shape[0]

    @property
    def num_examples(self) -> int:
        """Number of examples, N."""
        return self.ranked.shape[1]

    @property
    def num_classes(self) -> int:
        """Number of classes, C."""
        return len(self.class_names)

    @property
    def has_probabilities(self) -> bool:
        """Whether the probabilities of the ranked classes are known."""
        return self._read is not None or self._probabilities is not None

    @property
    def probabilities(self) -> np.ndarray | None:
        """Probabilities of the ranked classes, `(K, N, k)`; None if unknown. From a store they are read at each use."""
        if self._read is None:
            return self._probabilities
        return np.stack([self.member_probabilities(i) for i in range(self.num_members)])

    def member_probabilities(self, position: int) -> np.ndarray:
        """Return the probabilities of one member, `(N, k)`, if there are any."""
        if self._read is not None:
            return _probabilities(self._read(position), self.ranked.shape[1:])
        assert self._probabilities is not None
        return self._probabilities[position]

    def log_odds(self, position: int) -> np.ndarray:
        """Return the logarithm of the odds of class 1 of two for one member, `(N,)`, if there are probabilities.

        Example:
            >>> Predictions.from_scores([0, 1], [[0.8, 0.2], [0.5, 0.5]]).log_odds(0).round(2)
            array([-1.39,  0.  ])
        """
        both = np.log(np.maximum(self._both(position), np.finfo(np.float64).tiny))
        return both[:, 1] - both[:, 0]

    def _both(self, position: int) -> np.ndarray:
        """Return the probabilities of both classes of two for one member, `(N, 2)`."""
        first, *others = self.member_probabilities(position).astype(np.float64).T
        second = others[0] if others else 1 - first
        swapped = self.ranked[position, :, 0] == 1
        return np.where(swapped, [second, first], [first, second]).T

    def at_threshold(self, threshold: float, positive: str | None) -> Predictions:
        """Return predictions of two classes: `positive` if its probability is the threshold or more, else the other.

        Raises:
            InputError: no probabilities, not two classes, an unknown one, or a threshold outside (0, 1).

        Example:
            >>> predictions = Predictions.from_scores([0, 1], [[0.8, 0.2], [0.65, 0.35]], class_names=["no", "yes"])
            >>> predictions.top1.tolist(), predictions.at_threshold(0.3, "yes").top1.tolist()
            ([[0, 0]], [[0, 1]])
        """
        is_share = isinstance(threshold, int | float) and 0 < threshold < 1
        require(is_share, "threshold", threshold, "a probability in (0, 1)")
        require(self.num_classes == 2, "class_names", self.num_classes, "two, to set a threshold")
        if not self.has_probabilities:
            raise InputError("scores", "none", "scores of both classes, to set a threshold")
        require_one_of("positive", positive, self.class_names)
        number = self.class_names.index(positive)
        both = np.stack([self._both(i) for i in range(self.num_members)])
        best = np.where(both[..., number] >= threshold, number, 1 - number)
        other = copy.copy(self)
        other.ranked = frozen(np.stack([best, 1 - best], axis=-1))
        other._read, other._probabilities = _read_or_known(
            np.take_along_axis(both, other.ranked, axis=-1), other.ranked.shape
        )
        other.ties = Ties.none()
        other._forget()
        return other

    @property
    def top1(self) -> np.ndarray:
        """Best classes, `(K, N)`; ties go to the class with the lowest number, as in `argmax`."""
        return self.ranked[:, :, 0]

    def best(self, position: int) -> BestClasses:
        """Return one member's best class for every example, or several that tie."""
        return BestClasses(self.top1[position], self.ties.block(position, self.num_examples))

    def best_of(self, index: np.ndarray) -> BestClasses:
        """Return the best classes of all members for P examples; row k P + i is member k's, for the i-th of `index`."""
        rows = np.arange(self.num_members)[:, None] * self.num_examples + index
        return BestClasses(self.top1[:, index].ravel(), self.ties.take(rows.ravel()))

    def tied(self) -> np.ndarray:
        """Return the number of examples for which the classes of each member tie, `(K,)` integers."""
        rows = np.unique(self.ties.rows) // self.num_examples
        return np.bincount(rows, minlength=self.num_members)

    def by_argmax(self) -> Predictions:
        """Return the predictions that `argmax` makes: ties go to the class with the lowest number."""
        if not self.ties:
            return self
        other = copy.copy(self)
        other.ties = Ties.none()
        other._forget()
        return other

    def clustered(self, clusters: ArrayLike | None) -> Predictions:
        """Return the same predictions with other clusters of examples; None for independent examples."""
        other = copy.copy(self)
        other.clusters_are_copies = False
        other.clusters = None
        if clusters is not None:
            other.clusters = frozen(cluster_codes(clusters, self.num_examples))
        return other

    def member(self, position: int) -> RankedClasses:
        """Return the ranked classes of one member."""
        return RankedClasses(
            self.ranked[position],
            self.member_probabilities(position) if self.has_probabilities else None,
            self.ties.block(position, self.num_examples),
            self.contents,
        )

    is_graded: ClassVar[bool] = False
    """Whether outcomes are graded: predictions are right or wrong, also where classes tie."""

    def correct(self, k: int = 1) -> np.ndarray:
        """Return whether the true label is among the k best classes, `(K, N)` floats; k ranks must be stored.

        The values are 1 for yes and 0 for no, or k / m if the true class is one of m > k classes that tie for the first
        place. Ties for lower places are settled by class number.
        """
        return frozen(self.right(k).astype(float))

    def right(self, k: int = 1) -> np.ndarray:
        """Return what `correct` returns, `(K, N)`, as booleans if no classes tie: an eighth of the memory."""
        require(
            1 <= k <= self.ranked.shape[2],
            "k",
            k,
            f"1 to {self.ranked.shape[2]}, the ranks that are stored",
        )
        if k not in self._right:
            right = self.top1 == self.labels
            for rank in range(1, k):
                right |= self.ranked[:, :, rank] == self.labels
            if self.ties:
                right = right.astype(float)
                for member, row in enumerate(right):
                    settle_ties(row, self.ties.block(member, len(row)), self.labels, k)
            self._right[k] = frozen(right)
        return self._right[k]

    def accuracy(self, k: int = 1) -> np.ndarray:
        """Return the `(K,)` top-k accuracies, shares in [0, 1]."""
        return self.right(k).mean(1)

    def recall(self) -> np.ndarray:
        """Return the `(K, C)` recalls, shares in [0, 1]; NaN for a class without examples."""
        if self._recall is None:
            support = np.bincount(self.labels, minlength=self.num_classes)
            hits = [np.bincount(self.labels, row, self.num_classes) for row in self.right()]
            self._recall = frozen(ratio(np.stack(hits), support))
        return self._recall

    def predicted(self) -> np.ndarray:
        """Return how often each member predicts each class, `(K, C)` floats, since ties count in part."""
        counts = np.empty((self.num_members, self.num_classes))
        for member in range(self.num_members):
            _, classes, votes = self.best(member).votes()
            counts[member] = np.bincount(classes, votes, self.num_classes)
        return counts

    def modal(self) -> np.ndarray:
        """Return the `(N,)` modal labels: the class that most members predict, of several the lowest number, [F] 2.3.

        `modal_classes` leaves ties open.
        """
        return frozen(self.modal_classes().first)

    def modal_classes(self) -> BestClasses:
        """Return, for every example, the class that most members predict, or several that tie."""
        if self._modal_classes is None:
            self._modal_classes = modal_classes(self.top1, self.ties)
        return self._modal_classes

    def __repr__(self) -> str:
        members, examples, ranks = self.ranked.shape
        return f"Predictions({members} members, {examples} examples, {self.num_classes} classes, top-{ranks})"


def _in_order(
    scores: pd.DataFrame, class_names: Sequence[str] | None
) -> tuple[pd.DataFrame, Sequence[str]]:
    """Return scores in the order of the classes, by the names or the numbers of the columns, and the class names."""
    columns = [*map(str, scores.columns)]
    if class_names is not None and {*map(str, class_names)} == {*columns}:
        return scores.iloc[:, [columns.index(str(name)) for name in class_names]], class_names
    before, numbers, behind = zip(*map(numbered_name, columns), strict=True)
    if None in numbers or len({*before}) > 1 or len({*behind}) > 1:
        return scores, columns if class_names is None else class_names
    order = np.argsort(numbers)
    if sorted(numbers) != [*range(len(numbers))]:
        got = f"columns {listed([columns[i] for i in order])}"
        raise InputError("scores", got, "numbers from 0, or class_names and an array")
    return scores.iloc[:, order], [
        *map(str, sorted(numbers))
    ] if class_names is None else class_names


def _ranked_members(ranked: object) -> list[RankedClasses]:
    """Return a list of members from `RankedClasses` or a list of them; an empty list for anything else."""
    given = ranked if isinstance(ranked, list) else [ranked]
    members = [member for member in given if isinstance(member, RankedClasses)]
    return members if len(members) == len(given) else []


def _read_or_known(
    probabilities: ArrayLike | Callable[[int], np.ndarray] | None, shape: tuple[int, ...]
) -> tuple[Callable[[int], np.ndarray] | None, np.ndarray | None]:
    """Return the function that reads probabilities, or the checked array of them; None for what is not given."""
    if probabilities is None:
        return None, None
    if callable(probabilities):
        return probabilities, None
    return None, _probabilities(probabilities, shape)


def _require_one_each(count: int, **lists: Sequence[object] | None) -> None:
    """Raise an `InputError` for a list of names that does not hold one for each of `count` members."""
    for argument, names in lists.items():
        if names is not None and len(names) != count:
            raise InputError(argument, f"{len(names)} names", f"{count}, one per member")


def _distinct_ids(ids: np.ndarray, count: int) -> np.ndarray:
    """Return clean ids; raise `InputError` unless they are `count` distinct ones."""
    if ids.shape != (count,):
        raise InputError("example_ids", f"shape {ids.shape}", f"({count},)")
    clean = frozen(clean_texts(ids, "example_ids"))
    if len(pd.unique(clean)) != count:
        raise InputError("example_ids", "an id twice", "unique ids")
    return clean


def _check_ranked(ranked: np.ndarray, count: int) -> None:
    """Raise an `InputError` unless ranks are `(K, count, ranks)` distinct classes."""
    if ranked.shape[1] != count:
        raise InputError("ranked", f"{ranked.shape[1]} examples", f"{count}, one per label")
    if 0 in ranked.shape:
        raise InputError("ranked", f"shape {ranked.shape}", "at least one member, example and rank")
    pairs = itertools.combinations(range(ranked.shape[2]), 2)
    if any((ranked[..., i] == ranked[..., j]).any() for i, j in pairs):
        raise InputError("ranked", "a class twice for one example", "different classes")


def _stacked(ranked: Sequence[RankedClasses]) -> tuple[np.ndarray, np.ndarray | None, Ties]:
    classes, probabilities = zip(*ranked, strict=True)
    ties = Ties.joined([member.ties for member in ranked], [len(rows) for rows in classes])
    unknown = any(array is None for array in probabilities)
    return frozen(np.stack(classes)), None if unknown else frozen(np.stack(probabilities)), ties


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it: `Predictions` does not copy such an array."""
    array.flags.writeable = False
    return array


def _own(values: ArrayLike) -> np.ndarray:
    """Return a read-only array that no other code can change."""
    array = np.asarray(values)
    return frozen(array.copy()) if array.flags.writeable or array.base is not None else array


def _check_numbers(labels: np.ndarray, best: int, known: int) -> None:
    """Raise an `InputError` if there are more classes in labels and predictions than names."""
    first, last = int(labels.min()), int(labels.max())
    if best >= known:
        raise InputError("class_names", f"{known} names", f"{best + 1} or more")
    if last >= known:
        counted = "; subtract 1 from classes that are counted from 1" if first else ""
        expected = f"0 to {known - 1}, as there are {known} classes{counted}"
        raise InputError("labels", f"classes {first} to {last}", expected)


def _classes(
    values: ArrayLike, name: str, dimensions: int, dtype: type | None = None
) -> np.ndarray:
    array = _own(values)
    if array.dtype.kind not in "iu":
        expected = "integers, or names of classes" if array.dtype.kind == "O" else "integers"
        raise InputError(name, f"values of type {array.dtype}", expected)
    if array.ndim != dimensions:
        raise InputError(name, f"shape {array.shape}", plural(dimensions, "dimension"))
    if array.size and array.min() < 0:
        raise InputError(name, f"class {array.min()}", "classes from 0")
    return array if dtype is None or array.dtype == dtype else frozen(array.astype(dtype))


def _probabilities(values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    array = _own(values)
    if array.shape != shape:
        raise InputError("probabilities", f"shape {array.shape}", f"{shape}, the shape of ranked")
    low, high = array.min(), array.max()
    if not are_probabilities(low, high):
        raise InputError("probabilities", f"{low:g} to {high:g}", "values in [0, 1]")
    return array if low >= 0 and high <= 1 else frozen(array.clip(0, 1))


def require_predictions(**named: object) -> None:
    """Raise an `InputError` unless all arguments are predictions; models have functions of their own."""
    for name, value in named.items():
        if not isinstance(value, Predictions):
            expected = "tfaudit.Predictions; compare_models and gate_models take models and data"
            raise InputError(name, type(value).__name__, expected)


def require_same_examples(baseline: Predictions, compressed: Predictions) -> None:
    """Require the same examples, labels and class names in one order; an `InputError` names the first difference."""
    require_predictions(baseline=baseline, compressed=compressed)
    for name, count in (("examples", "num_examples"), ("classes", "num_classes")):
        sizes = [getattr(population, count) for population in (compressed, baseline)]
        if sizes[0] != sizes[1]:
            raise InputError("compressed", f"{sizes[0]} {name}", f"{sizes[1]}, as the baseline has")
    if compressed.class_names != baseline.class_names:
        raise InputError("compressed", "different class_names", "the class_names of the baseline")
    copies = baseline.clusters_are_copies or compressed.clusters_are_copies
    for name in ("example_ids", "labels", *(() if copies else ("clusters",))):
        values = getattr(compressed, name)
        expected = getattr(baseline, name)
        # Clusters that only one side knows hold for both.
        if values is None or expected is None or values is expected:
            continue
        differs = np.flatnonzero(values != expected)
        if len(differs):
            first = f"first {values[differs[0]]} at {differs[0]}"
            got = f"{name} that differ from the baseline's at {len(differs)} positions, {first}"
            raise InputError("compressed", got, str(expected[differs[0]]))
