"""Data of a study for its audits: members, populations, groups and conditions, each read when it is first used."""

import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tfaudit.analysis.cache import digest
from tfaudit.analysis.example_facts import example_facts
from tfaudit.analysis.fingerprints import Fingerprints
from tfaudit.analysis.stored_images import (
    can_be_measured,
    image_properties,
    word_for,
)
from tfaudit.audits.attributes.attributes import MANY
from tfaudit.errors import InputError, require, require_least, require_level
from tfaudit.predictions import Predictions
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.store import parquet
from tfaudit.store.store import TABLES, Missing, Store
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study

BASELINE = "dense"
"""Key of the uncompressed population."""

LEAST_OF_KIND = 20
"""Images that kinds of a class have at least, on average: with fewer, one image moves an accuracy by over 5 points."""

K = TypeVar("K")


class Populations(Mapping[K, Predictions]):
    """Predictions by `keys`, variants or conditions, read at each access, so that memory does not grow with them."""

    def __init__(self, keys: Sequence[K], read: Callable[[K], Predictions]) -> None:
        self._keys, self._read = keys, read

    def __getitem__(self, key: K) -> Predictions:
        if key not in self._keys:
            raise KeyError(key)
        return self._read(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class StudyData:
    """One split of a study, with the options of its audit. Several threads may use it.

    Its `fingerprints` identify the files that the audits depend on.

    Args:
        store: store of the study.
        split: split whose predictions are audited.
        alpha: significance level; by default the study's own. Intervals have confidence 1 - alpha.
        permutations: largest number of reassignments of members in permutation tests; 0 for no such tests.
        seed: seed of random reassignments.
        groups: columns of groups beside those of the study, N rows in the order of its examples. A column `cluster`
            makes the clusters of the examples; corrupted images keep those of the study.
        answers: answers of human raters, one row per rater and example, as `tfaudit.survey` takes them.
        population: members of this number and above are left out, and are not missed; none by default.

    Raises:
        InputError: no such split, no dense member to compare with, or an option out of range.
    """

    def __init__(
        self,
        store: Store,
        split: str = "test",
        *,
        alpha: float | None = None,
        permutations: int = 1000,
        seed: int = 0,
        groups: pd.DataFrame | None = None,
        answers: pd.DataFrame | None = None,
        population: float = math.inf,
    ) -> None:
        alpha = store.judging.alpha if alpha is None else alpha
        require_level("alpha", alpha)
        require_least(0, permutations=permutations)
        splits = f"a split with predictions: {', '.join(store.splits) or 'none yet'}"
        require(split in store.splits, "split", split, splits)
        self.store, self.split, self.alpha, self.answers = store, split, alpha, answers
        self.permutation_options = {"permutations": permutations, "seed": seed}
        self._added_groups, self._population_limit = groups, population
        self._evaluated_members: dict[tuple[str, str], frozenset[int]] = {}
        self._populations: dict[str, Predictions] = {}
        self._probabilities: dict[str, bool] = {}
        self._lock = threading.RLock()
        self.fingerprints = Fingerprints(store, split, self.records, self.members)
        if BASELINE not in self.members:
            got = f"no complete dense member in {store.directory}"
            raise InputError(
                "store", got, "one or more to compare with; `tfaudit run` resumes where it stopped"
            )

    @property
    def study(self) -> Study:
        """The study as it was run."""
        return self.store.study

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that the audits depend on."""
        files = self.fingerprints
        parts = [
            *(files.study, files.predictions, files.evaluations, files.classes),
            files.features,
        ]
        options = [self.split, self.alpha, self.permutation_options]
        return digest([parts, *options, self.groups_fingerprint, _table_digest(self.answers)])

    @cached_property
    def groups_fingerprint(self) -> str | None:
        """Digest of the groups that the caller added; those of the study belong to its examples."""
        return _table_digest(self._added_groups)

    @cached_property
    def records(self) -> Mapping[str, Mapping[int, Mapping[str, Any]]]:
        """Records of the members, complete or failed, by variant and number."""
        numbers = range(int(min(self.study.population, self._population_limit)))
        return {
            key: {n: record for n in numbers if (record := self.store.record(key, n))}
            for key in self.study.keys
        }

    @cached_property
    def members(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers of the members with predictions, by variant; variants without any are left out."""
        of_condition = any(self.split == condition.split for condition in self.study.conditions)
        members = {
            key: tuple(
                member
                for member, record in records.items()
                if record.get("status") == "complete"
                and (not of_condition or member in self._evaluated(key, self.split))
            )
            for key, records in self.records.items()
        }
        return {key: numbers for key, numbers in members.items() if numbers}

    def means(self, key: str, facts: Sequence[str]) -> pd.Series:
        """Return means over the members of a variant of facts in their records; NaN where no record holds one."""
        records = pd.DataFrame([self.records[key][member] for member in self.members[key]])
        return records.reindex(columns=list(facts)).apply(pd.to_numeric, errors="coerce").mean()

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Title of each variant that has members, by key, the baseline first."""
        return {key: self.study.titles[key] for key in self.members}

    @property
    def compressed_keys(self) -> tuple[str, ...]:
        """Keys of the compressed variants that have members."""
        return tuple(key for key in self.titles if key != BASELINE)

    @cached_property
    def populations(self) -> Mapping[str, Predictions]:
        """Predictions by variant; the baseline's and the latest variant's stay in memory."""
        return Populations(tuple(self.titles), self._population)

    @property
    def baseline(self) -> Predictions:
        """Predictions of the uncompressed population."""
        return self.populations[BASELINE]

    def forget_populations(self) -> None:
        """Drop the populations in memory."""
        self._populations.clear()

    def is_single(self, key: str) -> bool:
        """Return whether the variant and the baseline have one member each."""
        return len(self.members[key]) == len(self.members[BASELINE]) == 1

    def has_probabilities(self, key: str) -> bool:
        """Return whether the predictions of the baseline and of a variant hold probabilities, judging by the files."""
        return all(self._holds_probabilities(variant) for variant in (BASELINE, key))

    def shares_members(self, key: str) -> bool:
        """Return whether a variant has members of the same numbers as the baseline's."""
        return bool(set(self.members[key]) & set(self.members[BASELINE]))

    def is_paired(self, key: str) -> bool:
        """Return whether the members of a variant are made from the baseline's members, directly or in steps."""
        return self.study.is_made_from_dense(key)

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Columns of groups, one row per example in the order of the study: the study's and the caller's."""
        stored = self.store.examples(self.split, images=False)
        stored = stored[stored.attrs["groups"]]
        if self._added_groups is None:
            return stored
        twice = [str(name) for name in self._added_groups if name in stored]
        require(
            not twice, "groups", ", ".join(twice), "columns that the study does not hold already"
        )
        return pd.concat([stored, self._added_groups.set_axis(stored.index)], axis=1)

    @cached_property
    def largest_group(self) -> int:
        """Number of images of the largest class, or of the largest group of a column."""
        columns = [self._labels, *(self.groups[name] for name in self.group_columns)]
        return max(int(column.value_counts().max()) for column in columns)

    @cached_property
    def group_columns(self) -> list[str]:
        """Names of the columns of 2 to `MANY` groups, such as a series of writers or an attribute, and of kinds."""
        return [
            str(name)
            for name, count in self._group_counts.items()
            if 2 <= count <= MANY or self._is_kind(name)
        ]

    @cached_property
    def individuals(self) -> pd.Series | None:
        """The first column of more values that repeat, such as writer, patient or device; None without one."""
        for name, count in self._group_counts.items():
            if MANY < count <= len(self.groups) / 2 and not self._is_kind(name):
                return self.groups[name]
        return None

    def _is_kind(self, name: Any) -> bool:
        """Return whether the values of a column are kinds of a class, such as breeds of dogs: groups in any number.

        Each lies within one class and has `LEAST_OF_KIND` images on average. Individuals lie across the classes, as
        writers do, or have fewer images, and numbers are measurements.
        """
        column = self.groups[name]
        numerous = len(column) >= LEAST_OF_KIND * self._group_counts[name]
        if not numerous or pd.api.types.is_numeric_dtype(column):
            return False
        return not self._labels.groupby(column.to_numpy(), dropna=True).nunique().gt(1).any()

    @cached_property
    def _labels(self) -> pd.Series:
        return self.store.examples(self.split, images=False, groups=False)["label"].reset_index(
            drop=True
        )

    @cached_property
    def _group_counts(self) -> pd.Series:
        return self.groups.nunique(dropna=False)

    @cached_property
    def _first_image(self) -> bytes:
        return self.store.images(self.split, [0])[0]

    @property
    def holds_images(self) -> bool:
        """Whether the examples are images, not texts or rows of a table."""
        return word_for(self._first_image) == "images"

    @cached_property
    def measures_images(self) -> bool:
        """Whether images have properties, by the first of them."""
        return can_be_measured(self._first_image)

    @cached_property
    def image_properties(self) -> tuple[pd.Series, ...]:
        """Properties of small grey images, `(N,)` each; none where the images are larger, coloured or missing."""
        if not self.measures_images:  # then none need be read
            return ()
        examples = self.store.examples(self.split, groups=False)
        return image_properties(examples["image"], examples["label"].to_numpy())

    @property
    def has_features(self) -> bool:
        """Whether the study holds features of the examples."""
        return self.split == "test" and (self.store.directory / TABLES["features"]).exists()

    @cached_property
    def features(self) -> np.ndarray | None:
        """Features of the examples, `(N, D)`; None if the study holds none, or those of other examples."""
        table = self.store.table("features") if self.has_features else None
        ids = self.store.examples(self.split, images=False, groups=False)["example"]
        if table is None or not ids.equals(table.pop("example")):
            return None
        return table.to_numpy()

    @property
    def facts(self) -> pd.DataFrame:
        """What is known of the examples: groups, and facts told by the stored images or texts."""
        stored = example_facts(self.store.examples(self.split, groups=False)["image"])
        people = [] if self.individuals is None else [self.individuals.name]
        groups = self.groups.drop(columns=[*people, *stored.columns], errors="ignore")
        return pd.concat([groups.reset_index(drop=True), stored], axis=1)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions under which all `corrupted_keys` can be compared with the baseline, and so with each other."""
        shared = [set(self.conditions_of(key)) for key in self.corrupted_keys]
        every = set.intersection(*shared) if shared else set()
        return tuple(c for c in self.study.conditions if c in every)

    @cached_property
    def corrupted_keys(self) -> tuple[str, ...]:
        """Keys of the compressed variants that were evaluated under any condition of the baseline."""
        return tuple(key for key in self.compressed_keys if self.conditions_of(key))

    def conditions_of(self, key: str) -> tuple[Condition, ...]:
        """Return the conditions under which both a variant and the baseline were evaluated; () if not the test set.

        A limit on the drop under corruption judges the variant under these.
        """
        conditions = self.study.conditions if self.split == "test" else ()
        keys = (BASELINE, key)
        return tuple(c for c in conditions if all(self.evaluated_members(k, c) for k in keys))

    def missing(self, *, corrupted: bool) -> Mapping[str, tuple[str, ...]]:
        """Return in words which results of each compressed variant and of the baseline the study lacks, by variant.

        A variant that lacks any is judged by the others, but does not pass: what was not tested may be worse.

        Args:
            corrupted: whether results under the study's conditions are missed, because a limit is about them.
        """
        conditions = self.study.conditions if corrupted and self.split == "test" else ()
        where = {self.split: "", **{c.split: f" in {c.title}" for c in conditions}}
        gaps, names = self.gaps(*where), self.study.names
        untested = [
            f"all members in {condition.title}"
            for condition in conditions
            if not any(self._evaluated(key, condition.split) for key in self.members)
        ]
        return {
            key: (
                *(
                    f"{names.get(gap.variant, gap.variant)}, member {gap.member}{where[gap.split]} ({gap.reason})"
                    for gap in gaps
                    if gap.variant in (BASELINE, key)
                ),
                *untested,
            )
            for key in self.compressed_keys
        }

    def gaps(self, *splits: str) -> list[Missing]:
        """Return the results of some splits that the study should hold and does not."""
        return [gap for gap in self.store.missing(*splits) if gap.member < self._population_limit]

    def evaluated_members(self, key: str, condition: Condition) -> tuple[int, ...]:
        """Return the numbers of the members of a variant that were evaluated under a condition."""
        return tuple(sorted(set(self.members[key]) & self._evaluated(key, condition.split)))

    def under_conditions(
        self, key: str, conditions: Sequence[Condition]
    ) -> Mapping[tuple[str, int], Predictions]:
        """Return the predictions of a variant by condition, each read when it is used."""
        return Populations(
            conditions, lambda condition: self.under_condition(key, Condition(*condition))
        )

    def corrupted_pair(
        self, key: str
    ) -> tuple[Mapping[tuple[str, int], Predictions], Mapping[tuple[str, int], Predictions]]:
        """Return the predictions of the baseline and of a variant under the conditions that both were tested with."""
        conditions = self.conditions_of(key)
        return self.under_conditions(BASELINE, conditions), self.under_conditions(key, conditions)

    def under_condition(self, key: str, condition: Condition) -> Predictions:
        """Return the predictions of a variant under a condition, of the members that were evaluated at the start."""
        return self.store.predictions(
            key, condition.split, members=self.evaluated_members(key, condition)
        )

    def require_same_examples(self) -> None:
        """Raise an `InputError` if the examples have been replaced since they were first read."""
        now = Fingerprints(self.store, self.split, self.records, self.members).examples
        if now != self.fingerprints.examples:
            got = f"{self.split!r} with examples that changed after they were first read"
            raise InputError("split", got, "the same examples; read the study again")

    def _population(self, key: str) -> Predictions:
        with self._lock:
            if key not in self._populations:
                for other in set(self._populations) - {BASELINE}:
                    del self._populations[other]
                members = self.members[key]
                population = self.store.predictions(key, self.split, members=members)
                if self._added_groups is not None and CLUSTER in self._added_groups:
                    population = population.clustered(self._added_groups[CLUSTER])
                self._populations[key] = population
            return self._populations[key]

    def _holds_probabilities(self, key: str) -> bool:
        if key not in self._probabilities:
            paths = (
                self.store.prediction_path(key, member, self.split) for member in self.members[key]
            )
            # The reader of the predictions names the file.
            with contextlib.suppress(*parquet.DAMAGED):
                self._probabilities[key] = all(
                    parquet.holds_probabilities(self.store.directory / path) for path in paths
                )
        return self._probabilities.get(key, True)

    def _evaluated(self, key: str, split: str) -> frozenset[int]:
        """Return the numbers of the members of a variant that have an evaluation."""
        if (key, split) not in self._evaluated_members:
            folder = (self.store.directory / self.store.prediction_path(key, 0, split)).parent
            with contextlib.suppress(OSError):
                names = [name.removesuffix(".parquet") for name in os.listdir(folder)]  # noqa: PTH208 (twice as fast)
                self._evaluated_members[key, split] = frozenset(
                    int(name) for name in names if name.isdecimal()
                )
        return self._evaluated_members.get((key, split), frozenset())


def _table_digest(table: pd.DataFrame | None) -> str | None:
    if table is None:
        return None
    cells = pd.util.hash_pandas_object(table.astype(str), index=False).tolist()
    return digest(
        [
            [*map(str, table.columns)],
            [*map(str, table.dtypes)],
            cells,
            np.asarray(table.isna()).tolist(),
        ]
    )
