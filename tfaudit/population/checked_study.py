"""What is checked before a run, once: a study that fails after hours would fail here."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import warnings
from operator import attrgetter
from pathlib import Path

from tfaudit.compress.pruning.scores import check_method
from tfaudit.datasets.benchmarks import expand_wildcards
from tfaudit.datasets.copies import notes_on_shared
from tfaudit.datasets.dataset import Dataset, Splits
from tfaudit.datasets.examples import tell_unused_weights
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.datasets.preview import previews
from tfaudit.errors import InputError, Notice, require
from tfaudit.population.condition_images import check_conditions
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.machine import keras_backend
from tfaudit.population.stored_examples import THUMBNAIL, load_splits
from tfaudit.runtime.captured_output import start_tensorflow
from tfaudit.runtime.user_functions import is_importing
from tfaudit.store.store import open_store
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

BUILT_IN_OPTIMIZERS = ("sgd", "adam")
"""Optimizers that need no check, and so no TensorFlow, before a run."""


@dataclasses.dataclass(frozen=True)
class CheckedStudy:
    """A study that can be run, and its data.

    Attributes:
        study: the study with fingerprints of its sources, and with the benchmark sets that wildcards name.
        train, test: its splits.
    """

    study: Study
    train: Dataset
    test: Dataset

    @property
    def fingerprints(self) -> dict[str, Fingerprint]:
        """Fingerprints of both splits."""
        return {"train": Fingerprint.of(self.train), "test": Fingerprint.of(self.test)}

    @property
    def shipped(self) -> Splits:
        """The splits as workers get them: without previews, which may be functions that cannot be shipped."""
        train, test = (dataclasses.replace(data, preview=None) for data in (self.train, self.test))
        return train, test


def check(study: Study, options: EngineOptions) -> CheckedStudy:
    """Return a study as it is run, and its splits; raise `InputError` for what would fail after hours."""
    if not isinstance(study, Study):
        expected = "a tfaudit.Study"
        if isinstance(study, str):
            expected += f"; the command `tfaudit run {study}` takes names of recipes"
        raise InputError("study", repr(study), expected)
    if is_importing():
        got = "a call of run while the study's own file is imported"
        how = 'the call under `if __name__ == "__main__":`, since workers import the file'
        raise InputError("study", got, how)
    _ = study.planned_training  # imported predictions have none
    study = study.with_fingerprints()
    train, test = load_splits(study)
    tell_unused_weights(test, "dataset")
    if study.dataset in study.sources and (notes := notes_on_shared(train.held, test.held)):
        test = dataclasses.replace(test, notes=(*test.notes, *notes))
        warnings.warn(Notice(f"dataset: {notes[0]}"), stacklevel=4)
    study = dataclasses.replace(study, benchmarks=expand_wildcards(study.benchmarks))
    check_conditions(study, test)
    _check_parts(study, train)
    if test.num_examples and (test.preview is not None or not test.has_images):
        next(previews(test.take(1), THUMBNAIL))
    _check_backend(study, options)
    return CheckedStudy(study, train, test)


def _check_parts(study: Study, train: Dataset) -> None:
    """Raise an `InputError` for a pruning method, a function or an optimizer that cannot be used."""
    for variant in study.variants:
        if isinstance(variant, Pruned):
            check_method(variant.method, variant.granularity)
    trainings = (study.training, study.retraining)
    unusual = [
        t for t in trainings if isinstance(t, Training) and t.optimizer not in BUILT_IN_OPTIMIZERS
    ]
    if study.sources or unusual:
        start_tensorflow()
        from tfaudit.population.own_training import check_own_parts

        check_own_parts(study, train)


def _check_backend(study: Study, options: EngineOptions) -> None:
    """Raise an `InputError` for what only Keras on TensorFlow trains."""
    backend = keras_backend()
    if backend == "tensorflow":
        return
    trainings = [t for t in (study.training, study.retraining) if isinstance(t, Training)]
    settings = {
        "engine": options.engine != "local",
        "fork": study.fork,
        **{name: any(map(attrgetter(name), trainings)) for name in ("strategy", "micro_batch")},
    }
    for name, is_set in settings.items():
        if is_set:
            got = f"a value with KERAS_BACKEND={backend}"
            raise InputError(name, got, "the default, or KERAS_BACKEND=tensorflow")


def check_continued(directory: Path) -> str:
    """Return Keras' backend; raise an `InputError` if members in a directory were made with another one."""
    backend = keras_backend()
    if (directory / "study.json").exists() and (store := open_store(directory)).variants:
        made = json.loads(store.read("study.json"))["versions"]
        begun = next((name for name in ("jax", "torch") if name in made), "tensorflow")
        expected = f"{begun!r}, with which the study was begun"
        require(backend == begun, "KERAS_BACKEND", backend, expected)
    known = backend in ("tensorflow", "jax", "torch")
    known = known and importlib.util.find_spec(backend) is not None
    require(known, "KERAS_BACKEND", backend, "'tensorflow', or an installed 'jax' or 'torch'")
    return backend
