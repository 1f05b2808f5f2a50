"""Accuracies and recalls of two populations under the same conditions, computed in one pass."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy import sparse

from tfaudit.audits.robustness.exemplar_flips import flip_counts, lost_first
from tfaudit.errors import InputError, listed, require_type
from tfaudit.predictions import Predictions, require_same_examples

CorruptionLevel: TypeAlias = tuple[str, int]
"""A corruption and its severity: 1 to 5, or 0 for a set without severities, such as ImageNet-A."""


@dataclasses.dataclass(frozen=True)
class PackedShares:
    """Numbers in [0, 1] of M members on N images, nearly all 0 or 1, in little memory.

    Attributes:
        ones: `(M, N / 8)` bits that mark the numbers equal to 1, eight images per byte.
        between: `(M, N)` sparse array of the numbers between 0 and 1, which come from ties.
    """

    ones: np.ndarray
    between: sparse.csr_array

    @classmethod
    def of(cls, shares: np.ndarray) -> PackedShares:
        """Pack `(M, N)` numbers."""
        ones = shares == 1
        return cls(np.packbits(ones, axis=1), sparse.csr_array(np.where(ones, 0.0, shares)))

    def members(self, rows: Sequence[int]) -> np.ndarray:
        """Return the `(m, N)` numbers of some members."""
        ones = np.unpackbits(self.ones[rows], axis=1, count=self.between.shape[1]).astype(float)
        if not self.between.nnz:  # most models never tie, and indexing sparse rows takes long
            return ones
        return ones + self.between[rows].toarray()


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Correct predictions of M members of a population under one condition.

    Attributes:
        members: names of the members.
        parents: name of the baseline's member that each member was made from, by name; empty if unknown.
        accuracy: `(M,)` top-k accuracies, by k.
        recall: `(M, C)` recalls.
        packed: correct predictions, by k.
    """

    members: tuple[object, ...]
    parents: Mapping[object, object]
    accuracy: Mapping[int, np.ndarray]
    recall: np.ndarray
    packed: Mapping[int, PackedShares]

    @classmethod
    def of(cls, population: Predictions) -> Evaluation:
        """Evaluate the predictions of a population, at k = 1 and, if five ranks are stored, at 5."""
        ranks = [k for k in (1, 5) if k <= population.ranked.shape[2]]
        return cls(
            population.members,
            dict(zip(population.members, population.parents or (), strict=False)),
            {k: population.accuracy(k) for k in ranks},
            population.recall(),
            {k: PackedShares.of(population.right(k)) for k in ranks},
        )

    def rows(self, members: Sequence[object]) -> list[int]:
        """Return the positions of members by name."""
        return [self.members.index(member) for member in members]

    def correct(self, k: int, members: Sequence[object]) -> np.ndarray:
        """Return `(m, N)` numbers in [0, 1]: whether the predictions of these members are right."""
        return self.packed[k].members(self.rows(members))


@dataclasses.dataclass(frozen=True)
class ConditionRates:
    """Rates of two populations under S conditions and, as column S, on clean images if there are any.

    Attributes:
        conditions: the S corruption levels, in the order of the baseline's mapping.
        class_names: names of the C classes.
        labels: `(N,)` true classes of each column; columns with the same examples share one array.
        clusters: `(N,)` integers, the cluster of each image of each column; None if none has clusters.
        ranks: the k of the known accuracies: 1, and 5 if five ranks are stored under every condition.
        before: evaluations of the baseline, one for each column.
        after: evaluations of the compressed population, one for each column.
        pairing: whether compressed members are made from the baseline's members; None to take it from their parents.
        flips: counts of exemplars among flips, one row per condition that shows the clean examples.
        lost_first, alpha, margin_pp: losses under corruption by image, level of the tests, and margin of no change; see
            `Robustness`.
    """

    conditions: tuple[CorruptionLevel, ...]
    class_names: tuple[str, ...]
    labels: Sequence[np.ndarray]
    clusters: Sequence[np.ndarray] | None
    ranks: tuple[int, ...]
    before: Sequence[Evaluation]
    after: Sequence[Evaluation]
    pairing: bool | None
    flips: Sequence[dict[str, object]]
    lost_first: Mapping[str, np.ndarray]
    alpha: float
    margin_pp: float

    @property
    def sides(self) -> tuple[Sequence[Evaluation], Sequence[Evaluation]]:
        """The baseline and the compressed population."""
        return self.before, self.after

    @property
    def members(self) -> tuple[list[object], list[object]]:
        """Names of all members of each population, in the order of their appearance."""
        before, after = (
            list(dict.fromkeys(name for evaluation in side for name in evaluation.members))
            for side in self.sides
        )
        return before, after

    @functools.cached_property
    def partners(self) -> Mapping[object, object]:
        """The baseline's member that each compressed member is made from; {} for independent populations."""
        before, after = self.members
        parents = {k: v for evaluation in self.after for k, v in evaluation.parents.items()}
        partners = {member: parents.get(member, member) for member in after}
        known = bool(parents) and not set(partners.values()).isdisjoint(before)
        paired = known if self.pairing is None else self.pairing
        return partners if paired else {}

    @property
    def paired(self) -> bool:
        """Whether compressed members are made from the baseline's members."""
        return bool(self.partners)

    @property
    def corruptions(self) -> dict[str, list[int]]:
        """The columns of every corruption."""
        columns: dict[str, list[int]] = {}
        for i, (corruption, _) in enumerate(self.conditions):
            columns.setdefault(corruption, []).append(i)
        return columns

    @property
    def graded(self) -> dict[str, list[int]]:
        """The columns of every corruption that has severities; means over corruptions use only these."""
        return {
            name: columns
            for name, columns in self.corruptions.items()
            if self.conditions[columns[0]][1] > 0
        }

    @property
    def has_clean(self) -> bool:
        """Whether there are clean images."""
        return len(self.labels) > len(self.conditions)

    def mean_over(self, columns: Sequence[int]) -> np.ndarray:
        """Return `(S + 1,)` equal weights of these columns, which sum to 1."""
        weights = np.zeros(len(self.conditions) + 1)
        weights[columns] = 1 / len(columns)
        return weights

    def complete_members(self, columns: Sequence[int]) -> tuple[list[object], list[object]]:
        """Return the names of the members of each population that were evaluated in all of these columns.

        In paired populations a member counts only if its partner was evaluated, too; both lists have the same order.
        """
        before, after = (
            [name for name in names if all(name in side[i].members for i in columns)]
            for side, names in zip(self.sides, self.members, strict=True)
        )
        if self.paired:
            made_from = {self.partners[name]: name for name in after}
            before = [name for name in before if name in made_from]
            after = [made_from[name] for name in before]
        return before, after

    def image_sets(self, columns: Sequence[int]) -> list[list[int]]:
        """Return lists of columns that show the same images."""
        sets: dict[int, list[int]] = {}
        for column in columns:
            sets.setdefault(id(self.labels[column]), []).append(column)
        return list(sets.values())

    def shares(
        self, weights: np.ndarray, k: int, *, wrong: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how far every complete member is right on every image, summed over the columns with their weights.

        The three arrays are `(m0, N)` for the baseline, `(m1, N)` for the compressed population and `(N,)`, the image
        set of each image; the sets are concatenated, as in `clusters_of`. `weights` are `(S + 1,)`, or `(2, S + 1)`
        with a row for each population; `wrong` sums wrong predictions instead.
        """
        of_sides = np.broadcast_to(weights, (2, np.shape(weights)[-1]))
        columns = np.flatnonzero(of_sides.any(axis=0)).tolist()
        sets = self.image_sets(columns)
        before, after = (
            np.concatenate(
                [
                    sum(own[i] * np.abs(wrong - side[i].correct(k, members)) for i in images)
                    for images in sets
                ],
                1,
            )
            for side, members, own in zip(
                self.sides, self.complete_members(columns), of_sides, strict=True
            )
        )
        sizes = [len(self.labels[images[0]]) for images in sets]
        return before, after, np.repeat(np.arange(len(sets)), sizes)

    def clusters_of(self, columns: Sequence[int]) -> np.ndarray | None:
        """Return the `(N,)` clusters of the concatenated image sets of these columns; None if there are none.

        Sets of different images have no cluster in common.
        """
        if self.clusters is None:
            return None
        parts: list[np.ndarray] = []
        for images in self.image_sets(columns):
            first = 1 + parts[-1].max() if parts else 0
            parts.append(first + self.clusters[images[0]])
        return np.concatenate(parts)

    def weighted(
        self, weights: np.ndarray, figures: Callable[[Evaluation], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return weighted sums over the columns of figures of each population's complete members, a row each."""
        columns = np.flatnonzero(weights).tolist()
        before, after = (
            np.sum([weights[i] * figures(side[i])[side[i].rows(members)] for i in columns], axis=0)
            for side, members in zip(self.sides, self.complete_members(columns), strict=True)
        )
        return before, after


def level_in_words(level: CorruptionLevel) -> str:
    """Return a corruption and its severity as sentences name them.

    Example:
        >>> level_in_words(("gaussian_noise", 3)), level_in_words(("imagenet_a", 0))
        ('gaussian noise 3', 'imagenet a')
    """
    corruption, severity = level
    return f"{corruption} {severity or ''}".strip().replace("_", " ")


def condition_rates(
    baseline: Mapping[CorruptionLevel, Predictions],
    compressed: Mapping[CorruptionLevel, Predictions],
    clean: tuple[Predictions, Predictions] | None,
    *,
    paired: bool | None,
    alpha: float,
    margin_pp: float,
) -> ConditionRates:
    """Compute the rates of both populations, reading each condition once; raises as `robustness` does."""
    conditions = matched_conditions(baseline, compressed)
    images = _Images()
    clean_labels = images.labels(clean, "clean") if clean else None
    labels: list[np.ndarray] = []
    clusters: list[np.ndarray | None] = []
    evaluations: list[list[Evaluation]] = []
    flips: list[dict[str, object]] = []
    lost: dict[str, np.ndarray] = {}
    for corruption, severity in conditions:
        populations = baseline[corruption, severity], compressed[corruption, severity]
        labels.append(images.labels(populations, f"{corruption}, severity {severity}"))
        clusters.append(populations[0].clusters)
        evaluations.append([Evaluation.of(population) for population in populations])
        if clean and labels[-1] is clean_labels:
            counts = flip_counts(clean, populations)
            flips.append({"corruption": corruption, "severity": severity, **counts})
            lost[corruption] = lost.get(corruption, np.int16(0)) + lost_first(clean, populations)
    if clean:
        labels.append(images.labels(clean, "clean"))
        clusters.append(clean[0].clusters)
        evaluations.append([Evaluation.of(population) for population in clean])
    every_k = [set(evaluation.packed) for pair in evaluations for evaluation in pair]
    return ConditionRates(
        conditions=conditions,
        class_names=images.class_names,
        labels=labels,
        clusters=_known_clusters(clusters, labels),
        ranks=tuple(sorted(set.intersection(*every_k))),
        before=[before for before, _ in evaluations],
        after=[after for _, after in evaluations],
        pairing=paired,
        flips=flips,
        lost_first=lost,
        alpha=alpha,
        margin_pp=margin_pp,
    )


def _known_clusters(
    clusters: Sequence[np.ndarray | None], labels: Sequence[np.ndarray]
) -> list[np.ndarray] | None:
    """Return the clusters of each column, where images without clusters are clusters of their own; None for none."""
    if all(codes is None for codes in clusters):
        return None
    of_images = {
        id(rows): codes for rows, codes in zip(labels, clusters, strict=True) if codes is not None
    }
    return [of_images.get(id(rows), np.arange(len(rows))) for rows in labels]


def matched_conditions(
    baseline: Mapping[CorruptionLevel, Predictions],
    compressed: Mapping[CorruptionLevel, Predictions],
) -> tuple[CorruptionLevel, ...]:
    """Return the conditions of both mappings, in the order of the first.

    Raises:
        InputError: no conditions, a key that is not a condition, a condition that the other mapping lacks, or a
            corruption both with and without severity.

    Example:
        >>> matched_conditions({("fog", 1): None}, {("fog", 2): None})
        Traceback (most recent call last):
        tfaudit.errors.InputError: compressed: got no fog 1, expected the same conditions as the other population
    """
    require_type("Predictions by corruption and severity", Mapping, baseline=baseline)
    require_type("Predictions by corruption and severity", Mapping, compressed=compressed)
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
            f"{name} {severity}" for name, severity in other if (name, severity) not in own
        ]:
            expected = "the same conditions as the other population"
            raise InputError(argument, f"no {listed(missing)}", expected)
    graded = {corruption for corruption, severity in baseline if severity}
    if mixed := [name for name, severity in baseline if not severity and name in graded]:
        got = f"{listed(mixed)} with a severity and without"
        raise InputError("baseline", got, "all with a severity, or all without")
    return tuple(baseline)


class _Images:
    """Distinct sets of images, kept without predictions, which would hold every condition in memory."""

    def __init__(self) -> None:
        self.class_names: tuple[str, ...] = ()
        self._sets: list[tuple[np.ndarray, np.ndarray]] = []

    def labels(self, populations: tuple[Predictions, Predictions], condition: str) -> np.ndarray:
        """Return the `(N,)` true classes, one array for equal images; raise if examples or classes differ."""
        baseline = populations[0]
        self.class_names = self.class_names or baseline.class_names
        try:
            require_same_examples(*populations)
            if baseline.class_names != self.class_names:
                expected = "the class names of the other conditions"
                raise InputError("baseline", "different class names", expected)
        except InputError as problem:
            argument = f"{problem.argument} ({condition})"
            raise InputError(argument, problem.got, problem.expected) from None
        for ids, labels in self._sets:
            if np.array_equal(ids, baseline.example_ids) and np.array_equal(
                labels, baseline.labels
            ):
                return labels
        self._sets.append((baseline.example_ids, baseline.labels))
        return baseline.labels
