"""Running a study: plans the missing jobs, does them, and leaves a store that a later run can continue."""

import contextlib
import functools
import importlib.metadata
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfaudit.errors import path_of
from tfaudit.population.checked_study import check, check_continued
from tfaudit.population.engine_options import ENGINES, EngineOptions
from tfaudit.population.plan import Event, Job, condition_jobs, member_jobs
from tfaudit.population.progress import Progress
from tfaudit.population.stored_examples import store_class_facts, store_examples
from tfaudit.runtime.listed_options import with_options_of
from tfaudit.store.files import lock
from tfaudit.store.store import Store
from tfaudit.study.study import Study

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
    checked = check(study, options)
    study, train, test = checked.study, checked.train, checked.test
    with lock(directory), Progress.chosen(progress) as shown:
        backend = check_continued(Path(directory))
        libraries = dict.fromkeys((*_LIBRARIES, backend))
        versions = {name: importlib.metadata.version(name) for name in libraries}
        store = Store.create(
            directory,
            study,
            versions,
            data=checked.fingerprints,
            accept_changed_code=accept_changed_code,
        )
        store_examples(store, test, thumbnails=False)
        if train.in_memory:
            store_class_facts(store, train)
        engine = ENGINES[options.engine]
        with engine(store.directory, options, checked.shipped, versions) as start:
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
