"""Both populations under the same conditions, on the same images; which conditions show the same images."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tfaudit.audit.corruption.exemplar_flips import flip_counts, lost_first
from tfaudit.errors import InputError, listed
from tfaudit.predictions import Predictions, require_same_examples

__all__ = ["ImageSets", "Observed", "Pair", "Side", "matched_conditions", "observe"]

Pair: TypeAlias = tuple[str, int]
"""Corruption and severity: 1 to 5, or 0 where a set has none."""


def matched_conditions(
    baseline: Mapping[Pair, Predictions], compressed: Mapping[Pair, Predictions]
) -> tuple[Pair, ...]:
    """The conditions of both mappings, in the order of the first.

    Raises:
        InputError: none, a key that is no condition, one that the other mapping lacks, or a corruption with a severity
            and without.

    Example:
        >>> matched_conditions({("fog", 1): None}, {("fog", 2): None})
        Traceback (most recent call last):
        tfaudit.errors.InputError: compressed: lacks fog 1; both must have the same conditions
    """
    for argument, conditions in (("baseline", baseline), ("compressed", compressed)):
        for condition in conditions:
            if not _is_condition(condition):
                allowed = "pairs of a corruption and a severity from 1 to 5, or 0 where a set has none"
                raise InputError(argument, f"key {condition!r}", allowed)
    if not baseline:
        raise InputError("baseline", "no conditions", "Predictions by corruption and severity")
    for argument, here, there in (("compressed", baseline, compressed), ("baseline", compressed, baseline)):
        if missing := [" ".join(map(str, condition)) for condition in here if condition not in there]:
            raise InputError(f"{argument}: lacks {listed(missing)}; both must have the same conditions")
    graded = {corruption for corruption, severity in baseline if severity}
    if mixed := [corruption for corruption, severity in baseline if not severity and corruption in graded]:
        raise InputError("baseline", f"{listed(mixed)} with a severity and without", "one of the two")
    return tuple(baseline)


def _is_condition(key: object) -> bool:
    if not isinstance(key, tuple) or len(key) != 2:
        return False
    corruption, severity = key
    return isinstance(corruption, str) and isinstance(severity, int) and 0 <= severity <= 5


class _Images(NamedTuple):
    ids: np.ndarray
    labels: np.ndarray


class ImageSets:
    """The sets of images seen so far; without predictions, which would keep whole conditions in memory."""

    def __init__(self) -> None:
        self.class_names: tuple[str, ...] = ()
        self._known: list[_Images] = []

    def labels(self, pair: tuple[Predictions, Predictions], place: str) -> np.ndarray:
        """`(N,)` true classes; the same array whenever the same images are shown.

        Args:
            pair: baseline and compressed population.
            place: where they answer, for people.

        Raises:
            InputError: the two differ in their examples, or in their classes from the pairs before.
        """
        try:
            require_same_examples(*pair)
        except InputError as problem:
            raise InputError(f"{problem} ({place})") from None
        first = pair[0]
        self.class_names = self.class_names or first.class_names
        if first.class_names != self.class_names:
            raise InputError(f"baseline: class_names differ from those of the conditions before ({place})")
        for known in self._known:
            if np.array_equal(known.labels, first.labels) and np.array_equal(known.ids, first.example_ids):
                return known.labels
        self._known.append(_Images(first.example_ids, first.labels))
        return first.labels


class _Glance(NamedTuple):
    """What is kept of one population under one condition."""

    members: tuple[object, ...]
    accuracy: Mapping[int, np.ndarray]
    recall: np.ndarray
    right: Mapping[int, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Side:
    """One population: M members in S + 1 columns, the conditions and last the clean images; NaN where not evaluated.

    Attributes:
        members: names of the M.
        accuracy: by k, `(M, S + 1)` top-k accuracy.
        recall: `(M, S + 1, C)` recall of each class.
        right: by k and column, of a single member the `(N,)` right answers; no entry for several members.
        counts: `(S,)` how many members were evaluated under each condition.
        clean_members: how many were on clean images.
    """

    members: tuple[object, ...]
    accuracy: Mapping[int, np.ndarray]
    recall: np.ndarray
    right: Mapping[tuple[int, int], np.ndarray]
    counts: tuple[int, ...]
    clean_members: int

    def complete(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """`(M,)` booleans: which members were evaluated in all of these columns."""
        return ~np.isnan(self.accuracy[1][:, columns]).any(1)


@dataclasses.dataclass(frozen=True)
class Observed:
    """Two populations under S conditions and, as column S, on clean images.

    Attributes:
        conditions: S pairs of corruption and severity, in the order of the baseline's mapping.
        class_names: of the C classes.
        labels: of each column, the `(N,)` true classes; columns that show the same examples share one array.
        ranks: the k of which accuracies are known: 1, and 5 where five ranks are stored throughout.
        before: the baseline.
        after: the compressed population.
        flips: counts of exemplars among flips, one row per condition that shows the clean examples.
        lost_first: by corruption that shows the clean examples, `(N,)` at how many severities the compressed population
            alone loses an example.
        paired: are members of the same name made from one another?
    """

    conditions: tuple[Pair, ...]
    class_names: tuple[str, ...]
    labels: tuple[np.ndarray, ...]
    ranks: tuple[int, ...]
    before: Side
    after: Side
    flips: tuple[dict[str, object], ...]
    lost_first: Mapping[str, np.ndarray]
    paired: bool

    @property
    def corruptions(self) -> dict[str, list[int]]:
        """The columns of every corruption."""
        found: dict[str, list[int]] = {}
        for i, (corruption, _) in enumerate(self.conditions):
            found.setdefault(corruption, []).append(i)
        return found

    @property
    def graded(self) -> dict[str, list[int]]:
        """The columns of every corruption that has severities: the ones that means are over."""
        return {name: at for name, at in self.corruptions.items() if self.conditions[at[0]][1] > 0}

    @property
    def clean(self) -> bool:
        """Are there clean images?"""
        return len(self.labels) > len(self.conditions)

    @property
    def single(self) -> bool:
        """Is it one model against one, under every condition?"""
        return set(self.before.counts) == set(self.after.counts) == {1}

    def rows(self, columns: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the members of either side that were evaluated in all columns; of pairs, where both were."""
        sides = self.before, self.after
        before, after = (np.flatnonzero(side.complete(columns)) for side in sides)
        if not self.paired:
            return before, after
        where = {self.after.members[i]: i for i in after}
        pairs = [(i, where[name]) for i in before if (name := self.before.members[i]) in where]
        both = np.array(pairs, int).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def one_against_one(self, columns: Sequence[int] | np.ndarray, k: int) -> bool:
        """Can the answers of two single models be paired by image: the same images in all of these columns?"""
        alone = all((k, i) in side.right for side in (self.before, self.after) for i in columns)
        return alone and len({id(self.labels[i]) for i in columns}) == 1


def observe(
    baseline: Mapping[Pair, Predictions],
    compressed: Mapping[Pair, Predictions],
    clean: tuple[Predictions, Predictions] | None,
    *,
    paired: bool,
) -> Observed:
    """Asks each mapping for each condition once.

    Raises:
        InputError: as `tfaudit.audit.corruption.robustness.robustness`.
    """
    conditions = matched_conditions(baseline, compressed)
    sets = ImageSets()
    clean_labels = sets.labels(clean, "clean") if clean else None
    glances: tuple[list[_Glance], list[_Glance]] = ([], [])
    labels: list[np.ndarray] = []
    flips: list[dict[str, object]] = []
    lost: dict[str, np.ndarray] = {}
    for condition in conditions:
        pair = baseline[condition], compressed[condition]
        labels.append(sets.labels(pair, f"{condition[0]}, severity {condition[1]}"))
        for side, population in zip(glances, pair, strict=True):
            side.append(_glance(population, []))
        if clean and labels[-1] is clean_labels:
            flips.append({"corruption": condition[0], "severity": condition[1], **flip_counts(clean, pair)})
            lost[condition[0]] = lost.get(condition[0], 0) + lost_first(clean, pair).astype(np.int16)
    if clean and clean_labels is not None:
        labels.append(clean_labels)
        for side, population in zip(glances, clean, strict=True):
            side.append(_glance(population, side))
    ranks = (1, 5) if all(5 in glance.accuracy for side in glances for glance in side) else (1,)
    before, after = (_side(side, ranks, len(conditions)) for side in glances)
    return Observed(conditions, sets.class_names, tuple(labels), ranks, before, after, tuple(flips), lost, paired)


def _glance(population: Predictions, corrupted: list[_Glance]) -> _Glance:
    """Of clean images the one member matters that was evaluated under corruption, where it is the same throughout."""
    known = [k for k in (1, 5) if k <= population.ranked.shape[2]]
    alone = {glance.members for glance in corrupted} or {population.members}
    chosen = [i for i, member in enumerate(population.members) if alone == {(member,)}]
    return _Glance(
        population.members,
        {k: population.accuracy(k) for k in known},
        population.recall(),
        {k: population.correct(k)[i].copy() for i in chosen for k in known},
    )


def _side(glances: list[_Glance], ranks: tuple[int, ...], conditions: int) -> Side:
    """Members in the order in which they appear; a clean column is last even where it is missing."""
    members = list(dict.fromkeys(member for glance in glances for member in glance.members))
    accuracy = {k: np.full((len(members), conditions + 1), np.nan) for k in ranks}
    recall = np.full((len(members), conditions + 1, glances[0].recall.shape[1]), np.nan)
    for column, glance in enumerate(glances):
        rows = [members.index(member) for member in glance.members]
        recall[rows, column] = glance.recall
        for k in ranks:
            accuracy[k][rows, column] = glance.accuracy[k]
    right = {(k, column): glance.right[k] for column, glance in enumerate(glances) for k in ranks if glance.right}
    counts = tuple(len(glance.members) for glance in glances)
    return Side(
        tuple(members),
        accuracy,
        recall,
        right,
        counts[:conditions],
        counts[conditions] if len(counts) > conditions else 0,
    )
