"""The options of a run's engine: where the members run, how many at once, and what each takes."""

from __future__ import annotations

from dataclasses import dataclass

from tfaudit.errors import EXTRAS, InputError, require, require_one_of
from tfaudit.extensions import Registry, declared
from tfaudit.study.settings import check_least, check_positive

ENGINES = Registry("engines", {"local": "tfaudit.population.local:local_engine"})
"""Engines by name: functions of a directory, `EngineOptions`, splits and versions of libraries."""

RETRIES = 2
"""How often a job that failed with an error that may pass is tried again by default."""

JOBS_PER_WORKER = 50
"""Jobs after which a worker process is replaced: TensorFlow's converter never returns some of its memory."""


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options of a run's engine, which `tfaudit.run` takes by name.

    Attributes:
        engine: "local", worker processes on this machine, or "ray", tasks on a Ray cluster (`tfaudit[ray]`). The same
            seed gives the same bits with both, and with any number of workers, on processors of one model.
        workers: largest number of members at once; by default as many as fit the cores, GPUs and memory of this machine
            or of the cluster.
        address: address of the Ray cluster, HOST:PORT. By default the environment variable RAY_ADDRESS; without it Ray
            starts on this machine.
        cpus: cores of each member, which are the threads of its worker.
        gpus: GPUs of each member: 0, a share of one, or several for `Training(strategy="mirrored")`; by default 1 if
            this machine has any, and none on Ray.
        memory: bytes of memory that are reserved for each member; none by default.
        retries: number of further attempts for a member whose worker dies, that takes too long, or that fails for lack
            of memory or because of a file or a connection. Any other error, such as a `ValueError` in a user's
            function, would recur: such a member fails at once.
        timeout: seconds that a member may take, to make or to test under a condition; any time by default.
        jobs_per_worker: number of jobs after which a worker process is replaced.

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
