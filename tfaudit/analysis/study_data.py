"""What a study holds for its audits: members, populations, groups, conditions; each read when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from tfaudit.analysis.cache import digest, keep
from tfaudit.analysis.fingerprints import Inputs
from tfaudit.audit.attributes import MANY
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study

__all__ = ["BASELINE", "Populations", "StudyData"]

T = TypeVar("T")

BASELINE = "dense"
"""Key of the uncompressed population."""


class StudyData:
    """A study, the options of its audit, and what people brought along. Several threads may ask at once.

    Attributes:
        store: of the study.
        split: whose predictions are audited.
        alpha: level of the tests; intervals are at 1 - alpha.
        answers: of a human study, one row per rater and example; None where there was none.
        inputs: the members, and what identifies the files.
    """

    def __init__(
        self,
        store: Store,
        split: str,
        *,
        alpha: float,
        permutations: int,
        seed: int,
        groups: pd.DataFrame | None,
        answers: pd.DataFrame | None,
    ) -> None:
        require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
        require(permutations >= 0, "permutations", permutations, "0 or more")
        if split not in store.splits:
            raise InputError(
                f"split: {split!r}, predicted in {store.directory} are {', '.join(store.splits) or 'none yet'}"
            )
        self.store, self.split, self.inputs = store, split, Inputs(store, split)
        self.alpha, self.answers = alpha, answers
        self._permuted, self._brought = {"permutations": permutations, "seed": seed}, groups
        self._lock = threading.RLock()
        self._results: dict[str, Any] = {}
        self._read: dict[str, Predictions] = {}
        if BASELINE not in self.inputs.members:
            raise InputError(
                f"store: {store.directory} has no complete dense member to compare with; "
                "`tfaudit run` goes on where it stopped"
            )

    @cached_property
    def fingerprint(self) -> str:
        """Identifies all that the audits rest on."""
        files = [self.inputs.study, self.inputs.predictions, self.inputs.evaluations, self.inputs.classes]
        return digest([files, self.split, self.alpha, self._permuted, _digest(self._brought), _digest(self.answers)])

    @property
    def study(self) -> Study:
        """What was run."""
        return self.store.study

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Names of the variants for people, the baseline first."""
        return {key: self.study.titles[key] for key in self.inputs.members}

    @property
    def compressed_keys(self) -> tuple[str, ...]:
        """Of the variants that have members, without the baseline."""
        return tuple(key for key in self.titles if key != BASELINE)

    @property
    def level(self) -> str:
        """Of the intervals, for people."""
        return f"{100 * (1 - self.alpha):g} %"

    @cached_property
    def populations(self) -> Mapping[str, Predictions]:
        """Predictions by variant, the baseline first; all but the baseline and the last one are read anew each time."""
        return Populations(tuple(self.titles), self._population)

    @property
    def baseline(self) -> Predictions:
        """Of the uncompressed population."""
        return self.populations[BASELINE]

    @cached_property
    def compressed(self) -> Mapping[str, Predictions]:
        """Predictions of the compressed variants."""
        return Populations(self.compressed_keys, self._population)

    def under_conditions(self, key: str) -> Mapping[tuple[str, int], Predictions]:
        """Predictions of a variant by condition, each read when it is asked for."""
        return Populations(self.conditions, lambda each: self.under_condition(key, Condition(*each)))

    def under_condition(self, key: str, condition: Condition) -> Predictions:
        """Predictions of the members of a variant that were evaluated under a condition when the study was opened."""
        return self.store.predictions(key, condition.split, members=self.inputs.evaluated(key, condition))

    def single(self, key: str) -> bool:
        """Are the variant and the baseline one model each?"""
        return len(self.inputs.members[key]) == len(self.inputs.members[BASELINE]) == 1

    def shares_members(self, key: str) -> bool:
        """Does it hold members of the same numbers as the baseline's?"""
        return bool(set(self.inputs.members[key]) & set(self.inputs.members[BASELINE]))

    def paired(self, key: str) -> bool:
        """Are the members of the variant made from the baseline's?"""
        return self.study.variant(key).parent == BASELINE

    @cached_property
    def groups(self) -> pd.DataFrame:
        """One row per example in the order of the study, columns of groups; of the store and of the caller."""
        stored = self.store.examples(self.split, images=False)
        stored = stored[stored.attrs["groups"]]
        if self._brought is None:
            return stored
        twice = [str(name) for name in self._brought if name in stored]
        require(not twice, "groups", ", ".join(twice), "columns that the study does not hold already")
        return pd.concat([stored, self._brought.set_axis(stored.index)], axis=1)

    @cached_property
    def group_columns(self) -> list[str]:
        """Columns of two values up to `MANY`: writers' series, attributes."""
        return [str(name) for name, count in self._distinct.items() if 2 <= count <= MANY]

    @cached_property
    def individuals(self) -> pd.Series | None:
        """The first column of more values that still repeat: writers, patients, devices; None where there is none."""
        names = [name for name, count in self._distinct.items() if MANY < count <= len(self.groups) / 2]
        return self.groups[names[0]] if names else None

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Under which the baseline and all `corrupted_keys` were evaluated; none but for the test set."""
        keys = (BASELINE, *self.corrupted_keys)
        found = (c for c in self.study.conditions if all(self.inputs.evaluated(key, c) for key in keys))
        return tuple(found) if self.corrupted_keys else ()

    @cached_property
    def corrupted_keys(self) -> tuple[str, ...]:
        """Of the compressed variants that were evaluated under any condition of the baseline."""
        there = [c for c in self.study.conditions if self.split == "test" and self.inputs.evaluated(BASELINE, c)]
        return tuple(key for key in self.compressed_keys if any(self.inputs.evaluated(key, c) for c in there))

    def keep(
        self, name: str, kind: type[T], compute: Callable[[], T], *, of: Sequence[str] | None = None, by: object = None
    ) -> T:
        """A result from memory, or from disk, or computed and kept in both.

        Args:
            name: of the result among those of the split, fit for a file name.
            kind: its type.
            compute: makes it.
            of: the variants that it is about; all by default.
            by: what else it depends on, besides the study, its examples and its members: plain JSON values.
        """
        with self._lock:
            if name not in self._results:
                for key in of or ():
                    require(key in self.titles, "variant", key, ", ".join(self.titles))
                members = [self.inputs.predictions[key] for key in of or self.titles]
                inputs = [self.inputs.study, members, by]
                self._results[name] = keep(self.store, f"{self.split}.{name}", inputs, kind, compute)
            return self._results[name]

    def _population(self, key: str) -> Predictions:
        with self._lock:
            if key not in self._read:
                self._read = {BASELINE: self._read[BASELINE]} if BASELINE in self._read else {}
                self._read[key] = self.store.predictions(key, self.split, members=self.inputs.members[key])
            return self._read[key]

    @cached_property
    def _distinct(self) -> pd.Series:
        """How many values each column of groups has."""
        return self.groups.nunique(dropna=False)

    @cached_property
    def _grouping(self) -> str | None:
        """Digest of the groups that were brought along; those of the store belong to the study's examples."""
        return _digest(self._brought)


def _digest(table: pd.DataFrame | None) -> str | None:
    if table is None:
        return None
    cells = pd.util.hash_pandas_object(table.astype(str), index=False).tolist()
    return digest([[*map(str, table.columns)], [*map(str, table.dtypes)], cells, table.isna().to_numpy().tolist()])


K = TypeVar("K")


class Populations(Mapping[K, Predictions]):
    """Predictions by variant, or by condition.

    Args:
        keys: of the populations, in their order.
        read: gives the population of a key.
    """

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
