"""The local engine: worker processes on this machine."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from tfaudit.errors import InputError, require
from tfaudit.population import worker_process
from tfaudit.population.engine import Answer, carry_out
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.machine import available_cores, free_memory, visible_gpus
from tfaudit.population.plan import Event, Job, log_path
from tfaudit.population.worker_process import WorkerProcess
from tfaudit.runtime.seals import seal


@contextlib.contextmanager
def local_engine(
    directory: Path, options: EngineOptions, *_: object
) -> Iterator[Callable[[Sequence[Job]], Generator[Event]]]:
    """Yield a function that runs jobs in worker processes and yields events as they happen.

    A worker that dies is replaced, and its job counts as failed once. Closing the generator, or any exception, ends the
    workers at once.

    Args:
        directory: directory of the store, with its `study.json`.
        options: options of the engine; `workers` is the largest number of processes: see `gpus_of_workers`.
        _: splits and versions, which engines on other machines send there.

    Raises:
        InputError: this machine cannot hold a single job.
    """
    gpus = gpus_of_workers(options)

    def run_jobs(jobs: Sequence[Job]) -> Generator[Event]:
        with _scratch_folder(directory) as scratch, selectors.DefaultSelector() as selector:
            workers = gpus[: len(jobs)]
            engine = _LocalEngine(directory, scratch, selector, options)
            try:
                for its_gpus in workers:
                    engine.add_worker(its_gpus)
                yield from carry_out(engine, jobs, options)
            finally:
                engine.end()

    yield run_jobs


def gpus_of_workers(options: EngineOptions) -> list[str | None]:
    """Return the GPUs of each of the workers that this machine can hold at once, as `CUDA_VISIBLE_DEVICES` names them.

    None stands for a worker that takes what it finds. The cores limit the workers unless their number is given.

    Raises:
        InputError: a member wants more than this machine has.
    """
    gpus, cores, memory = visible_gpus(), available_cores(), free_memory()
    each = min(len(gpus), 1) if options.gpus is None else options.gpus
    wanted = options.memory or 0
    require(
        options.cpus <= cores, "cpus", options.cpus, f"at most {cores}, the cores of this machine"
    )
    require(each <= len(gpus), "gpus", each, f"at most {len(gpus)}, the GPUs of this machine")
    if wanted > memory:
        expected = f"at most {memory / 1e9:.1f} GB, the free memory of this machine"
        raise InputError("memory", f"{wanted / 1e9:g} GB", expected)
    room = options.workers or int(cores / options.cpus)
    if wanted and memory < math.inf:
        room = min(room, int(memory / wanted))
    if not each:
        return [None if options.gpus is None else ""] * room
    if each < 1:
        shares = gpus * int(1 / each)
    else:
        number = int(each)
        ends = range(number, len(gpus) + 1, number)
        shares = [",".join(gpus[end - number : end]) for end in ends]
    return [*shares[:room]]


class _LocalEngine:
    """Worker processes, one job each."""

    def __init__(
        self,
        directory: Path,
        scratch: Path,
        selector: selectors.BaseSelector,
        options: EngineOptions,
    ) -> None:
        self._directory, self._scratch, self._selector = directory, scratch, selector
        self._options = options
        self._idle: list[WorkerProcess] = []
        self._busy: dict[WorkerProcess, Job] = {}
        self._started: list[Job] = []

    def add_worker(self, gpus: str | None) -> None:
        """Start an idle worker with some GPUs."""
        logs = {worker.log for worker in (*self._idle, *self._busy)}
        names = (
            self._directory / "logs" / f"worker-{number}.log" for number in range(len(logs) + 1)
        )
        log = next(path for path in names if path not in logs)
        worker = WorkerProcess(
            worker_process.COMMAND,
            self._directory,
            log=log,
            scratch=self._scratch,
            threads=self._options.threads,
            gpus=gpus,
        )
        self._selector.register(worker.answers, selectors.EVENT_READ, worker)
        self._idle.append(worker)

    def has_room(self) -> bool:
        return bool(self._idle)

    def start(self, job: Job, *, needed: bool) -> None:
        if self._idle[0].jobs >= self._options.jobs_per_worker:
            self._replace(self._idle[0])
        worker = self._idle.pop(0)
        self._busy[worker] = job
        self._started.append(job)
        worker.start(job.order)

    def answers(self, seconds: float) -> Iterator[tuple[Job, Answer]]:
        started = self._started
        self._started = []
        if started:
            yield from ((job, {"started": True}) for job in started)
            return
        for key, _ in self._selector.select(None if seconds == math.inf else seconds):
            worker = key.data
            answer = worker.answer()
            job = self._busy.get(worker)
            if answer is None:
                self._replace(worker)  # if it was idle, its successor is idle too
                log = self._directory / log_path(job.order) if job else worker.log
                answer = {
                    "error": f"the worker process died; its log is {log if log.exists() else worker.log}"
                }
            elif "error" in answer:
                del self._busy[worker]
                self._idle.append(worker)
            if job:
                yield job, answer

    def abandon(self, job: Job) -> None:
        self._replace(next(worker for worker, busy in self._busy.items() if busy is job))

    def end(self) -> None:
        """Kill all workers."""
        for worker in (*self._idle, *self._busy):
            worker.end()

    def _replace(self, worker: WorkerProcess) -> None:
        """Kill a worker and start an idle one in its place."""
        self._selector.unregister(worker.answers)
        worker.end()
        if worker in self._idle:
            self._idle.remove(worker)
        self._busy.pop(worker, None)
        self.add_worker(worker.gpus)


@contextlib.contextmanager
def _scratch_folder(directory: Path) -> Iterator[Path]:
    """Make a temporary folder for the workers of a store, which leave files there, and remove it at the end.

    Its name depends on the directory alone, so that the next run removes what a killed one left.
    """
    name = seal(str(directory.resolve()))[:16]
    folder = Path(tempfile.gettempdir()) / f"tfaudit-{os.getuid()}-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
