"""The task that runs on a node of a Ray cluster: a worker process in a directory of its own.

A node needs no file system in common with the driver. A task writes the files that a job needs into a temporary
directory of the study, has the worker process of the local engine do the job there, and returns the new files. The
worker process lives as long as the process of Ray that started it, so later tasks find TensorFlow started and models
traced.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import selectors
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from tfaudit.datasets.dataset import Splits
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.population.engine import Answer, too_long
from tfaudit.population.node_folder import make_workplace, remove_workplace
from tfaudit.population.plan import CHECKPOINT, Order, log_path
from tfaudit.population.worker_process import WorkerProcess
from tfaudit.runtime.user_functions import source_file
from tfaudit.store.store import Store
from tfaudit.study.study import Study

Files = Mapping[str, bytes]
"""Contents of files by path relative to a study's directory."""

Delivery = tuple[Answer, Files]
"""An answer, and the files that the job made since the last one."""


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run that all of its tasks receive.

    Attributes:
        token: token that identifies the run.
        command: command that starts a worker process; the directory follows.
        threads: number of threads of every worker.
        fresh: whether every job has a new worker process, which has all memory of its GPUs.
        timeout: seconds that a member may take.
        versions: versions of the libraries where the run was started.
    """

    token: str
    command: tuple[str, ...]
    threads: int
    fresh: bool
    timeout: float | None
    versions: Mapping[str, str]


@dataclass(frozen=True)
class SharedInputs:
    """Data that every node receives once.

    Attributes:
        study: the study, as `Study.to_json` returns it.
        sources: contents of the files that the study names by path: a model, or the user's functions.
        splits: training and test set, or None if every node opens them itself.
        data: their fingerprints by split.
    """

    study: Mapping[str, Any]
    sources: Files
    splits: Splits | None
    data: Mapping[str, Fingerprint] = dataclasses.field(default_factory=dict)


def perform(
    facts: RunFacts,
    luggage: Sequence[ray.ObjectRef],
    order: Order,
    models: Sequence[ray.ObjectRef],
    *parents: Delivery,
) -> Iterator[Delivery]:
    """Do a job and yield answers, each with the files made since the last one.

    Args:
        facts: facts of the run.
        luggage: a single reference to the `SharedInputs`, fetched when this process needs it.
        order: order of the job.
        models: references to the members to test under a condition, each fetched when it is tested.
        *parents: members from which a member is made.
    """
    yield {"started": True}, {}
    for name, version in facts.versions.items():
        if (here := importlib.metadata.version(name)) != version:
            expected = f"{name} {version}, as where the run was started; install the same versions on every node"
            yield {"error": "", "fatal": ["engine", f"{name} {here} on {_node()}", expected]}, {}
            return
    workplace = _workplace(facts, luggage)
    try:
        if order[0] == "condition":
            yield from _test_members(workplace, order, models)
        else:
            inputs = {path: text for _, files in parents for path, text in files.items()}
            yield from workplace.do(order, inputs)
    finally:
        if facts.fresh:
            workplace.end_worker()


def _test_members(
    workplace: _Workplace, order: Order, models: Sequence[ray.ObjectRef]
) -> Iterator[Delivery]:
    """Test members one by one; one that cannot be tested does not stop the others."""
    answer: Answer = {}
    left = len(models)
    problems = []
    lasting = True
    for model in models:
        _, inputs = ray.get(model)
        *_, (answer, files) = workplace.do(order, inputs)
        if answer.get("fatal"):
            yield answer, files
            return
        if answer["error"] is None:
            left -= 1
        else:
            problems.append(answer["error"].strip())
            lasting &= answer.get("lasting", False)
        yield {"left": left}, files
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    yield (
        {
            **answer,
            "error": problems[0] + more if problems else None,
            "lasting": bool(problems) and lasting,
        },
        {},
    )


_WORKPLACES: list[_Workplace] = []
"""The one of this process, if it has one."""


def _workplace(facts: RunFacts, luggage: Sequence[ray.ObjectRef]) -> _Workplace:
    """Return this process's workplace in a run; remove the workplace of an earlier run."""
    if _WORKPLACES and _WORKPLACES[0].facts.token != facts.token:
        _WORKPLACES.pop().remove()
    if not _WORKPLACES:
        _WORKPLACES.append(_Workplace(facts, ray.get(luggage[0])))
    return _WORKPLACES[0]


class _Workplace:
    """A directory of the study on this node, and a worker process in it."""

    def __init__(self, facts: RunFacts, luggage: SharedInputs) -> None:
        self.facts = facts
        self._worker: WorkerProcess | None = None
        self._devices: str | None = None
        self._folder = make_workplace(facts.token, luggage.splits)
        self._directory = self._folder / "study"
        study = self._with_own_files(Study.from_json(luggage.study), luggage.sources)
        Store.create(self._directory, study, facts.versions, data=luggage.data)

    def _with_own_files(self, study: Study, sources: Files) -> Study:
        """Write the files that a study names, keeping folders together, and return the study with the new paths."""
        folders = sorted({str(Path(path).parent) for path in sources})
        names: dict[str, str] = {}
        for path, content in sources.items():
            if Path(path).is_file() and Path(path).read_bytes() == content:
                continue  # this node has it, and perhaps its imports
            target = (
                self._folder
                / "sources"
                / str(folders.index(str(Path(path).parent)))
                / Path(path).name
            )
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            for source in study.sources:
                if source_file(source) == path:
                    names[source] = source.replace(path, str(target), 1)
        settings = {
            name: getattr(study, name) for name in ("model", "dataset", "training", "retraining")
        }
        changed: dict[str, Any] = {
            name: names[value]
            for name, value in settings.items()
            if isinstance(value, str) and value in names
        }
        fingerprints = {
            names.get(source, source): digest for source, digest in study.fingerprints.items()
        }
        return dataclasses.replace(study, **changed, fingerprints=fingerprints)

    def do(self, order: Order, inputs: Files) -> Iterator[Delivery]:
        """Have the worker do a job with some files; yield its reports, then its last answer and the new files."""
        for path, content in inputs.items():
            target = self._directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        answer: Answer = {}
        checkpoint = Store.member_path(*order[1:], CHECKPOINT)
        saved = self._directory / checkpoint
        try:
            for answer in self._answers(order):
                if (
                    answer.get("checkpoint") and saved.is_file()
                ):  # the member may be complete by now
                    yield answer, {checkpoint: saved.read_bytes()}
                elif "checkpoint" in answer:
                    yield answer, {}
        except BaseException:  # the task was cancelled
            self.end_worker()
            raise
        if fatal := answer.get("fatal"):
            answer["fatal"] = _of_node(*fatal)
        made = {}
        for file in sorted(self._directory.glob("*/**/*")):
            name = str(file.relative_to(self._directory))
            whole = answer["error"] is None or name.startswith("logs/")
            if file.is_file() and whole and name not in inputs and file.suffix != ".part":
                made[name] = file.read_bytes()
        for folder in self._directory.glob("*/"):
            shutil.rmtree(folder)
        yield answer, made

    def end_worker(self) -> None:
        """End the worker process, if there is one."""
        if self._worker:
            self._worker.end()
            self._worker = None

    def remove(self) -> None:
        """End the worker and delete the directory."""
        self.end_worker()
        remove_workplace(self._directory)

    def _answers(self, order: Order) -> Iterator[Answer]:
        """Start a job in the worker and yield its answers; the last one has an error, which may be None."""
        devices = os.environ.get("CUDA_VISIBLE_DEVICES")
        if devices != self._devices:  # a process keeps the GPUs with which it started
            self.end_worker()
        if self._worker is None:
            log = self._directory / "logs" / f"{_node()}-{os.getpid()}.log".replace(" ", "-")
            facts = self.facts
            scratch = self._folder / "scratch"
            self._worker = WorkerProcess(
                facts.command,
                self._directory,
                log=log,
                scratch=scratch,
                threads=facts.threads,
            )
            (self._folder / "worker.pid").write_text(str(self._worker.id))
            self._devices = devices
        self._worker.start(order)
        timeout = self.facts.timeout
        end = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._worker.answers, selectors.EVENT_READ)
            while True:
                if not selector.select(None if end is None else max(end - time.monotonic(), 0)):
                    self.end_worker()
                    yield {"error": too_long(timeout)}
                    return
                answer = self._worker.answer()
                if answer is None:
                    self.end_worker()
                    yield {
                        "error": f"the worker process on {_node()} died; its log is {log_path(order)}"
                    }
                    return
                yield answer
                if "error" in answer:
                    return


def _of_node(argument: str, got: str, expected: str) -> list[str]:
    """Return the parts of an error, with the node where it happened and the needs of the user's code there."""
    missing = (
        "ModuleNotFoundError" in got
        or "ImportError" in got
        or "no module that can be imported" in got
    )
    needed = "what your files import, installed or at the same paths, on every node; the study's own files are sent"
    return [argument, f"{got} (on {_node()})", needed if missing else expected]


def _node() -> str:
    return f"node {platform.node() or 'unnamed'}"
