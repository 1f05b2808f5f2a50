"""Runs a study: plans what is missing, makes it, and leaves a store that any later run can go on with."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from pathlib import Path

from tfaudit.errors import InputError
from tfaudit.files import lock
from tfaudit.population.examples import load_splits, store_examples
from tfaudit.population.local import Job, make_members
from tfaudit.population.progress import NoProgress, Reporter
from tfaudit.store import Store
from tfaudit.study import Study

__all__ = ["run"]

_LIBRARIES = ("tfaudit", "tensorflow", "keras", "tensorflow-model-optimization", "ai-edge-litert", "numpy")


def run(
    study: Study,
    directory: str | Path,
    *,
    engine: str = "local",
    workers: int | None = None,
    progress: Reporter | None = None,
) -> Store:
    """Trains, compresses and predicts every member of a study that is not in the directory yet.

    The run can be interrupted or killed at any moment: the same call goes on from there. A member that fails twice is
    recorded with its traceback, `store.failures()` lists it, and a later call tries it again.

    Args:
        study: what to run.
        directory: where; made if missing. One run at a time may use it.
        engine: "local": worker processes on this machine.
        workers: processes of one thread each; one per core that this process may use by default. One thread, whatever
            their number: then a seed gives the same bits with any number of workers.
        progress: who is told what happens; nobody by default.

    Returns:
        The store.

    Raises:
        InputError: another study or another run is in the directory, it cannot be written, the disk is full, or the
            data set is not there.
    """
    if engine != "local":
        raise InputError(f"engine: {engine!r}, allowed is 'local'")
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise InputError(f"workers: {workers}, allowed is 1 or more")
    train, test = load_splits(study)  # before anything is written or started: a missing set is one clear line
    with _plain_disk_errors(directory), lock(directory), progress or NoProgress() as reporter:
        store = Store.create(directory, study, {name: importlib.metadata.version(name) for name in _LIBRARIES})
        store_examples(store, train, test)
        jobs = [job for job in _plan(study) if not store.is_complete(job.variant, job.member)]
        total = study.population * len(study.all_variants)
        reporter.begin(total, total - len(jobs))
        with contextlib.closing(make_members(store.directory, jobs, workers)) as events:
            for event in events:
                if event.kind == "failed":
                    store.save_failure(event.job.variant, event.job.member, event.error)
                reporter.take(event)
    return store


def _plan(study: Study) -> list[Job]:
    """All members, number by number, so that a run cut short holds smaller but whole populations."""
    return [Job(v.key, member, v.parent) for member in range(study.population) for v in study.all_variants]


@contextlib.contextmanager
def _plain_disk_errors(directory: str | Path):
    try:
        yield
    except OSError as problem:
        where = problem.filename or directory
        raise InputError(f"directory: {directory} cannot be written ({problem.strerror}: {where})") from problem
