"""Fingerprints of the files that the audits of a study depend on: cheap enough to compute before every page."""

import dataclasses
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pyarrow.parquet as pq

from tfaudit.analysis.cache import digest
from tfaudit.runtime.regular_files import open_regular
from tfaudit.store.parquet import DAMAGED, examples_seal
from tfaudit.store.store import TABLES, Store


@dataclasses.dataclass(eq=False)
class Fingerprints:
    """Digests of a study's files, each computed once.

    A prediction file is identified by the SHA-256 in its member's record and by its size, so that a truncated file is
    noticed. A file of examples is identified by the checksums in its footer (of ids, labels, class names, images and
    groups) and by its size. Evaluations under conditions carry their checksums inside, and there may be 20,000 of
    them: they are identified by the times of their folders, which change whenever the store renames a file into one.

    `records` holds the members' records by variant and number, `members` the numbers with predictions by variant.
    """

    store: Store
    split: str
    records: Mapping[str, Mapping[int, Mapping[str, Any]]]
    members: Mapping[str, tuple[int, ...]]

    @cached_property
    def study(self) -> str:
        """Digest of the study and of the examples of the split."""
        return digest(
            [
                self.store.read("study.json").decode(),
                self._footer(self.store.example_path(self.split)),
                self.examples,
            ]
        )

    @cached_property
    def examples(self) -> str:
        """Seal of the ids, labels, class names and images of the split, from which a human study is drawn.

        Empty where the file is missing or damaged; reading the examples raises then.
        """
        try:
            with open_regular(self.store.directory / self.store.example_path(self.split)) as file:
                return examples_seal(file)
        except DAMAGED:
            return ""

    @cached_property
    def predictions(self) -> Mapping[str, str]:
        """Digest of the records and predictions of the split, by variant."""
        return {
            key: digest([self._member(key, n) for n in numbers])
            for key, numbers in self.members.items()
        }

    @cached_property
    def evaluations(self) -> Mapping[str, str]:
        """Digest of the evaluations under all conditions, by variant."""
        conditions = self.store.study.conditions
        benchmarks = [
            self._footer(f"examples/{c.split}.parquet") for c in conditions if not c.is_computed
        ]
        return {
            key: digest(
                [benchmarks, [_size_and_time(self._folder(key, c.split)) for c in conditions]]
            )
            for key in self.members
        }

    @cached_property
    def classes(self) -> str:
        """Digest of the table of the classes' training data."""
        return digest(self._footer("examples/classes.parquet"))

    @cached_property
    def features(self) -> str:
        """Digest of the features of the examples."""
        return digest(self._footer(TABLES["features"]))

    def _member(self, key: str, member: int) -> object:
        record = self.records[key][member]
        path = self.store.prediction_path(key, member, self.split)
        stat = _size_and_time(self.store.directory / path)
        return [member, record, stat[:1] if path in record["files"] else stat]

    def _folder(self, key: str, split: str) -> str:
        return os.path.dirname(self.store.directory / self.store.prediction_path(key, 0, split))  # noqa: PTH120

    def _footer(self, path: str) -> object:
        place = self.store.directory / path
        try:
            if not place.exists():
                return None
            with open_regular(place) as file:
                notes = pq.read_schema(file).metadata or {}
            return [
                sorted((key.decode(), text.decode()) for key, text in notes.items()),
                _size_and_time(place)[:1],
            ]
        except DAMAGED:
            return [[], _size_and_time(place)[:1]]  # reading the file raises


def _size_and_time(place: str | os.PathLike[str]) -> list[int]:
    """Return size and modification time of a file or folder; nothing if it is missing."""
    try:
        stat = os.stat(place)  # noqa: PTH116
    except OSError:
        return []
    return [stat.st_size, stat.st_mtime_ns]
