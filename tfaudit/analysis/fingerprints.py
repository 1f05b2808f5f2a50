"""The files that the audits of a study rest on, as they are now: cheap enough to look at before every page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from tfaudit.analysis.cache import digest
from tfaudit.errors import InputError
from tfaudit.store.parquet import DAMAGED, examples_seal
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition

__all__ = ["Inputs"]


class Inputs:
    """The members of a study and what identifies the files of a split, read once.

    A prediction file is known by the SHA-256 that its member's record holds, and by its size, so that a truncated one
    is noticed. A file of examples by the checksums in its footer, of ids, labels, class names, images and groups, and
    by its size. Evaluations under conditions, whose checksums stand inside them and of which there may be twenty
    thousand, by the times of their folders: the store only ever renames files into these, which changes the time.

    Args:
        store: of the study.
        split: whose predictions.
    """

    def __init__(self, store: Store, split: str) -> None:
        self._store, self._split = store, split
        self._conditions = store.study.conditions
        self._listings: dict[tuple[str, str], frozenset[int]] = {}
        self._examples = store.example_path(split)

    @cached_property
    def records(self) -> Mapping[str, Mapping[int, Mapping[str, Any]]]:
        """What is recorded of the members that are there, complete or failed, by variant and number."""
        study = self._store.study
        found = {
            variant.key: {member: self._store.record(variant.key, member) for member in range(study.population)}
            for variant in study.all_variants
        }
        return {key: {member: record for member, record in each.items() if record} for key, each in found.items()}

    @cached_property
    def members(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers of the members that have answered, by variant; no variant without any."""
        found = {}
        for key, records in self.records.items():
            complete = [member for member, record in records.items() if record.get("status") == "complete"]
            if any(self._split == condition.split for condition in self._conditions):
                complete = [member for member in complete if member in self._evaluated(key, self._split)]
            if complete:
                found[key] = tuple(complete)
        return found

    def means(self, key: str, facts: Sequence[str]) -> pd.Series:
        """Means over the members of a variant of what their records hold; NaN where none holds it."""
        records = pd.DataFrame([self.records[key][member] for member in self.members[key]])
        return records.reindex(columns=list(facts)).apply(pd.to_numeric, errors="coerce").mean()

    def evaluated(self, key: str, condition: Condition) -> tuple[int, ...]:
        """Which members of a variant were evaluated under a condition."""
        return tuple(sorted(set(self.members[key]) & self._evaluated(key, condition.split)))

    @cached_property
    def study(self) -> str:
        """Digest of the study and of the examples of the split."""
        return digest([self._store.read("study.json").decode(), self._footer(self._examples), self.examples])

    @cached_property
    def examples(self) -> str:
        """Seal of the ids, labels, class names and images of the split: what a human study is drawn from.

        Nothing where there is none, or a damaged one: whoever reads it says so.
        """
        try:
            with (self._store.directory / self._examples).open("rb") as file:
                return examples_seal(file)
        except DAMAGED:
            return ""

    def require_examples(self) -> None:
        """Refuses to go on where the examples are not those any more that were there at first.

        Raises:
            InputError: others are there.
        """
        if Inputs(self._store, self._split).examples != self.examples:
            raise InputError(f"split: {self._split!r} has other examples now than were read; read the study again")

    @cached_property
    def predictions(self) -> Mapping[str, str]:
        """Digest of the records and the predictions of the split, by variant."""
        return {key: digest([self._predictions(key, member) for member in self.members[key]]) for key in self.members}

    @cached_property
    def evaluations(self) -> Mapping[str, str]:
        """Digest of the evaluations under all conditions, by variant."""
        sets = [self._footer(f"examples/{c.split}.parquet") for c in self._conditions if not c.is_computed]
        splits = [condition.split for condition in self._conditions]
        return {key: digest([sets, [_facts(self._folder(key, split)) for split in splits]]) for key in self.members}

    @cached_property
    def classes(self) -> str:
        """Digest of what is known of the classes' training data."""
        return digest(self._footer("examples/classes.parquet"))

    def _predictions(self, key: str, member: int) -> object:
        record = self.records[key][member]
        path = self._store.prediction_path(key, member, self._split)
        facts = _facts(self._store.directory / path)
        return [member, record, facts[:1] if path in record["files"] else facts]

    def _evaluated(self, key: str, split: str) -> frozenset[int]:
        """Numbers of the members of a variant that have an evaluation."""
        if (key, split) not in self._listings:
            with contextlib.suppress(OSError):
                names = [name.removesuffix(".parquet") for name in os.listdir(self._folder(key, split))]  # noqa: PTH208
                self._listings[key, split] = frozenset(int(name) for name in names if name.isdecimal())
        return self._listings.get((key, split), frozenset())

    def _folder(self, key: str, split: str) -> str:
        return os.path.dirname(self._store.directory / self._store.prediction_path(key, 0, split))  # noqa: PTH120

    def _footer(self, path: str) -> object:
        place = self._store.directory / path
        try:
            if not place.exists():
                return None
            notes = pq.read_schema(place).metadata or {}
            return [sorted((key.decode(), text.decode()) for key, text in notes.items()), _facts(place)[:1]]
        except DAMAGED:
            return [[], _facts(place)[:1]]  # whoever reads it says so


def _facts(place: str | os.PathLike[str]) -> list[int]:
    """Size and time of a file or folder; nothing where there is none."""
    try:
        found = os.stat(place)  # noqa: PTH116
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
