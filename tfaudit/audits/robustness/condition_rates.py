"""Accuracies and recalls of two populations under the same conditions, computed in one pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tfaudit.audits.robustness.exemplar_flips import flip_counts, lost_first
from tfaudit.errors import InputError, listed
from tfaudit.predictions import Predictions, require_same_examples

CorruptionLevel: TypeAlias = tuple[str, int]
"""A corruption and its severity: 1 to 5, or 0 for a set without severities, such as ImageNet-A."""


@dataclasses.dataclass(frozen=True)
class PackedShares:
    """Numbers in [0, 1] of M members on N images, nearly all 0 or 1, in little memory.

    Attributes:
        bits: `(M, N / 8)` which numbers are 1, eight images a byte.
        member, image, share: `(T,)` the numbers between 0 and 1, those of predictions that tie.
    """

    bits: np.ndarray
    member: np.ndarray
    image: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, shares: np.ndarray) -> PackedShares:
        """Pack `(M, N)` numbers."""
        member, image = np.nonzero((shares > 0) & (shares < 1))
        return cls(np.packbits(shares == 1, axis=1), member, image, shares[member, image])

    def members(self, rows: np.ndarray, images: int) -> np.ndarray:
        """Return the `(m, N)` numbers of some members, each asked for once."""
        shares = np.unpackbits(self.bits[rows], axis=1, count=images).astype(float)
        place = np.full(len(self.bits), -1)
        place[rows] = np.arange(len(rows))
        wanted = place[self.member] >= 0
        shares[place[self.member[wanted]], self.image[wanted]] = self.share[wanted]
        return shares


@dataclasses.dataclass(frozen=True)
class PopulationRates:
    """Rates of one population: M members in S + 1 columns, the conditions and last the clean images.

    Attributes:
        members: names of the members, in the order of their appearance.
        parents: name of the baseline's member that each was made from; the names of the members where unknown.
        accuracy: by k, the `(M, S + 1)` top-k accuracies; NaN if not evaluated.
        recall: `(M, S + 1, C)` recalls; NaN if not evaluated.
        packed: by k and column, the correct predictions of its members.
        rows: by column, `(M,)` rows of the members in `packed`; -1 if not evaluated.
    """

    members: tuple[object, ...]
    parents: tuple[object, ...]
    accuracy: Mapping[int, np.ndarray]
    recall: np.ndarray
    packed: Mapping[tuple[int, int], PackedShares]
    rows: Mapping[int, np.ndarray]

    @property
    def evaluated(self) -> np.ndarray:
        """`(M, S + 1)` booleans: which members were evaluated in which column."""
        return np.isfinite(self.accuracy[1])

    def correct(self, k: int, column: int, members: np.ndarray, images: int) -> np.ndarray:
        """Return `(m, N)` numbers in [0, 1]: which predictions of these members, by position, are right in a column."""
        return self.packed[k, column].members(self.rows[column][members], images)


@dataclasses.dataclass(frozen=True)
class ConditionRates:
    """Rates of two populations under S conditions and, as column S, on clean images.

    Attributes:
        conditions: the S corruption levels, in the order of the baseline's mapping.
        class_names: names of the C classes.
        labels: `(N,)` true classes of each column; columns with the same examples share one array.
        ranks: the k of the known accuracies: 1, and 5 if five ranks are stored under every condition.
        before: rates of the baseline.
        after: rates of the compressed population.
        flips: counts of exemplars among flips, one row per condition that shows the clean examples.
        lost_first: as in `Robustness`.
        paired: whether compressed members are made from the baseline's members.
    """

    conditions: tuple[CorruptionLevel, ...]
    class_names: tuple[str, ...]
    labels: tuple[np.ndarray, ...]
    ranks: tuple[int, ...]
    before: PopulationRates
    after: PopulationRates
    flips: tuple[dict[str, object], ...]
    lost_first: Mapping[str, np.ndarray]
    paired: bool

    @property
    def populations(self) -> tuple[PopulationRates, PopulationRates]:
        """The baseline and the compressed population."""
        return self.before, self.after

    @property
    def corruptions(self) -> dict[str, list[int]]:
        """The columns of every corruption."""
        columns: dict[str, list[int]] = {}
        for i, (corruption, _) in enumerate(self.conditions):
            columns.setdefault(corruption, []).append(i)
        return columns

    @property
    def graded(self) -> dict[str, list[int]]:
        """The columns of every corruption that has severities; means over corruptions are over these."""
        return {
            name: columns
            for name, columns in self.corruptions.items()
            if self.conditions[columns[0]][1] > 0
        }

    @property
    def has_clean(self) -> bool:
        """Whether there are clean images."""
        return len(self.labels) > len(self.conditions)

    def complete_members(
        self, columns: Sequence[int] | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the members of either population that were evaluated in all of these columns.

        Of paired populations only members count whose partner was evaluated, too; they are in the same order.
        """
        before, after = (
            np.flatnonzero(population.evaluated[:, columns].all(1))
            for population in self.populations
        )
        if not self.paired:
            return before, after
        position = {self.after.parents[i]: i for i in after}
        pairs = [
            (i, position[name]) for i in before if (name := self.before.members[i]) in position
        ]
        first, second = np.array(pairs, int).reshape(-1, 2).T
        return first, second

    def image_sets(self, columns: Sequence[int] | np.ndarray) -> list[list[int]]:
        """Return the columns in lists that show the same images."""
        sets: dict[int, list[int]] = {}
        for column in columns:
            sets.setdefault(id(self.labels[column]), []).append(int(column))
        return list(sets.values())

    def shares(self, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what every complete member gets right of every image, summed over the columns with their weights.

        The three arrays are `(m0, N)` of the baseline, `(m1, N)` of the compressed population and `(N,)`, the image set
        of each image: all sets stand side by side.
        """
        columns = np.flatnonzero(weights)
        sets = self.image_sets(columns)
        sizes = [len(self.labels[group[0]]) for group in sets]
        sides = []
        for population, members in zip(
            self.populations, self.complete_members(columns), strict=True
        ):
            if len(columns) == 1 and weights[columns[0]] == 1:
                sides.append(population.correct(k, int(columns[0]), members, sizes[0]))
                continue
            total = np.zeros((len(members), sum(sizes)))
            for start, size, group in zip(np.cumsum([0, *sizes]), sizes, sets, strict=False):
                for column in group:
                    right = population.correct(k, column, members, size)
                    total[:, start : start + size] += weights[column] * right
            sides.append(total)
        return sides[0], sides[1], np.repeat(np.arange(len(sets)), sizes)


def _are_partners(before: PopulationRates, after: PopulationRates, rates: Sequence[_Rates]) -> bool:
    """Return whether compressed members say that they were made from those of the baseline."""
    derived = any(column.parents is not None for column in rates)
    return derived and not set(after.parents).isdisjoint(before.members)


def condition_rates(
    baseline: Mapping[CorruptionLevel, Predictions],
    compressed: Mapping[CorruptionLevel, Predictions],
    clean: tuple[Predictions, Predictions] | None,
    *,
    paired: bool | None,
) -> ConditionRates:
    """Compute the rates of both populations, reading each condition once; raises as `robustness` does."""
    conditions = matched_conditions(baseline, compressed)
    image_sets = _ImageSets()
    clean_labels = image_sets.labels(clean, "clean") if clean else None
    rates: tuple[list[_Rates], list[_Rates]] = ([], [])
    labels: list[np.ndarray] = []
    flips: list[dict[str, object]] = []
    lost: dict[str, np.ndarray] = {}
    for corruption, severity in conditions:
        populations = baseline[corruption, severity], compressed[corruption, severity]
        labels.append(image_sets.labels(populations, f"{corruption}, severity {severity}"))
        for columns, population in zip(rates, populations, strict=True):
            columns.append(_rates(population))
        if clean and labels[-1] is clean_labels:
            flips.append(
                {"corruption": corruption, "severity": severity, **flip_counts(clean, populations)}
            )
            lost[corruption] = lost.get(corruption, 0) + lost_first(clean, populations).astype(
                np.int16
            )
    if clean and clean_labels is not None:
        labels.append(clean_labels)
        for columns, population in zip(rates, clean, strict=True):
            columns.append(_rates(population))
    ranks = (1, 5) if all(5 in column.accuracy for columns in rates for column in columns) else (1,)
    before, after = (_population_rates(columns, ranks, len(conditions)) for columns in rates)
    if paired is None:
        paired = _are_partners(before, after, rates[1])
    sets = conditions, image_sets.class_names, tuple(labels), ranks
    return ConditionRates(*sets, before, after, tuple(flips), lost, paired)


def matched_conditions(
    baseline: Mapping[CorruptionLevel, Predictions],
    compressed: Mapping[CorruptionLevel, Predictions],
) -> tuple[CorruptionLevel, ...]:
    """Return the conditions of both mappings, in the order of the first.

    Raises:
        InputError: no conditions, a key that is not one, a condition that the other mapping lacks, or a corruption both
            with and without severity.

    Example:
        >>> matched_conditions({("fog", 1): None}, {("fog", 2): None})
        Traceback (most recent call last):
        tfaudit.errors.InputError: compressed: got no fog 1, expected the same conditions as the other population
    """
    for argument, conditions in (("baseline", baseline), ("compressed", compressed)):
        for condition in conditions:
            match condition:
                case (str(), int(severity)) if 0 <= severity <= 5:
                    continue
            allowed = "pairs of a corruption and a severity from 1 to 5, or 0 for a set without severities"
            raise InputError(argument, f"key {condition!r}", allowed)
    if not baseline:
        raise InputError("baseline", "no conditions", "Predictions by corruption and severity")
    for argument, own, other in (
        ("compressed", compressed, baseline),
        ("baseline", baseline, compressed),
    ):
        if missing := [
            " ".join(map(str, condition)) for condition in other if condition not in own
        ]:
            raise InputError(
                argument, f"no {listed(missing)}", "the same conditions as the other population"
            )
    graded = {corruption for corruption, severity in baseline if severity}
    if mixed := [
        corruption for corruption, severity in baseline if not severity and corruption in graded
    ]:
        raise InputError(
            "baseline", f"{listed(mixed)} with a severity and without", "one of the two"
        )
    return tuple(baseline)


class _ImageSets:
    """Distinct sets of images; without predictions, which would hold every condition in memory."""

    def __init__(self) -> None:
        self.class_names: tuple[str, ...] = ()
        self._sets: list[tuple[np.ndarray, np.ndarray]] = []

    def labels(self, populations: tuple[Predictions, Predictions], condition: str) -> np.ndarray:
        """Return the `(N,)` true classes, one array for equal images; raise where examples or classes differ."""
        try:
            require_same_examples(*populations)
        except InputError as problem:
            raise InputError(
                f"{problem.argument} ({condition})", problem.got, problem.expected
            ) from None
        baseline = populations[0]
        self.class_names = self.class_names or baseline.class_names
        if baseline.class_names != self.class_names:
            raise InputError(
                f"baseline ({condition})", "other class names", "those of the other conditions"
            )
        for ids, labels in self._sets:
            if np.array_equal(labels, baseline.labels) and np.array_equal(
                ids, baseline.example_ids
            ):
                return labels
        self._sets.append((baseline.example_ids, baseline.labels))
        return baseline.labels


class _Rates(NamedTuple):
    """Rates of one population in one column."""

    members: Sequence[object]
    parents: Sequence[object] | None
    accuracy: Mapping[int, np.ndarray]
    recall: np.ndarray
    packed: Mapping[int, PackedShares]


def _rates(population: Predictions) -> _Rates:
    ranks = [k for k in (1, 5) if k <= population.ranked.shape[2]]
    return _Rates(
        population.members,
        population.parents,
        {k: population.accuracy(k) for k in ranks},
        population.recall(),
        {k: PackedShares.of(population.correct(k)) for k in ranks},
    )


def _population_rates(
    columns: list[_Rates], ranks: tuple[int, ...], conditions: int
) -> PopulationRates:
    """Collect the columns; members in the order of their appearance, the clean column last even if it is missing."""
    members = list(dict.fromkeys(member for column in columns for member in column.members))
    accuracy = {k: np.full((len(members), conditions + 1), np.nan) for k in ranks}
    recall = np.full((len(members), conditions + 1, columns[0].recall.shape[1]), np.nan)
    parents = dict(zip(members, members, strict=True))
    places = {}
    for i, column in enumerate(columns):
        parents |= dict(zip(column.members, column.parents or (), strict=False))
        rows = [members.index(member) for member in column.members]
        places[i] = np.full(len(members), -1)
        places[i][rows] = np.arange(len(rows))
        recall[rows, i] = column.recall
        for k in ranks:
            accuracy[k][rows, i] = column.accuracy[k]
    packed = {(k, i): column.packed[k] for i, column in enumerate(columns) for k in ranks}
    return PopulationRates(
        tuple(members), tuple(parents.values()), accuracy, recall, packed, places
    )
