"""A study directory: members, predictions, examples; atomic writes, checksums, a lock.

```
DIR/study.json                                                the study as run, and the versions of the libraries
DIR/members/VARIANT/MEMBER/{model.keras|model.tflite, history.csv, member.json}
DIR/predictions/split=SPLIT/variant=VARIANT/MEMBER.parquet    columns ranked, probability (fixed-size lists)
DIR/examples/SPLIT.parquet                                    example, label, image (PNG), groups
DIR/examples/classes.parquet                                  class, and what is known of its training data
DIR/costs.parquet                                             what each variant costs on this machine
```
`member.json` is written last and holds the SHA-256 of every other file of the member: without it, or where a checksum
does not match, the member does not count and is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tfaudit import parquet
from tfaudit.errors import InputError
from tfaudit.files import remove_unfinished, write_whole
from tfaudit.predictions import Predictions, frozen
from tfaudit.study import Study

__all__ = ["Store", "open_store"]

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


class Store:
    """The files of one study in its directory. Reading needs no TensorFlow."""

    def __init__(self, directory: Path, study: Study) -> None:
        self.directory = directory
        self.study = study

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

    @staticmethod
    def member_path(variant: str, member: int, file: str) -> str:
        """Path of one of a member's files, relative to the study's directory."""
        return f"members/{variant}/{member:03d}/{file}"

    def members(self, variant: str) -> tuple[int, ...]:
        """Numbers of the members that are complete; `verify` also reads their files."""
        found = (path.parent for path in (self.directory / "members" / variant).glob("*/member.json"))
        numbers = sorted(int(path.name) for path in found if path.name.isdigit())
        return tuple(
            n for n in numbers if n < self.study.population and self.record(variant, n).get("status") == "complete"
        )

    def record(self, variant: str, member: int) -> dict[str, Any]:
        """What `member.json` says; empty where it is missing or damaged."""
        try:
            record = json.loads((self.directory / self.member_path(variant, member, "member.json")).read_text())
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def is_complete(self, variant: str, member: int) -> bool:
        """Does the member count: recorded as complete, its predictions as they were written, its other files there?"""
        record = self.record(variant, member)
        if record.get("status") != "complete":
            return False
        try:
            for path, facts in record["files"].items():
                if path.startswith("predictions/"):
                    self.read_checked(variant, member, path)
                elif (self.directory / path).stat().st_size != facts["bytes"]:
                    return False
        except (OSError, KeyError, TypeError, ValueError):  # InputError is a ValueError
            return False
        return True

    def read_checked(self, variant: str, member: int, path: str) -> bytes:
        """Contents of one of a member's files.

        Raises:
            InputError: the file is missing, or not what was written.
        """
        content = self._read(path)
        if hashlib.sha256(content).hexdigest() != self.record(variant, member)["files"].get(path, {}).get("sha256"):
            raise InputError(f"{path.split('/')[0]}: {self.directory / path} does not match its checksum; {_MEND}")
        return content

    def failures(self) -> dict[tuple[str, int], str]:
        """Tracebacks of the members that failed, by variant and number."""
        pairs = [(v.key, member) for v in self.study.all_variants for member in range(self.study.population)]
        records = {pair: self.record(*pair) for pair in pairs}
        return {pair: record["traceback"] for pair, record in records.items() if record.get("status") == "failed"}

    def save_member(self, variant: str, member: int, files: Mapping[str, bytes], record: Mapping[str, Any]) -> None:
        """Writes a member; it counts from the moment its `member.json` is there.

        Args:
            variant: key.
            member: number.
            files: contents by path relative to the study's directory.
            record: further facts for `member.json`.
        """
        facts = self.member_path(variant, member, "member.json")
        (self.directory / facts).unlink(missing_ok=True)
        for path, content in files.items():
            self.write(path, content)
        sums = {path: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for path, c in files.items()}
        record = {"status": "complete", "variant": variant, "member": member, **record, "files": sums}
        self.write(facts, json.dumps(record, indent=2).encode())

    def save_failure(self, variant: str, member: int, traceback: str) -> None:
        """Records that a member failed, with its traceback; a later run tries it again."""
        record = {"status": "failed", "variant": variant, "member": member, "traceback": traceback}
        self.write(self.member_path(variant, member, "member.json"), json.dumps(record, indent=2).encode())

    def prediction_path(self, variant: str, member: int, split: str = "test") -> str:
        """Path of a member's predictions, relative to the study's directory."""
        return f"predictions/split={split}/variant={variant}/{member:03d}.parquet"

    def predictions(self, variant: str, split: str = "test") -> Predictions:
        """The predictions of all complete members of a variant.

        Raises:
            InputError: no such variant, split or complete member, or a file that is damaged.
        """
        self.study.variant(variant)
        members = self.members(variant)
        if not members:
            raise InputError(f"variant: {variant!r} has no complete member in {self.directory}; run the study first")
        examples = self.examples(split, images=False, groups=False)
        ranked, probabilities = zip(*(self._member(variant, n, split, len(examples)) for n in members), strict=True)
        return Predictions(
            examples["label"].to_numpy(),
            frozen(np.stack(ranked)),
            None if any(array is None for array in probabilities) else frozen(np.stack(probabilities)),
            class_names=examples.attrs["class_names"],
            example_ids=examples["example"].to_numpy(),
            members=members,
        )

    def _member(self, variant: str, member: int, split: str, examples: int) -> tuple[np.ndarray, np.ndarray | None]:
        path = self.prediction_path(variant, member, split)
        ranked, probabilities = parquet.read_predictions(self.read_checked(variant, member, path))
        if len(ranked) != examples:
            raise InputError(
                f"predictions: {self.directory / path} holds {len(ranked)} examples, not {examples}; {_MEND}"
            )
        return ranked, probabilities

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
        `groups` their columns are not read.

        Raises:
            InputError: no such split, or the file is damaged.
        """
        path = f"examples/{split}.parquet"
        content = self._read(path)
        try:
            return parquet.read_examples(content, images=images, groups=groups)
        except parquet.DAMAGED:
            raise InputError(f"examples: {self.directory / path} is damaged; {_MEND}") from None

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
            return parquet.read_facts(self._read(place))
        except parquet.DAMAGED:
            raise InputError(f"{name}: {self.directory / place} is damaged; {_MEND}") from None

    def write(self, path: str, content: bytes) -> None:
        """Writes a file, whole or not at all; the path is relative to the study's directory.

        Raises:
            OSError: the file cannot be written (no space, no permission); nothing half-written stays.
        """
        write_whole(self.directory / path, content)

    def _read(self, path: str) -> bytes:
        try:
            return (self.directory / path).read_bytes()
        except OSError as problem:
            raise InputError(
                f"{path.split('/')[0]}: {self.directory / path} cannot be read ({problem.strerror}); {_MEND}"
            ) from None


_TABLES = {"classes": "examples/classes.parquet", "costs": "costs.parquet"}
_MEND = "`tfaudit run` with the same recipe and directory makes it again"
