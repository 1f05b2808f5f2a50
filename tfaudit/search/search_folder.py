"""The directory of a search: what was made of every candidate, so that an interrupted search resumes.

```
DIR/search.json                           what is searched: fingerprints of the model and the data, limits, settings
DIR/candidates/NAME.{tflite,parquet,json} a candidate's file, its predictions on the selection part, its record
DIR/candidates/models/NAME.{keras,...}    a trained model, from which candidates are made, and the same
DIR/candidates/sensitivity.json           what int8 costs the model layer by layer, as far as it was measured
DIR/candidates/held_out/NAME.parquet      predictions on the held-out part, of those that were judged
DIR/candidates.csv                        the table of all candidates
DIR/verdict.json DIR/model.tflite         the verdict on the held-out part, and the file if it passes
DIR/report.html                           the report, of a study in DIR that the viewer opens too
```
Every file is written beside its place and renamed into it; a record comes last and holds the checksums of the files
that belong to it. What does not match its checksum is made again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.files import remove_unfinished, write_whole
from tfaudit.store.members import read_sealed_json, sealed_json
from tfaudit.store.parquet import DAMAGED, prediction_bytes, read_sealed_predictions

FORMAT = 2  # of the directory; it increases when an older version could not go on with it


@dataclasses.dataclass(frozen=True)
class Attempt:
    """What became of a candidate.

    Attributes:
        content: the flatbuffer; empty where none could be made.
        ranked: its predictions on the selection part; None where none could be made.
        failure: why, in one line; empty where one was made.
    """

    content: bytes = b""
    ranked: RankedClasses | None = None
    failure: str = ""


class SearchFolder:
    """The directory of one search.

    Args:
        directory: made if it is missing.

    Raises:
        InputError: the directory holds something else.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        own = directory / "search.json"
        if not own.is_file() and (directory / "study.json").exists():
            got = f"{directory}, which holds a study that `tfaudit compress` did not write"
            raise InputError("out", got, "a new directory, or that of an earlier search")

    def claim(self, search: Mapping[str, Any]) -> None:
        """Begin the search, or go on with it; refuse to go on with another.

        Args:
            search: what the results depend on, by name: JSON values.

        Raises:
            InputError: the directory holds a search with another model, other data or other settings.
        """
        path = self.directory / "search.json"
        wanted = json.loads(json.dumps({"format": FORMAT, **search}))
        if path.is_file():
            try:
                present = read_sealed_json(path.read_bytes())
            except (OSError, ValueError):
                got = f"a damaged file, {path}"
                raise InputError(
                    "out", got, "a new directory, or that of an earlier search"
                ) from None
            changed = [name for name in wanted if present.get(name) != wanted[name]]
            if changed:
                got = f"{self.directory}, the directory of a search that differs in its {changed[0].replace('_', ' ')}"
                raise InputError(
                    "out", got, "the same model, data, limits and settings, or a new directory"
                )
            remove_unfinished(self.directory)
            return
        self.write("search.json", sealed_json(wanted))

    def write(self, path: str, content: bytes) -> None:
        """Write a file whole or not at all; a full or read-only disk raises `InputError`."""
        try:
            write_whole(self.directory / path, content)
        except OSError as problem:
            got = f"{self.directory / path}, which cannot be written ({problem.strerror})"
            raise InputError("out", got, "a directory that can be written") from None

    def save_attempt(self, key: str, attempt: Attempt) -> None:
        """Write what became of a candidate, its record last."""
        files = {f"candidates/{key}.tflite": attempt.content} if attempt.content else {}
        if attempt.ranked is not None:
            files[f"candidates/{key}.parquet"] = prediction_bytes(attempt.ranked, {})
        self._save(f"candidates/{key}.json", files, {"failure": attempt.failure})

    def attempt(self, key: str) -> Attempt | None:
        """Return what became of a candidate; None if it has not been tried, or a file is missing or damaged."""
        found = self._read(f"candidates/{key}.json")
        if found is None:
            return None
        files, record = found
        predictions = files.get(f"candidates/{key}.parquet")
        ranked = None if predictions is None else read_sealed_predictions(predictions)[0]
        return Attempt(files.get(f"candidates/{key}.tflite", b""), ranked, str(record["failure"]))

    def save_model(self, key: str, content: bytes, ranked: RankedClasses) -> None:
        """Write a trained model, the bytes of a `.keras` file, and its predictions."""
        files = {f"candidates/models/{key}.keras": content}
        files[f"candidates/models/{key}.parquet"] = prediction_bytes(ranked, {})
        self._save(f"candidates/models/{key}.json", files, {})

    def model(self, key: str) -> tuple[Path, RankedClasses] | None:
        """Return the path of a trained model and its predictions on the selection part; None if missing or damaged."""
        found = self._read(f"candidates/models/{key}.json")
        if found is None:
            return None
        ranked = read_sealed_predictions(found[0][f"candidates/models/{key}.parquet"])[0]
        return self.directory / f"candidates/models/{key}.keras", ranked

    def save_sensitivity(self, measured: Mapping[str, Any]) -> None:
        """Write what int8 costs layer by layer: JSON values."""
        self.write("candidates/sensitivity.json", sealed_json(dict(measured)))

    def sensitivity(self) -> dict[str, Any]:
        """Return what int8 costs layer by layer, as far as it was measured; nothing if that is missing or damaged."""
        nothing: dict[str, Any] = {"rows": [], "bytes": 0, "complete": False}
        try:
            measured = read_sealed_json(
                (self.directory / "candidates/sensitivity.json").read_bytes()
            )
        except (OSError, ValueError):
            return nothing
        return measured if measured.keys() >= nothing.keys() else nothing

    def save_held_out(self, key: str, ranked: RankedClasses) -> None:
        """Write predictions on the held-out part."""
        self.write(f"candidates/held_out/{key}.parquet", prediction_bytes(ranked, {}))

    def held_out(self, key: str) -> RankedClasses | None:
        """Return predictions on the held-out part; None if they are missing or damaged."""
        try:
            content = (self.directory / f"candidates/held_out/{key}.parquet").read_bytes()
            return read_sealed_predictions(content)[0]
        except DAMAGED:
            return None

    def judged(self) -> tuple[str, ...]:
        """Return the keys of the candidates that were judged on the held-out part, this search's and earlier ones'."""
        return tuple(
            sorted(path.stem for path in (self.directory / "candidates/held_out").glob("*.parquet"))
        )

    def _save(self, record: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
        for path, content in files.items():
            self.write(path, content)
        sums = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        self.write(record, sealed_json({**facts, "files": sums}))

    def _read(self, record: str) -> tuple[dict[str, bytes], dict[str, Any]] | None:
        try:
            content = read_sealed_json((self.directory / record).read_bytes())
            files = {path: (self.directory / path).read_bytes() for path in content["files"]}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        sums = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        return (files, content) if sums == content["files"] else None
