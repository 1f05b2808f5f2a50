"""The work of every engine: start jobs, wait for answers, retry, time out. Engines differ in where jobs run."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol

from tfaudit.errors import InputError
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.job_queue import JobQueue
from tfaudit.population.plan import Event, Job, MemberJob, Order

Answer = dict[str, Any]
"""What a worker says of a job: see `tfaudit.population.worker`; an engine adds `{"started": True}`."""


class Engine(Protocol):
    """A place where jobs run, such as worker processes or a cluster."""

    def has_room(self) -> bool:
        """Return whether one more job can be started now."""

    def start(self, job: Job, *, needed: bool) -> None:
        """Start a job, now or soon; `needed` says whether other jobs need its result."""

    def answers(self, seconds: float) -> Iterable[tuple[Job, Answer]]:
        """Wait at most some seconds for jobs to answer, and return the answers; a lost worker's is an error."""

    def abandon(self, job: Job) -> None:
        """End a job's worker at once; the job does not answer."""


def carry_out(
    engine: Engine, jobs: Sequence[Job], options: EngineOptions, *, grace: float = 0
) -> Generator[Event]:
    """Run jobs and yield events as they happen.

    A job is tried again if it loses its worker, is silent for too long, or fails with an error that may pass. When no
    retries are left it fails, and so do the jobs that need it. A job with any other error fails at once.

    Args:
        engine: engine that runs the jobs.
        jobs: jobs in the order in which they should be done. A job can start once the job that it needs is done, or if
            that is not among them.
        options: retries and timeout; the engine itself handles the other options.
        grace: seconds beyond the timeout in which the engine may itself end a job that takes too long.

    Raises:
        InputError: no job can succeed: bad input, or a disk that is full or cannot be written.
    """
    queue = JobQueue(jobs, options.retries)
    patience = math.inf if options.timeout is None else options.timeout + grace
    running: dict[Order, tuple[Job, float]] = {}  # each with the time when it times out
    while queue:
        while engine.has_room() and (job := queue.take()):
            engine.start(job, needed=queue.is_needed(job.order))
        first_end = min((end for _, end in running.values()), default=math.inf)
        for job, answer in engine.answers(max(first_end - time.monotonic(), 0)):
            if "error" not in answer:
                if "checkpoint" not in answer:
                    running[job.order] = job, time.monotonic() + patience
                yield from _events_during(job, answer)
                continue
            running.pop(job.order, None)
            if answer.get("fatal"):
                raise InputError(*answer["fatal"])
            if answer["error"] is None:
                queue.done(job)
                yield Event("done", job, machine=answer.get("machine"))
            else:
                yield from queue.failed(job, answer["error"], again=not answer.get("lasting"))
        now = time.monotonic()
        for job in [job for job, end in running.values() if end <= now]:
            engine.abandon(job)
            del running[job.order]
            yield from queue.failed(job, too_long(options.timeout))


def _events_during(job: Job, answer: Answer) -> Iterator[Event]:
    """Yield what an answer that does not end its job tells: a start, an evaluation, or how far a training is."""
    if answer.get("started"):
        yield Event("started", job)
    elif isinstance(job, MemberJob):
        if (left := job.left_after(answer["step"])) is not None:
            yield Event("advanced" if answer["checkpoint"] else "resumed", job, left=left)
    else:
        yield Event("advanced", job, left=answer["left"])


def too_long(timeout: float | None) -> str:
    """Return the error of a job that takes too long."""
    return f"TimeoutError: it took longer than the timeout of {timeout:g} s"
