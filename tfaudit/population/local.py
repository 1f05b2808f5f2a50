"""The local engine: a few worker processes that stay alive, and a plan of jobs that depend on one another."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from tfaudit.errors import InputError
from tfaudit.population.jobs import Event, Job, Order

__all__ = ["carry_out"]

COMMAND = (sys.executable, "-m", "tfaudit.population.worker")
"""Starts a worker, followed by the directory."""

ATTEMPTS = 2
"""A job that fails is tried once more."""


def carry_out(directory: Path, jobs: Sequence[Job], workers: int) -> Generator[Event]:
    """Does every job on a few processes and tells what happens as it happens.

    A worker that dies is replaced, and its job counts as failed once. Jobs whose parent failed fail with it. Closing
    the generator, or any exception, ends the workers at once.

    Args:
        directory: of the store; `study.json` is there.
        jobs: in the order in which they are wanted; those whose parent is not among them can start at once.
        workers: processes; never more than jobs.

    Raises:
        InputError: no job can fare better: bad input, or a disk that is full or cannot be written.
    """
    waiting = list(jobs)
    undone = {job.order for job in jobs}
    failures: dict[Order, int] = {}
    lost: dict[Order, Job] = {}
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        idle = [_Worker(directory, number) for number in range(min(workers, len(jobs)))]
        for worker in idle:
            stack.callback(worker.end)
            selector.register(worker.answers, selectors.EVENT_READ, worker)
        busy: dict[_Worker, Job] = {}
        while waiting or busy:
            for job in [job for job in waiting if job.needs in lost]:
                waiting.remove(job)
                yield Event("failed", job, f"its parent, {lost[cast(Order, job.needs)].name}, failed")
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
                made = busy.pop(worker, None)
                if answer is None:
                    selector.unregister(worker.answers)
                    worker.restart()
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
                    answer = {"error": f"the worker process died; its last words are in {worker.log}"}
                if made is None:  # it was idle when it died, and so is its successor
                    continue
                job = made
                idle.append(worker)
                if answer.get("fatal"):
                    raise InputError(answer["fatal"])
                if answer["error"] is None:
                    undone.discard(job.order)
                    yield Event("done", job)
                    continue
                failures[job.order] = failures.get(job.order, 0) + 1
                if failures[job.order] < ATTEMPTS:
                    waiting.insert(0, job)
                    yield Event("retried", job, answer["error"])
                else:
                    lost[job.order] = job
                    yield Event("failed", job, answer["error"])


class _Worker:
    """A worker process and its two pipes."""

    def __init__(self, directory: Path, number: int) -> None:
        self.log = directory / "logs" / f"worker-{number}.log"
        self._command = [*COMMAND, str(directory)]
        self._launch()

    def _launch(self) -> None:
        self.log.parent.mkdir(exist_ok=True)
        # Workers share a GPU where there is one: each takes the memory it needs, not all of it.
        settings = {"TF_CPP_MIN_LOG_LEVEL": "2", "OMP_NUM_THREADS": "1", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
        environment = {**os.environ, **settings, "PYTHONUNBUFFERED": "1"}
        with self.log.open("ab") as log:
            # Unbuffered: what is read beyond one answer would be hidden from the selector.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, bufsize=0
            )
        self._jobs = cast(IO[bytes], self._process.stdin)
        self.answers = cast(IO[bytes], self._process.stdout)

    def start(self, job: Job) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died; the end of its answers will tell
            self._jobs.write(json.dumps(job.order).encode() + b"\n")
            self._jobs.flush()

    def answer(self) -> dict[str, Any] | None:
        """One answer, or None where the process died."""
        line = self.answers.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def restart(self) -> None:
        self.end()
        self._launch()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._jobs, self.answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
