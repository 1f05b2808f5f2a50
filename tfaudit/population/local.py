"""The local engine: worker processes on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from tfaudit.errors import InputError
from tfaudit.population.plan import Event, Job, Order

COMMAND = (sys.executable, "-m", "tfaudit.population.worker")  # starts a worker; the directory follows
ATTEMPTS = 2  # how often a job is tried


def run_jobs(directory: Path, jobs: Sequence[Job], workers: int) -> Generator[Event]:
    """Run jobs in worker processes and yield events as they happen.

    A worker that dies is replaced, and its job counts as failed once. A job fails if the job that it needs fails.
    Closing the generator, or any exception, ends the workers at once.

    Args:
        directory: of the store; its `study.json` exists.
        jobs: in the order in which they should be done. A job can start once the job that it needs is done or is not
            among them.
        workers: number of processes, at most one per job.

    Raises:
        InputError: no job can succeed: bad input, or a disk that is full or cannot be written.
    """
    waiting = list(jobs)
    undone = {job.order for job in jobs}
    failures: dict[Order, int] = {}
    failed: dict[Order, Job] = {}
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        scratch = stack.enter_context(_scratch_folder(directory))
        idle = [_Worker(directory, number, scratch) for number in range(min(workers, len(jobs)))]
        for worker in idle:
            stack.callback(worker.end)
            selector.register(worker.answers, selectors.EVENT_READ, worker)
        busy: dict[_Worker, Job] = {}
        while waiting or busy:
            for orphan in [job for job in waiting if job.needs in failed]:
                waiting.remove(orphan)
                yield Event("failed", orphan, f"its parent, {failed[cast(Order, orphan.needs)].name}, failed")
            ready = [job for job in waiting if job.needs not in undone]
            for worker, job in zip(idle[:], ready, strict=False):
                idle.remove(worker)
                waiting.remove(job)
                busy[worker] = job
                yield Event("started", job)
                worker.start(job)
            if not busy:
                continue
            for key, _ in selector.select():
                worker = key.data
                answer = worker.answer()
                if answer is not None and "left" in answer:
                    yield Event("advanced", busy[worker], left=answer["left"])
                    continue
                finished = busy.pop(worker, None)
                if answer is None:
                    selector.unregister(worker.answers)
                    worker.restart()
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
                    answer = {"error": f"the worker process died; its log is {worker.log}"}
                if finished is None:  # the worker was idle when it died, and its successor is idle too
                    continue
                idle.append(worker)
                if answer.get("fatal"):
                    raise InputError(*answer["fatal"])
                if answer["error"] is None:
                    undone.discard(finished.order)
                    yield Event("done", finished)
                    continue
                failures[finished.order] = failures.get(finished.order, 0) + 1
                if failures[finished.order] < ATTEMPTS:
                    waiting.insert(0, finished)
                    yield Event("retried", finished, answer["error"])
                else:
                    failed[finished.order] = finished
                    yield Event("failed", finished, answer["error"])


@contextlib.contextmanager
def _scratch_folder(directory: Path) -> Iterator[Path]:
    """Make a temporary folder for the workers of a store, which leave files there, and remove it at the end.

    Its name depends on the directory alone, so that the next run removes what a killed one left.
    """
    name = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"tfaudit-{os.getuid() if hasattr(os, 'getuid') else ''}-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Worker:
    """A worker process and its two pipes; `scratch` is its folder for temporary files."""

    def __init__(self, directory: Path, number: int, scratch: Path) -> None:
        self._scratch = scratch
        self.log = directory / "logs" / f"worker-{number}.log"
        self._command = [*COMMAND, str(directory)]
        self._launch()

    def _launch(self) -> None:
        self.log.parent.mkdir(exist_ok=True)
        # Workers share a GPU, so each allocates the memory that it needs instead of all of it.
        settings = {"TF_CPP_MIN_LOG_LEVEL": "2", "OMP_NUM_THREADS": "1", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
        environment = {**os.environ, **settings, "PYTHONUNBUFFERED": "1", "TMPDIR": str(self._scratch)}
        with self.log.open("ab") as log:
            # The pipes are unbuffered: the selector would not see answers that a buffer holds.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, bufsize=0
            )
        self._orders = cast(IO[bytes], self._process.stdin)
        self.answers = cast(IO[bytes], self._process.stdout)

    def start(self, job: Job) -> None:
        with contextlib.suppress(BrokenPipeError):  # the worker died, which the end of its answers shows
            self._orders.write(json.dumps(job.order).encode() + b"\n")
            self._orders.flush()

    def answer(self) -> dict[str, Any] | None:
        """Return one answer, or None if the process died."""
        line = self.answers.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def restart(self) -> None:
        self.end()
        self._launch()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._orders, self.answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
