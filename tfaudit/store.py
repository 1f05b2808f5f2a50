"""A study directory: members, predictions (Parquet), examples; atomic writes, checksums, a lock.

```
DIR/study.json                                                the study as run, and the versions of the libraries
DIR/members/VARIANT/MEMBER/{model.keras|model.tflite, history.csv, member.json}
DIR/predictions/split=SPLIT/variant=VARIANT/MEMBER.parquet    columns ranked, probability (fixed-size lists)
DIR/examples/SPLIT.parquet                                    example, label, image (PNG)
```
`member.json` is written last and holds the SHA-256 of every other file of the member: without it, or where a checksum
does not match, the member does not count and is made again.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tfaudit.errors import InputError
from tfaudit.files import remove_unfinished, write_whole
from tfaudit.predictions import Predictions
from tfaudit.study import Study

__all__ = ["Store", "open_store", "prediction_bytes"]

FORMAT = 1
"""Of the directory; it rises when an older tfaudit could not read a newer one's files."""

_CHECKED = {"page_checksum_verification": True}


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
        examples = self.examples(split, images=False)
        tables = [self._read_predictions(variant, member, split, len(examples)) for member in members]
        return Predictions(
            examples["label"].to_numpy(),
            np.stack([ranked for ranked, _ in tables]),
            np.stack([probability for _, probability in tables]),
            class_names=examples.attrs["class_names"],
            example_ids=examples["example"].to_numpy(),
            members=members,
        )

    def _read_predictions(self, variant: str, member: int, split: str, examples: int) -> tuple[np.ndarray, np.ndarray]:
        path = self.prediction_path(variant, member, split)
        content = self.read_checked(variant, member, path)
        table = pq.read_table(pa.BufferReader(content), columns=["ranked", "probability"])
        if table.num_rows != examples:
            raise InputError(
                f"predictions: {self.directory / path} holds {table.num_rows} examples, not {examples}; {_MEND}"
            )
        return _matrix(table["ranked"]), _matrix(table["probability"])

    def save_examples(
        self,
        split: str,
        labels: np.ndarray,
        ids: Sequence[str],
        class_names: Sequence[str],
        images: Sequence[bytes],
    ) -> None:
        """Writes what people need to see the examples without the data set: id, label and PNG of each."""
        table = pa.table(
            {"example": pa.array(ids, pa.string()), "label": labels, "image": pa.array(images, pa.binary())}
        )
        table = table.replace_schema_metadata({"class_names": json.dumps(list(class_names))})
        table = table.replace_schema_metadata({**table.schema.metadata, "sha256": _digest(table)})
        self.write(f"examples/{split}.parquet", _parquet(table))

    def examples(self, split: str = "test", *, images: bool = True) -> pd.DataFrame:
        """Example id, label and, unless `images=False`, PNG bytes; `.attrs["class_names"]` names the classes.

        Raises:
            InputError: no such split, or the file is damaged.
        """
        path = f"examples/{split}.parquet"
        columns = ["example", "label"] + ["image"] * images
        try:
            table = pq.read_table(pa.BufferReader(self._read(path)), columns=columns, **_CHECKED)
            names = json.loads(table.schema.metadata[b"class_names"])
            if _digest(table) != table.schema.metadata[b"sha256"].decode():
                raise OSError("ids, labels or class names are not what was written")
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as problem:
            if isinstance(problem, InputError):
                raise
            raise InputError(f"examples: {self.directory / path} is damaged; {_MEND}") from None
        frame = table.to_pandas()
        frame.attrs["class_names"] = names
        return frame

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


_MEND = "`tfaudit run` with the same recipe and directory makes it again"


def prediction_bytes(ranked: np.ndarray, probabilities: np.ndarray) -> bytes:
    """Parquet of one member's `(N, k)` ranked classes, in the smallest integer type, and probabilities."""
    ranked = ranked.astype(np.min_scalar_type(int(ranked.max())))
    columns = {"ranked": ranked, "probability": probabilities.astype(np.float32)}
    k = ranked.shape[1]
    lists = {name: pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), k) for name, array in columns.items()}
    return _parquet(pa.table(lists))


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def _digest(table: pa.Table) -> str:
    """SHA-256 of what statistics rest on: Parquet's page checksums do not cover the footer, and skip unread columns."""
    facts = [table["example"].to_pylist(), table["label"].to_pylist(), table.schema.metadata[b"class_names"].decode()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    array = column.combine_chunks()
    return array.flatten().to_numpy().reshape(len(array), -1)
