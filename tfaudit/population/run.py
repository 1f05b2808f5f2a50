"""Running a study: plans what is missing, does it, and leaves a store that a later run can continue."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from tfaudit.datasets.benchmarks import expand_wildcards
from tfaudit.errors import InputError, require
from tfaudit.population.condition_images import check_conditions
from tfaudit.population.local import run_jobs
from tfaudit.population.plan import Event, Job, condition_jobs, member_jobs
from tfaudit.population.progress import Progress
from tfaudit.population.stored_examples import load_splits, store_examples
from tfaudit.store.files import lock
from tfaudit.store.store import Store
from tfaudit.study.study import Study

ENGINES = {"local": run_jobs}  # functions that run jobs, by name; see `tfaudit.population.local.run_jobs`

_LIBRARIES = ("tfaudit", "tensorflow", "keras", "tensorflow-model-optimization", "ai-edge-litert", "numpy")


def run(
    study: Study,
    directory: str | Path,
    *,
    engine: str = "local",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Store:
    """Train, compress and test every member of a study that the directory does not hold yet, and return the store.

    Members are tested on the test set, then under the study's conditions: corruptions, whose images are computed once
    per condition and never stored, and benchmark sets. A study in the directory may get further conditions.

    The run can be interrupted or killed at any moment; the same call continues it. A member that fails twice is
    recorded with its traceback, `store.failures()` lists it, and a later call tries it again. The same holds for
    conditions and `store.evaluations.failures()`.

    Args:
        study: what to run.
        directory: of the study; created if missing. One run at a time can use it.
        engine: "local", worker processes on this machine.
        workers: number of worker processes; by default one per core that this process may use. Each has one thread,
            so a seed gives the same bits with any number of workers.
        progress: display of the progress; none by default.

    Raises:
        InputError: the directory holds another study, is in use or cannot be written, the disk is full, or a data set
            is missing or does not fit.
    """
    require(engine in ENGINES, "engine", engine, ", ".join(map(repr, ENGINES)))
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    require(workers >= 1, "workers", workers, "1 or more")
    train, test = load_splits(study)  # before anything is written or started, so that a missing set is one line
    study = dataclasses.replace(study, benchmarks=expand_wildcards(study.benchmarks))
    check_conditions(study, test)
    with _disk_errors(directory), lock(directory), progress or Progress() as shown:
        store = Store.create(directory, study, {name: importlib.metadata.version(name) for name in _LIBRARIES})
        store_examples(store, train, test)
        start = functools.partial(ENGINES[engine], store.directory, workers=workers)
        _carry_out(store, member_jobs(store), study.population * len(study.all_variants), "members", start, shown)
        if study.conditions:
            jobs = condition_jobs(store)
            for condition in set(study.conditions) - {job.condition for job in jobs}:
                store.evaluations.delete_failure(condition.split)  # the members that failed are no longer tested
            _carry_out(store, jobs, len(study.conditions) * len(store.evaluated_members()), "evaluations", start, shown)
    return store


def _carry_out(
    store: Store,
    jobs: Sequence[Job],
    total: int,
    what: str,
    start: Callable[[Sequence[Job]], Generator[Event]],
    progress: Progress,
) -> None:
    """Run jobs, `total` of which are wanted in all, and record their failures."""
    progress.begin(total, total - sum(job.size for job in jobs), what=what)
    with contextlib.closing(start(jobs)) as events:
        for event in events:
            if event.kind == "failed":
                event.job.save_failure(store, event.error)
            elif event.kind == "done":
                event.job.delete_failure(store)
            progress.update(event)


@contextlib.contextmanager
def _disk_errors(directory: str | Path) -> Iterator[None]:
    """Turn an `OSError` into an `InputError` about the directory."""
    try:
        yield
    except OSError as problem:
        got = f"{directory}, which cannot be written ({problem.strerror}: {problem.filename or directory})"
        raise InputError("directory", got, "a writable directory with free space; then run again") from problem
