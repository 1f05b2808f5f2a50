"""The work of every engine: start jobs, wait for answers, retry, time out. Engines differ in where jobs run."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tfaudit.errors import EXTRAS, InputError, require, require_one_of
from tfaudit.extensions import Registry, declared
from tfaudit.population.job_queue import JobQueue
from tfaudit.population.plan import Event, Job, MemberJob, Order
from tfaudit.study.settings import check_least, check_positive

ENGINES = Registry("engines", {"local": "tfaudit.population.local:local_engine"})
"""Engines by name: functions of a directory, `EngineOptions`, splits and versions of libraries."""

RETRIES = 2
"""How often a job that failed with an error that may pass is tried again by default."""

JOBS_PER_WORKER = 50
"""Jobs after which a worker process is replaced: TensorFlow's converter never returns some of its memory."""

Answer = dict[str, Any]
"""What a worker says of a job: see `tfaudit.population.worker`; an engine adds `{"started": True}`."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options of a run's engine; see `tfaudit.run`.

    Attributes:
        engine: name of the engine, one of `ENGINES`.
        workers: number of jobs at once; by default as many as there is room for.
        retries: number of further attempts of a job that failed with an error that may pass.
        timeout: seconds that a member may take, to make or to test under a condition; any time by default.
        jobs_per_worker: number of jobs after which a worker process is replaced.
        address: address of the Ray cluster, HOST:PORT.
        cpus: cores of a job, which are the threads of its worker.
        gpus: GPUs of a job; below 1, several jobs share one. By default 1 if this machine has any, and none on Ray.
        memory: bytes of memory that are reserved for each job; none by default.

    Raises:
        InputError: an unknown engine, one that does not take an option, or an option that no engine takes.

    >>> EngineOptions(workers=2).retries
    2
    """

    engine: str = "local"
    workers: int | None = None
    retries: int = RETRIES
    timeout: float | None = None
    jobs_per_worker: int = JOBS_PER_WORKER
    address: str | None = None
    cpus: float = 1
    gpus: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        require_one_of("engine", self.engine, ENGINES)
        check_least(self, workers=1, retries=0)
        check_positive(self, "timeout", "cpus", "memory")
        gpus = self.gpus or 0
        gpus_fit = gpus >= 0 and (gpus < 1 or gpus == int(gpus))  # Ray shares no further GPUs
        require(gpus_fit, "gpus", self.gpus, "0, a share of a GPU below 1, or a whole number")
        if self.engine == "local":
            expected = "no such option with the local engine; engine 'ray' takes it"
            require(self.address is None, "address", self.address, expected)
            return
        for module in declared("engines")[self.engine][0].missing:
            got = f"{self.engine!r}, but {module} is not installed"
            extra = f"'tfaudit[{EXTRAS[module]}]'" if module in EXTRAS else module
            raise InputError("engine", got, f"`pip install {extra}`, or engine 'local'")

    @property
    def threads(self) -> int:
        """Threads of a job's worker."""
        return max(int(self.cpus), 1)


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
