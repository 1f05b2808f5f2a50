"""A study directory: members, predictions, examples; atomic writes, checksums, a lock.

```
DIR/study.json                                                the study as run, and the versions of the libraries
DIR/members/VARIANT/MEMBER/{model.keras|model.tflite, history.csv, member.json}
DIR/predictions/split=SPLIT/variant=VARIANT/MEMBER.parquet    columns ranked, probability (fixed-size lists)
DIR/examples/SPLIT.parquet                                    example, label, image (PNG), groups
DIR/examples/classes.parquet                                  class, and what is known of its training data
DIR/costs.parquet                                             what each variant costs on this machine
DIR/failures/SPLIT.txt                                        why a condition was not evaluated
DIR/audit/SPLIT.NAME.FINGERPRINT.zip                          results of audits, kept: `tfaudit.analysis.cache`
DIR/answers.sqlite                                            what raters said of the images: `tfaudit.ratings.answers`
```
`member.json` is written last and holds the SHA-256 of every other file of the member: without it, or where a checksum
does not match, the member does not count and is made again. Predictions under a condition, whose split is called
`fog-3` or so, come later and carry their own checksum: `tfaudit.store.evaluations`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store import parquet
from tfaudit.store.evaluations import Evaluations
from tfaudit.store.files import remove_unfinished
from tfaudit.store.members import MEND, MemberRecords
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study

__all__ = ["Store", "find_studies", "open_store"]

FORMAT = 1
"""Of the directory; it rises when an older tfaudit could not read a newer one's files."""


def open_store(directory: str | Path) -> Store:
    """Opens the directory of a study that has been run, or is running.

    Raises:
        InputError: no study there, or one that this version does not read.
    """
    path = Path(directory) / "study.json"
    if not path.is_file():
        raise InputError(
            f"directory: {directory} holds no study (no study.json); `tfaudit run RECIPE --out DIR` makes one"
        )
    try:
        content = json.loads(path.read_text())
        fields, form = content["study"], content["format"]
    except (OSError, KeyError, TypeError, ValueError):
        raise InputError(
            f"directory: {path} is damaged; the same `tfaudit run` with --out elsewhere starts anew"
        ) from None
    if form != FORMAT:
        raise InputError(f"directory: {directory} has the format {form!r}, and this version of tfaudit reads {FORMAT}")
    return Store(Path(directory), Study.from_json(fields))


def find_studies(directory: Path) -> dict[str, Path]:
    """The directory's study, or the studies in its folders, by name.

    Raises:
        InputError: there is none.
    """
    if (directory / "study.json").is_file():
        return {directory.resolve().name: directory}
    found = {place.parent.name: place.parent for place in sorted(directory.glob("*/study.json"))}
    if not found:
        raise InputError(
            f"directory: {directory} holds no study, nor do its folders (no study.json); "
            "`tfaudit run RECIPE --out DIR` makes one"
        )
    return found


class Store(MemberRecords):
    """The files of one study in its directory. Reading needs no TensorFlow.

    Attributes:
        directory: of the study.
        study: as it is run.
        evaluations: the predictions under the study's conditions, file by file.
    """

    def __init__(self, directory: Path, study: Study) -> None:
        super().__init__(directory, study)
        self.evaluations = Evaluations(self)

    @classmethod
    def create(cls, directory: str | Path, study: Study, versions: Mapping[str, str]) -> Store:
        """Writes the study into a directory, or goes on with the same study that is there.

        The population may grow: members that are there stay.

        Raises:
            InputError: another study, or a larger population of this one, is there.
            OSError: the directory cannot be written.
        """
        directory = Path(directory)
        there = open_store(directory) if (directory / "study.json").exists() else None
        if there and there.variants:  # a study without members binds nobody
            if difference := there.study.difference(study):
                raise InputError(f"directory: {directory} holds another study: {difference}; choose another directory")
            if there.study.population > study.population:
                raise InputError(
                    f"population: {study.population}, but {directory} already holds {there.study.population} "
                    "per variant; a population can only grow"
                )
        store = cls(directory, study)
        for room in ("members", "predictions", "examples"):
            remove_unfinished(directory / room)
        content = {"format": FORMAT, "study": study.to_json(), "versions": dict(versions)}
        store.write("study.json", json.dumps(content, indent=2).encode())
        return store

    @property
    def variants(self) -> tuple[str, ...]:
        """Keys of the study's variants that have at least one complete member, the dense baseline first."""
        return tuple(v.key for v in self.study.all_variants if self.members(v.key))

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have been predicted."""
        return tuple(
            sorted(path.name.removeprefix("split=") for path in (self.directory / "predictions").glob("split=*"))
        )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The study's conditions under which at least one evaluation is complete, in the study's order."""
        pairs = [(v.key, member) for v in self.study.all_variants for member in self.members(v.key)]
        return tuple(
            condition
            for condition in self.study.conditions
            if any(self.evaluations.is_complete(*pair, condition.split) for pair in pairs)
        )

    def predictions(self, variant: str, split: str = "test", *, members: Sequence[int] | None = None) -> Predictions:
        """The predictions of all complete members of a variant; under a condition of those that were evaluated there.

        Args:
            variant: key.
            split: "test", or the split of one of `conditions`.
            members: numbers of those that are wanted; all by default.

        Raises:
            InputError: no such variant, split or complete member, or a file that is damaged.
        """
        self.study.variant(variant)
        complete = self.members(variant)
        if not complete:
            raise InputError(f"variant: {variant!r} has no complete member in {self.directory}; run the study first")
        members = complete if members is None else tuple(members)
        allowed = f"some of {', '.join(map(str, complete))}"
        require(bool(members) and set(members) <= set(complete), "members", members, allowed)
        under_condition = any(split == condition.split for condition in self.study.conditions)
        if under_condition:
            members = tuple(n for n in members if self.evaluations.is_there(variant, n, split))
            if not members:
                raise InputError(f"split: {split!r} has not been predicted with {variant!r}; run the study first")
        examples = self.examples(split, images=False, groups=False)
        read = self.evaluations.read if under_condition else self._recorded
        ranked = [read(variant, member, split) for member in members]
        for member, (classes, _) in zip(members, ranked, strict=True):
            if len(classes) != len(examples):
                path = self.directory / self.prediction_path(variant, member, split)
                raise InputError(f"predictions: {path} holds {len(classes)} examples, not {len(examples)}; {MEND}")
        return Predictions.from_ranked(
            examples["label"].to_numpy(),
            ranked,
            class_names=examples.attrs["class_names"],
            example_ids=examples["example"].to_numpy(),
            members=members,
        )

    def _recorded(self, variant: str, member: int, split: str) -> RankedClasses:
        """Predictions of the split that the member's record vouches for."""
        content = self.read_checked(variant, member, self.prediction_path(variant, member, split))
        return parquet.read_predictions(content)

    def save_examples(
        self,
        split: str,
        labels: np.ndarray,
        ids: Sequence[str],
        class_names: Sequence[str],
        images: Sequence[bytes],
        groups: pd.DataFrame | None = None,
    ) -> None:
        """Writes what people need to see the examples without the data set.

        Args:
            split: name.
            labels: `(N,)` integers.
            ids: N identifiers.
            class_names: of the C classes.
            images: N PNGs; empty bytes where there is none.
            groups: N rows in the order of the examples; columns of text or numbers, such as writer or attribute.

        Raises:
            InputError: groups of another length, type or with a name that is taken.
        """
        content = parquet.example_bytes(labels, ids, class_names, images, groups)
        self.write(f"examples/{split}.parquet", content)

    def examples(self, split: str = "test", *, images: bool = True, groups: bool = True) -> pd.DataFrame:
        """One row an example: `example` (its id), `label`, `image` (PNG bytes) and what groups it belongs to.

        `.attrs["class_names"]` names the classes, `.attrs["groups"]` the columns of groups. Without `images` and
        `groups` their columns are not read. A corruption of the test set has the test set's examples.

        Raises:
            InputError: no such split, or the file is damaged.
        """
        with self._example_file(split) as file:
            return parquet.read_examples(file, images=images, groups=groups)

    def images(self, split: str, positions: Sequence[int]) -> list[bytes]:
        """The images of some examples, read without the others: PNG bytes, empty where none is stored.

        Args:
            split: as `examples` takes it.
            positions: of the examples, from 0, in any order.

        Raises:
            InputError: no such split or example, or the file is damaged.
        """
        with self._example_file(split) as file:
            try:
                return parquet.read_images(file, positions)
            except IndexError as problem:
                outside = f"positions: {problem} of the examples in {file.name}"
        raise InputError(outside)

    def example_path(self, split: str) -> str:
        """Path of the examples of a split, relative to the study's directory; a corruption has the test set's."""
        computed = any(split == c.split and c.is_computed for c in self.study.conditions)
        return f"examples/{'test' if computed else split}.parquet"

    @contextlib.contextmanager
    def _example_file(self, split: str) -> Iterator[BinaryIO]:
        """The file that holds a split's examples, open; what reading it raises says that it is damaged."""
        path = self.directory / self.example_path(split)
        try:
            file = path.open("rb")
        except OSError as problem:
            raise InputError(f"examples: {path} cannot be read ({problem.strerror}); {MEND}") from None
        with file:
            try:
                yield file
            except parquet.DAMAGED:
                raise InputError(f"examples: {path} is damaged; {MEND}") from None

    def save_table(self, name: str, table: pd.DataFrame) -> None:
        """Writes what is known beside the predictions.

        Args:
            name: "classes", of their training data (`class`, `train_examples`, ...), or "costs", of the variants.
            table: columns of text or numbers; others raise an InputError.
        """
        self.write(_TABLES[name], parquet.table_bytes(table))

    def table(self, name: str) -> pd.DataFrame | None:
        """What `save_table` wrote; None where nothing is known.

        Raises:
            InputError: the file is damaged.
        """
        place = _TABLES[name]
        if not (self.directory / place).exists():
            return None
        try:
            return parquet.read_facts(self.read(place))
        except parquet.DAMAGED:
            raise InputError(f"{name}: {self.directory / place} is damaged; {MEND}") from None


_TABLES = {"classes": "examples/classes.parquet", "costs": "costs.parquet"}
