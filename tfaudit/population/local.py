"""The local engine: a few worker processes that stay alive, and a plan of members that depend on one another."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from tfaudit.errors import InputError

__all__ = ["Event", "Job", "make_members"]

COMMAND = (sys.executable, "-m", "tfaudit.population.worker")
"""Starts a worker, followed by the directory."""

ATTEMPTS = 2
"""A member that fails is tried once more."""


@dataclass(frozen=True)
class Job:
    """One member to make: of which variant, its number, and the variant whose same member must be there first."""

    variant: str
    member: int
    parent: str | None = None


@dataclass(frozen=True)
class Event:
    """What happened to a member: "started", "done", "retried" or "failed" (then `error` holds the traceback)."""

    kind: str
    job: Job
    error: str = ""


def make_members(directory: Path, jobs: Sequence[Job], workers: int) -> Generator[Event]:
    """Makes every member on a few processes and tells what happens as it happens.

    A worker that dies is replaced, and its member counts as failed once. Members whose parent failed fail with it.
    Closing the generator, or any exception, ends the workers at once.

    Args:
        directory: of the store; `study.json` is there.
        jobs: in the order in which they are wanted; those without a parent among them can start at once.
        workers: processes; never more than jobs.

    Raises:
        InputError: no member can fare better: bad input, or a disk that is full or cannot be written.
    """
    waiting = list(jobs)
    unmade = {(job.variant, job.member) for job in jobs}
    failures: dict[Job, int] = {}
    lost: set[tuple[str, int]] = set()
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        idle = [_Worker(directory, number) for number in range(min(workers, len(jobs)))]
        for worker in idle:
            stack.callback(worker.end)
            selector.register(worker.answers, selectors.EVENT_READ, worker)
        busy: dict[_Worker, Job] = {}
        while waiting or busy:
            for job in [job for job in waiting if (job.parent, job.member) in lost]:
                waiting.remove(job)
                yield Event("failed", job, f"its parent, member {job.member} of {job.parent}, failed")
            ready = [job for job in waiting if (job.parent, job.member) not in unmade]
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
                made = busy.pop(worker, None)
                answer = worker.answer()
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
                    unmade.discard((job.variant, job.member))
                    yield Event("done", job)
                    continue
                failures[job] = failures.get(job, 0) + 1
                if failures[job] < ATTEMPTS:
                    waiting.insert(0, job)
                    yield Event("retried", job, answer["error"])
                else:
                    lost.add((job.variant, job.member))
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
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
            )
        self._jobs = cast(IO[bytes], self._process.stdin)
        self.answers = cast(IO[bytes], self._process.stdout)

    def start(self, job: Job) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died; the end of its answers will tell
            self._jobs.write(json.dumps([job.variant, job.member]).encode() + b"\n")
            self._jobs.flush()

    def answer(self) -> dict[str, str | None] | None:
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
