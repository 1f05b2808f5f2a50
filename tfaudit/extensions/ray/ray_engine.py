"""The Ray engine: jobs are tasks on the nodes of a cluster; only the driver writes the study's directory."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import os
import socket
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tfaudit.datasets.dataset import Splits
from tfaudit.errors import InputError, one_line
from tfaudit.extensions.ray.ray_task import Files, RunFacts, SharedInputs, perform
from tfaudit.population import worker_process
from tfaudit.population.engine import Answer, carry_out
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.machine import available_cores
from tfaudit.population.node_folder import end_run
from tfaudit.population.plan import (
    CHECKPOINT,
    ConditionJob,
    Event,
    Job,
    MemberJob,
    Order,
    missing_evaluations,
)
from tfaudit.runtime.user_functions import source_file
from tfaudit.store.members import own_facts, read_sealed_json
from tfaudit.store.store import Store, open_store

NODE_PATIENCE = 600.0  # seconds to wait for a node that can run jobs, after the last one was lost
CHECK_NODES = 2.0  # seconds between two looks at the nodes
GRACE = 30.0  # seconds that a node has to end a member that takes too long, before the driver ends its task
PATIENCE_AT_END = 5.0  # seconds that the nodes have to remove the files of a run
CONNECTION_PATIENCE = 10.0  # seconds that the head of a cluster may take to answer
PARENTS = 8  # members that are kept in the cluster for those made from them, besides two for every job at once

_RESOURCES = {"cpus": "CPU", "gpus": "GPU", "memory": "memory"}
"""Ray's names of what a job needs."""


@contextlib.contextmanager
def ray_engine(
    directory: Path, options: EngineOptions, splits: Splits, versions: Mapping[str, str]
) -> Iterator[Callable[[Sequence[Job]], Generator[Event]]]:
    """Connect to a cluster, or start Ray on this machine, and yield a function that runs jobs there.

    A job whose worker or node is lost counts as failed once. Closing the generator, or any exception, cancels the
    tasks.

    Args:
        directory: directory of the store, with its `study.json`.
        options: options of the engine. Without an address the environment variable RAY_ADDRESS counts; without that,
            Ray starts on this machine and is ended afterwards. If this process has started Ray already, that is used.
        splits: training and test set; those in memory are sent to the nodes.
        versions: versions of the libraries, which the nodes must have, too.

    Raises:
        InputError: no cluster answers, or none of its nodes can hold a job.
    """
    with _connection(options) as where:
        store = open_store(directory)
        facts = RunFacts(
            token=uuid.uuid4().hex,
            command=worker_process.COMMAND,
            threads=options.threads,
            fresh=(options.gpus or 0) >= 1,
            timeout=options.timeout,
            versions=versions,
        )
        study = store.study
        paths = {path for path in map(source_file, study.sources) if path}
        sources = {path: Path(path).expanduser().read_bytes() for path in sorted(paths)}
        shipped = splits if all(split.in_memory for split in splits) else None
        luggage = ray.put(SharedInputs(study.to_json(), sources, shipped, store.data))
        cluster = _Cluster(options, where)

        def run_jobs(jobs: Sequence[Job]) -> Generator[Event]:
            engine = _RayEngine(store, options, facts, luggage, cluster)
            try:
                yield from carry_out(engine, jobs, options, grace=GRACE)
            finally:
                engine.end()

        try:
            yield run_jobs
        finally:
            _clear_nodes(facts.token)


def _clear_nodes(token: str) -> None:
    """End a run's workers on all nodes and remove their files; do not wait for nodes that do not answer soon."""
    clear = ray.remote(num_cpus=0, max_retries=0)(end_run)
    nodes = [
        NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        for node in ray.nodes()
        if node["Alive"]
    ]
    ended = [clear.options(scheduling_strategy=node).remote(token) for node in nodes]
    ray.wait(ended, num_returns=len(ended), timeout=PATIENCE_AT_END)


@contextlib.contextmanager
def _connection(options: EngineOptions) -> Iterator[str]:
    """Connect to Ray and yield its location in words."""
    if ray.is_initialized():
        yield "the cluster"
        return
    address = options.address or os.environ.get("RAY_ADDRESS") or "local"
    _check_address(address)
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        cores = (
            max(math.ceil(options.workers * options.cpus), 1)
            if options.workers
            else available_cores()
        )
        settings |= {"num_cpus": cores, "include_dashboard": False}
    try:
        ray.init(address, **settings)
    except (ConnectionError, RuntimeError, ValueError, RayError) as problem:
        got = f"{address!r}, where no Ray cluster answers ({one_line(problem)})"
        raise InputError("address", got, "HOST:PORT as `ray start --head` printed it") from None
    try:
        yield "this machine" if address == "local" else f"the cluster at {address}"
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Raise an `InputError` if nothing answers at an address: Ray itself would try for minutes."""
    if address in ("local", "auto"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise InputError(
            "address",
            repr(address),
            "HOST:PORT of the cluster's head, as `ray start --head` printed it",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTION_PATIENCE).close()
    except OSError as problem:
        got = f"{address!r}, where nothing answers ({problem.strerror or one_line(problem)})"
        raise InputError(
            "address", got, "HOST:PORT of the cluster's head; `ray start --head` starts one"
        ) from None


class _Cluster:
    """The nodes of a cluster, and how many jobs they can hold."""

    def __init__(self, options: EngineOptions, where: str) -> None:
        self._wanted = {
            name: getattr(options, argument) or 0 for argument, name in _RESOURCES.items()
        }
        self._options, self._where = options, where
        self._looked, self._last_room = -CHECK_NODES, time.monotonic()
        if not self.room():
            raise self._too_small()

    def room(self) -> int:
        """Return the number of jobs that all nodes together can hold.

        Raises:
            InputError: no node can hold a job, and none has joined for a long time.
        """
        now = time.monotonic()
        if now - self._looked >= CHECK_NODES:
            self._looked = now
            self._nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            self._room = sum(
                int(
                    min(
                        node.get(name, 0) / amount
                        for name, amount in self._wanted.items()
                        if amount
                    )
                )
                for node in self._nodes
            )
        if self._room:
            self._last_room = now
        elif now - self._last_room > NODE_PATIENCE:
            raise self._too_small()
        return self._room

    def _too_small(self) -> InputError:
        """Return the error about the resource that no node has enough of."""
        for argument, name in _RESOURCES.items():
            most = max((node.get(name, 0) for node in self._nodes), default=0)
            if most < self._wanted[name]:
                expected = (
                    f"at most {most:g}, the most that a node of {self._where} has; or another node"
                )
                return InputError(argument, f"{self._wanted[name]:g} for each member", expected)
        wanted = ", ".join(
            f"{self._wanted[name]:g} {argument}" for argument, name in _RESOURCES.items()
        )
        return InputError(
            "cpus, gpus, memory",
            wanted,
            f"what one node of {self._where} has at once; or another node",
        )


@dataclasses.dataclass
class _Task:
    """A job that was submitted, and the generator of references to its deliveries."""

    job: Job
    deliveries: Any
    needed: bool


class _RayEngine:
    """Tasks on a cluster: one per job."""

    def __init__(
        self, store: Store, options: EngineOptions, facts: RunFacts, luggage: Any, cluster: _Cluster
    ) -> None:
        self._store, self._options, self._facts, self._luggage = store, options, facts, luggage
        self._cluster = cluster
        self._tasks: dict[Any, _Task] = {}
        # References to members from which others are made, or that are tested.
        self._made: dict[Order, Any] = {}
        self._changed: set[Order] = set()  # conditions whose examples differ from those stored
        remote: Any = ray.remote  # its types know no memory of None
        self._perform = remote(
            num_returns="streaming",
            num_cpus=options.cpus,
            num_gpus=options.gpus or 0,
            memory=options.memory,
            max_retries=0,  # carry_out counts attempts
            max_calls=options.jobs_per_worker,
        )(perform)

    def has_room(self) -> bool:
        room = self._cluster.room()
        if self._options.workers:
            return len(self._tasks) < self._options.workers
        return (
            len(self._tasks) < room + room // 4 + 1
        )  # some wait on the nodes, so that these never do

    def start(self, job: Job, *, needed: bool) -> None:
        models: list[Any] = []
        parents = []
        if isinstance(job, ConditionJob):
            missing = missing_evaluations(self._store, job.condition)
            models = [self._member(*pair) for pair in missing]
        else:
            if job.parent is not None:
                parents = [self._member(job.parent, job.member)]
            path = self._store.member_path(job.variant, job.member, CHECKPOINT)
            with contextlib.suppress(InputError):  # there is none
                parents.append(ray.put(({}, {path: self._store.read(path)})))
        deliveries = self._perform.remote(self._facts, [self._luggage], job.order, models, *parents)
        self._tasks[deliveries] = _Task(job, deliveries, needed)

    def answers(self, seconds: float) -> Iterator[tuple[Job, Answer]]:
        waiting = list(self._tasks)
        ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
        if not ready:
            ready, _ = ray.wait(waiting, num_returns=1, timeout=min(seconds, CHECK_NODES))
        for deliveries in ready:
            task = self._tasks[deliveries]
            answer = self._received(task)
            if "error" in answer:
                del self._tasks[deliveries]
            yield task.job, answer

    def abandon(self, job: Job) -> None:
        task = next(task for task in self._tasks.values() if task.job is job)
        del self._tasks[task.deliveries]
        ray.cancel(task.deliveries, force=True)

    def end(self) -> None:
        """Cancel all tasks."""
        for deliveries in self._tasks:
            with contextlib.suppress(RayError):
                ray.cancel(deliveries, force=True)
        self._tasks.clear()

    def _received(self, task: _Task) -> Answer:
        """Store the files of a task's next delivery and return its answer; a lost task answers with an error."""
        try:
            reference = next(task.deliveries)
            told, files = ray.get(reference)
        except (RayError, StopIteration) as problem:
            if task.job.needs:
                self._made.pop(task.job.needs, None)  # this may have been lost
            return {"error": f"{type(problem).__name__}: {one_line(problem)}"}
        if foreign := [path for path in files if not task.job.makes(path)]:
            return {"error": f"a node returned {foreign[0]!r}, which is no file of {task.job.name}"}
        answer = dict(told)
        self._store_files(task.job, files)
        if answer.get("error", "") is None:
            if task.job.order in self._changed:
                self._changed.discard(task.job.order)
                again = "the test examples have changed; all members are tested again"
                return {"error": again}
            if task.needed:
                self._made[task.job.order] = reference
                # Members that are dropped are read from the store.
                while len(self._made) > 2 * self._cluster.room() + PARENTS:
                    self._made.pop(next(iter(self._made)))
        return answer

    def _store_files(self, job: Job, files: Files) -> None:
        for path, content in files.items():
            stored = self._store.directory / path
            if path.startswith("examples/") and stored.exists() and stored.read_bytes() != content:
                self._store.evaluations.delete(stored.stem)
                self._changed.add(job.order)
        made = dict(files)
        if isinstance(job, MemberJob):
            record = made.pop(self._store.member_path(job.variant, job.member, "member.json"), None)
            if record is not None:
                for path in [path for path in made if path.startswith("logs/")]:
                    self._store.write(path, made.pop(path))
                facts = own_facts(read_sealed_json(record))
                self._store.save_member(job.variant, job.member, made, facts)
                last = self._store.member_path(job.variant, job.member, CHECKPOINT)
                (self._store.directory / last).unlink(missing_ok=True)
                return
        for path, content in made.items():
            self._store.write(path, content)

    def _member(self, variant: str, member: int) -> Any:
        """Return a reference to a member's files."""
        order = ("member", variant, member)
        if order not in self._made:
            record = self._store.member_path(variant, member, "member.json")
            paths = [record, *self._store.record(variant, member)["files"]]
            self._made[order] = ray.put(({}, {path: self._store.read(path) for path in paths}))
        return self._made[order]
