"""The local engine: worker processes on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import selectors
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from tfaudit.population import worker_process
from tfaudit.population.engine import Answer, EngineOptions, carry_out
from tfaudit.population.machine import free_memory
from tfaudit.population.plan import Event, Job, log_path
from tfaudit.population.worker_process import WorkerProcess


@contextlib.contextmanager
def local_engine(
    directory: Path, options: EngineOptions
) -> Iterator[Callable[[Sequence[Job]], Generator[Event]]]:
    """Yield a function that runs jobs in worker processes and yields events as they happen.

    A worker that dies is replaced, and its job counts as failed once. Closing the generator, or any exception, ends the
    workers at once.

    Args:
        directory: directory of the store, with its `study.json`.
        options: options of the engine; `workers` is the number of processes, at most one per job, by default one per
            core that this process may use.
    """

    def run_jobs(jobs: Sequence[Job]) -> Generator[Event]:
        with _scratch_folder(directory) as scratch, selectors.DefaultSelector() as selector:
            workers = min(options.workers or available_cores(), len(jobs))
            memory = free_memory() / max(workers, 1)
            engine = _LocalEngine(directory, scratch, selector, options.jobs_per_worker, memory)
            try:
                for _ in range(workers):
                    engine.add_worker()
                yield from carry_out(engine, jobs, options)
            finally:
                engine.end()

    yield run_jobs


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _LocalEngine:
    """Worker processes, one job each."""

    def __init__(
        self,
        directory: Path,
        scratch: Path,
        selector: selectors.BaseSelector,
        jobs_per_worker: int,
        memory: float,
    ) -> None:
        self._directory, self._scratch, self._selector = directory, scratch, selector
        self._jobs_per_worker, self._memory = jobs_per_worker, memory
        self._idle: list[WorkerProcess] = []
        self._busy: dict[WorkerProcess, Job] = {}
        self._started: list[Job] = []

    def add_worker(self) -> None:
        """Start an idle worker."""
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
            memory=self._memory,
        )
        self._selector.register(worker.answers, selectors.EVENT_READ, worker)
        self._idle.append(worker)

    def has_room(self) -> bool:
        return bool(self._idle)

    def start(self, job: Job, *, needed: bool) -> None:
        if self._idle[0].jobs >= self._jobs_per_worker:
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
        self.add_worker()


@contextlib.contextmanager
def _scratch_folder(directory: Path) -> Iterator[Path]:
    """Make a temporary folder for the workers of a store, which leave files there, and remove it at the end.

    Its name depends on the directory alone, so that the next run removes what a killed one left.
    """
    name = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"tfaudit-{os.getuid()}-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
