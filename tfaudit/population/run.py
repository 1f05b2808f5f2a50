"""Running a study: plans the missing jobs, does them, and leaves a store that a later run can continue."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import importlib.util
import json
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from tfaudit.compress.pruning.scores import check_method
from tfaudit.datasets.benchmarks import expand_wildcards
from tfaudit.datasets.copies import notes_on_shared
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import tell_unused_weights
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.datasets.preview import previews
from tfaudit.errors import InputError, Notice, path_of, require
from tfaudit.population.condition_images import check_conditions
from tfaudit.population.engine_options import ENGINES, EngineOptions
from tfaudit.population.machine import keras_backend
from tfaudit.population.plan import Event, Job, condition_jobs, member_jobs
from tfaudit.population.progress import Progress
from tfaudit.population.stored_examples import (
    THUMBNAIL,
    load_splits,
    store_class_facts,
    store_examples,
)
from tfaudit.runtime.captured_output import start_tensorflow
from tfaudit.runtime.listed_options import with_options_of
from tfaudit.runtime.user_functions import is_importing
from tfaudit.store.files import lock
from tfaudit.store.store import Store, open_store
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

BUILT_IN_OPTIMIZERS = ("sgd", "adam")
"""Optimizers that need no check, and so no TensorFlow, before a run."""

_LIBRARIES = (
    "tfaudit",
    "tensorflow",
    "keras",
    "tensorflow-model-optimization",
    "ai-edge-litert",
    "numpy",
)


@with_options_of(EngineOptions, "jobs_per_worker")
def run(
    study: Study,
    directory: str | Path,
    *,
    progress: Progress | str | None = None,
    accept_changed_code: bool = False,
    **options: Any,
) -> Store:
    """Train, compress and test every member of a study that the directory does not hold yet, and return the store.

    Members are tested on the test set, then under the study's conditions: corruptions, whose images are computed once
    per condition and never stored, and benchmark sets. A study in the directory may get further conditions.

    The run can be interrupted or killed at any moment; the same call continues it. A member that fails after all
    retries is recorded with its traceback, `store.failures()` lists it, and a later call tries it again. The same
    holds for conditions and `store.evaluations.failures()`.

    Args:
        study: the study to run.
        directory: directory of the study; created if missing. One run at a time can use it.
        progress: display of the progress, or "auto": a bar in a terminal, lines in a notebook; none by default.
        accept_changed_code: whether to go on although the source of one of the study's functions has changed since
            members were made.
        **options: where members run, how many at once, and what each takes: `engine`, `workers`, `address`, `cpus`,
            `gpus`, `memory`, `retries` and `timeout`, as in `tfaudit.population.engine_options.EngineOptions`.

    Raises:
        InputError: the directory holds another study, is in use or cannot be written, the disk is full, a data set is
            missing or does not fit, or a user's function cannot be used. Nothing has been trained then.
    """
    return run_study(
        study,
        directory,
        EngineOptions(**options),
        progress=progress,
        accept_changed_code=accept_changed_code,
    )


def run_study(
    study: Study,
    directory: str | Path,
    options: EngineOptions,
    *,
    progress: Progress | str | None = None,
    accept_changed_code: bool = False,
) -> Store:
    """Run a study as `run` does, with the options of the engine as one object."""
    directory = path_of("directory", directory)
    study, train, test = _checked(study)
    _check_backend(study, options)
    with lock(directory), Progress.chosen(progress) as shown:
        backend = _check_continued(Path(directory))
        libraries = dict.fromkeys((*_LIBRARIES, backend))
        versions = {name: importlib.metadata.version(name) for name in libraries}
        data = {"train": Fingerprint.of(train), "test": Fingerprint.of(test)}
        store = Store.create(
            directory, study, versions, data=data, accept_changed_code=accept_changed_code
        )
        store_examples(store, test, thumbnails=False)
        if train.in_memory:
            store_class_facts(store, train)
        # Members need no previews, which may be functions that cannot be shipped.
        splits = dataclasses.replace(train, preview=None), dataclasses.replace(test, preview=None)
        engine = ENGINES[options.engine]
        with engine(store.directory, options, splits, versions) as start:
            phase = functools.partial(_carry_out, store, options.engine, start, shown)
            jobs: Sequence[Job] = member_jobs(store, train.num_examples)
            keys, most = study.evaluated
            tests = len(study.conditions) * len(keys) * most
            then = {"evaluations": tests} if tests else {}
            phase(jobs, study.population * len(study.all_variants), "members", then)
            # Streams are read for labels and thumbnails only now: the first member need not wait for them.
            store_class_facts(store, train)
            store_examples(store, test)
            if study.conditions:
                jobs = condition_jobs(store)
                for condition in set(study.conditions) - {job.condition for job in jobs}:
                    store.evaluations.delete_failure(
                        condition.split
                    )  # the members that failed are no longer tested
                phase(
                    jobs, len(study.conditions) * len(store.evaluated_members()), "evaluations", {}
                )
    return store


def _checked(study: Study) -> tuple[Study, Dataset, Dataset]:
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
    return study, train, test


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


def _check_continued(directory: Path) -> str:
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


Start = Callable[[Sequence[Job]], Generator[Event]]
"""Runs jobs and yields events as they happen."""


def _carry_out(
    store: Store,
    engine: str,
    start: Start,
    progress: Progress,
    jobs: Sequence[Job],
    total: int,
    what: str,
    then: Mapping[str, int],
) -> None:
    """Run jobs, `total` of which are wanted in all, and record their failures and the machines they ran on.

    `then` holds what later phases make, as in `Progress.begin`.
    """
    progress.begin(jobs, total, what=what, then=then)
    with contextlib.closing(start(jobs)) as events:
        for event in events:
            if event.kind == "failed":
                event.job.save_failure(store, event.error)
            elif event.kind == "done":
                event.job.delete_failure(store)
                if event.machine:
                    store.add_machine({"engine": engine, **event.machine})
            progress.update(event)
