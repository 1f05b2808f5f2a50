"""Candidates of a search as variants of a study, so that an interrupted search resumes.

```
DIR/candidates/                       a study of `tfaudit.store`; the selection part is its test split
DIR/candidates/sensitivity*.json      cost of int8 and int4 per layer, as far as measured
DIR/judged.csv DIR/candidates.csv     ids of the examples that judged the chosen file, the table of all candidates
DIR/verdict.json DIR/model.tflite     the verdict on the chosen file, and the file if it passes
DIR/study.json ... DIR/report.html    the study of the examples that judged: the model and the tested candidates
```
Each variant is a candidate, named by its key, or a model that was trained to make candidates. Its only member holds the
file and its predictions on the selection part. Predictions on the held-out part, of candidates that were judged, are
stored under a split of their own, which no report of the candidates shows.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError
from tfaudit.extensions.search.search_inputs import SearchInputs
from tfaudit.population.stored_examples import store_examples
from tfaudit.predictions import Predictions
from tfaudit.runtime.regular_files import read_regular
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.external import remove_imported, require_no_other_folders
from tfaudit.store.members import read_sealed_json, sealed_json
from tfaudit.store.parquet import prediction_bytes, read_predictions
from tfaudit.store.store import Store, open_store
from tfaudit.study.study import Study
from tfaudit.study.variants import Dense, ImportedPredictions

BASELINE = Dense().key
"""Key of the model that is compressed."""

FOLDER = "candidates"
"""Folder of the study of the candidates, in the directory of a search."""

RESULTS = ("model.tflite", "verdict.json", "judged.csv", "candidates.csv", "report.html")
"""Files of a finished search; the study beside them is removed as a whole."""

HELD_OUT = "held_out"
"""Name of the split that holds predictions on the held-out part, of candidates that were judged."""

SENSITIVITY = "sensitivity_{}.json"
"""Name of the file with the cost of layers in a kind."""


class CandidateStore:
    """The study of the candidates of one search.

    Args:
        directory: directory of the search.
        inputs: model, data and settings of the search.
    """

    def __init__(self, directory: Path, inputs: SearchInputs) -> None:
        self.directory = directory
        trained = dict.fromkeys(candidate.preparation.key for candidate in inputs.plan)
        keys = [*filter(None, trained), *(candidate.key for candidate in inputs.plan)]
        self._selection = selection = inputs.parts.selection
        self._read: dict[str, Predictions] = {}
        self._study = Study(
            name="candidates",
            dataset=f"{selection.name}, selection part",
            model="the model and its candidates",
            training=None,
            variants=tuple(ImportedPredictions(key, paired=True) for key in keys),
            population=1,
            fingerprints=_as_text(inputs.identity),
        )
        self._store = self._created(())
        store_examples(self._store, selection)

    def finish(self) -> None:
        """List the variants that have files, so that a report lacks no others."""
        self._created(self._store.variants)

    def failure(self, key: str) -> str:
        """Return the reason why a candidate's file could not be made; empty if there is none."""
        return str(self._store.record(key, 0).get("traceback", ""))

    def flatbuffer(self, key: str) -> bytes:
        """Return the content of a candidate's file."""
        return self._store.read(self._path(key, "tflite"))

    def save_failure(self, key: str, failure: str) -> None:
        """Write the reason why a candidate's file could not be made."""
        self._store.save_failure(key, 0, failure)

    def predictions(self, key: str) -> Predictions | None:
        """Return a variant's predictions on the selection part; None if any of its files is missing or damaged."""
        if key not in self._read and self._store.is_complete(key, 0):
            ranked = read_predictions(self._store.read(self._store.prediction_path(key, 0)))
            self._read[key] = Predictions.on(self._selection, ranked)
        return self._read.get(key)

    def save(self, key: str, ranked: RankedClasses, size: float, **files: bytes) -> Predictions:
        """Write a variant, and return its predictions on the selection part.

        Args:
            key: key of the variant.
            ranked: predictions on the selection part.
            size: size of its file in bytes.
            files: content of each file by its type, "keras" or "tflite".
        """
        contents = {self._path(key, kind): content for kind, content in files.items()}
        contents[self._store.prediction_path(key, 0)] = prediction_bytes(ranked)
        self._store.save_member(key, 0, contents, {"bytes": size})
        self._read[key] = Predictions.on(self._selection, ranked)
        return self._read[key]

    def model_path(self, key: str) -> Path:
        """Return the path of a trained model, a `.keras` file."""
        return self._store.directory / self._path(key, "keras")

    def save_sensitivity(self, measured: Mapping[str, Any], kind: str = "int8") -> None:
        """Write the cost of a kind per layer, as JSON values."""
        self._store.write(SENSITIVITY.format(kind), sealed_json(measured))

    def sensitivity(self, kind: str = "int8") -> dict[str, Any]:
        """Return the cost of a kind per layer, as far as measured; no rows if the file is missing or damaged."""
        nothing: dict[str, Any] = {"rows": [], "bytes": 0, "complete": False}
        try:
            path = self._store.directory / SENSITIVITY.format(kind)
            measured = read_sealed_json(read_regular(path))
        except (OSError, ValueError):
            return nothing
        return measured if measured.keys() >= nothing.keys() else nothing

    def held_out(self, key: str, predict: Callable[[], RankedClasses]) -> RankedClasses:
        """Return a variant's predictions on the held-out part; make them if they are missing or damaged."""
        evaluations = self._store.evaluations
        try:
            return evaluations.read(key, 0, HELD_OUT)
        except InputError:
            ranked = predict()
            evaluations.save(key, 0, HELD_OUT, ranked)
            return ranked

    def judged(self) -> tuple[str, ...]:
        """Return the keys of the candidates that were judged, by this search and earlier ones."""
        exists = self._store.evaluations.exists
        keys = sorted(variant.key for variant in self._study.variants)
        return tuple(key for key in keys if exists(key, 0, HELD_OUT))

    def _created(self, keys: Sequence[str]) -> Store:
        versions = {"tfaudit": importlib.metadata.version("tfaudit")}
        members = dict.fromkeys(keys, (0,))
        return Store.create(self.directory / FOLDER, self._study, versions, members)

    def _path(self, key: str, kind: str) -> str:
        return self._store.member_path(key, 0, f"model.{kind}")


def flatbuffer_path(directory: Path, key: str) -> Path:
    """Return the path of a candidate's flatbuffer in the directory of a search."""
    return directory / FOLDER / Store.member_path(key, 0, "model.tflite")


def require_same_search(directory: Path, identity: Mapping[str, Any]) -> None:
    """Raise an `InputError` unless a directory is new or holds a search with the same settings and data."""
    expected = "a new directory, or the directory of an earlier search"
    if not (directory / FOLDER / "study.json").exists():
        if (directory / "study.json").exists():
            got = f"{directory}, which holds a study that `tfaudit compress` did not write"
            raise InputError("out", got, expected)
        require_no_other_folders("out", directory)
        if others := [name for name in RESULTS if (directory / name).exists()]:
            raise InputError("out", f"{directory}, which holds {others[0]} and no search", expected)
        return
    try:
        present = open_store(directory / FOLDER).study.fingerprints
    except InputError as problem:
        raise InputError("out", problem.got, expected) from None
    changed = [name for name, text in _as_text(identity).items() if present.get(name) != text]
    if changed:
        got = f"{directory}, the directory of a search that differs in its {changed[0].replace('_', ' ')}"
        seeded = "; a loader that shuffles needs a seed" if "data" in changed[0] else ""
        expected = f"the same model, data, limits and settings, or a new directory{seeded}"
        raise InputError("out", got, expected)


def remove_earlier_results(directory: Path) -> None:
    """Remove what an earlier run of this search found, so that a run that is refused leaves no result beside it."""
    for name in RESULTS:
        (directory / name).unlink(missing_ok=True)
    remove_imported(directory)


def _as_text(identity: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in identity.items()}
