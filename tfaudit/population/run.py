"""Runs a study: plans what is missing, makes it, and leaves a store that any later run can go on with."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import os
from pathlib import Path
from typing import cast

from tfaudit.datasets.benchmarks import expand_wildcards
from tfaudit.errors import InputError
from tfaudit.population.condition_images import check_conditions
from tfaudit.population.jobs import ConditionJob
from tfaudit.population.local import carry_out
from tfaudit.population.plan import condition_jobs, evaluated_members, member_jobs
from tfaudit.population.progress import NoProgress, Reporter
from tfaudit.population.stored_examples import load_splits, store_examples
from tfaudit.store.files import lock
from tfaudit.store.store import Store
from tfaudit.study.study import Study

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

    Then every member is tested under the study's conditions, corruptions and benchmark sets, where it has not been: the
    test set is corrupted once per condition and never stored. A study in the directory may get further conditions.

    The run can be interrupted or killed at any moment: the same call goes on from there. A member that fails twice is
    recorded with its traceback, `store.failures()` lists it, and a later call tries it again; so does
    `store.evaluations.failures()` for conditions.

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
        InputError: another study or another run is in the directory, it cannot be written, the disk is full, or a
            data set is not there or does not fit.
    """
    if engine != "local":
        raise InputError("engine", repr(engine), "'local'")
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise InputError("workers", str(workers), "1 or more")
    train, test = load_splits(study)  # before anything is written or started: a missing set is one clear line
    study = dataclasses.replace(study, benchmarks=expand_wildcards(study.benchmarks))
    check_conditions(study, test)
    with _plain_disk_errors(directory), lock(directory), progress or NoProgress() as reporter:
        store = Store.create(directory, study, {name: importlib.metadata.version(name) for name in _LIBRARIES})
        store_examples(store, train, test)
        _make_members(store, workers, reporter)
        if study.conditions:
            _evaluate(store, workers, reporter)
    return store


def _make_members(store: Store, workers: int, reporter: Reporter) -> None:
    jobs = member_jobs(store)
    total = store.study.population * len(store.study.all_variants)
    reporter.begin(total, total - len(jobs))
    with contextlib.closing(carry_out(store.directory, jobs, workers)) as events:
        for event in events:
            if event.kind == "failed":
                _, variant, member = event.job.order
                store.save_failure(variant, member, event.error)
            reporter.take(event)


def _evaluate(store: Store, workers: int, reporter: Reporter) -> None:
    jobs = condition_jobs(store)
    for condition in set(store.study.conditions) - {job.condition for job in jobs}:
        store.evaluations.forget_failure(condition.split)  # those who failed are not asked any more
    total = len(store.study.conditions) * len(evaluated_members(store))
    reporter.begin(total, total - sum(job.size for job in jobs), what="evaluations")
    with contextlib.closing(carry_out(store.directory, jobs, workers)) as events:
        for event in events:
            split = cast(ConditionJob, event.job).condition.split
            if event.kind == "failed":
                store.evaluations.save_failure(split, event.error)
            elif event.kind == "done":
                store.evaluations.forget_failure(split)
            reporter.take(event)


@contextlib.contextmanager
def _plain_disk_errors(directory: str | Path):
    try:
        yield
    except OSError as problem:
        where = problem.filename or directory
        raise InputError(f"directory: {directory} cannot be written ({problem.strerror}: {where})") from problem
