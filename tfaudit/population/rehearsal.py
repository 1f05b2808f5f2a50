"""Rehearsal of a run: every phase of a study at its true shape, for a few steps, and what they took."""

import dataclasses
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfaudit.compress.counts import counts
from tfaudit.datasets.benchmarks import RESTRICTED, expand_wildcards
from tfaudit.datasets.catalogue import MOCK_PREFIX, catalogue_entry
from tfaudit.datasets.loading import is_available
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.stand_in import stand_ins
from tfaudit.errors import InputError, bytes_in_words, plural, require
from tfaudit.models.member_model import build_member
from tfaudit.population import worker_process
from tfaudit.population.dry_run import Prices, dry_run
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.local import gpus_of_workers
from tfaudit.population.plan import CHECKPOINT, Event, Order
from tfaudit.population.progress import Progress
from tfaudit.population.run import run_study
from tfaudit.population.stored_examples import load_splits, store_examples
from tfaudit.population.stored_models import load_member
from tfaudit.population.worker_process import WorkerProcess
from tfaudit.store.files import disk_errors
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

STEPS = 3
"""Optimizer steps of each training."""

MICRO_BATCHES = 4
"""Micro-batches that stand for those of a whole batch where no GPU is."""

MOST_OPERATIONS = 3e12
"""Most operations of a step on a CPU, about half a minute on two cores; a larger batch is represented by a smaller."""

LEAST_EXAMPLES, TRAINING_EXAMPLES = 64, 256
"""Examples of a split, and of the training set of a stand-in, if the batches are not larger."""

INPUT_SECONDS = 2.0
"""Time over which the input pipeline is measured."""


class Rehearsal:
    """Rehearsal of a study on this machine, one member at a time.

    Args:
        study: study to rehearse.
        options: options of the run's local engine.

    Attributes:
        short: the study that is run instead: the same model, images and settings of training, with few members, steps
            and examples.
        step_seconds: measured seconds of a step on a whole batch; None if nothing was trained by a `Training`.

    Raises:
        InputError: the study cannot be run, or the engine is not the local one.
    """

    def __init__(self, study: Study, options: EngineOptions) -> None:
        require(options.engine == "local", "engine", options.engine, "'local' with --rehearse")
        self._study = dataclasses.replace(study, benchmarks=_one_of_each_set(study.benchmarks))
        self._gpus = gpus_of_workers(options)[0]
        self._of_the_run = options
        self._options = dataclasses.replace(options, workers=1, retries=0)
        self._times = _JobTimes()
        self.step_seconds: float | None = None
        self.short = self._shortened()

    def _shortened(self) -> Study:
        study, batch = self._study, None
        plan = study.planned_training
        if isinstance(plan, Training) and not self._gpus:
            name = study.dataset
            mock = name if is_available(name) else f"{MOCK_PREFIX}{name}"
            train, _ = load_splits(dataclasses.replace(study, dataset=mock))
            operations = 3 * counts(build_member(study, train, 0)).counted_flops
            if operations > 0 and plan.batch_size * operations > MOST_OPERATIONS:
                batch = 2 ** int(math.log2(max(MOST_OPERATIONS / operations, 1)))
        plans = [p for p in (plan, study.retraining) if isinstance(p, Training)]
        largest = max((min(batch or p.batch_size, p.batch_size) for p in plans), default=0)
        # As many in every batch, also where a quarter is held out.
        held_out = any(p.validation for p in plans)
        return study.shortened(
            steps=STEPS,
            examples=max(largest * (2 if held_out else 1), LEAST_EXAMPLES),
            batch_size=batch,
            micro_batches=MICRO_BATCHES,
        )

    @contextmanager
    def data(self, folder: Path, photographs: Path | None) -> Iterator[dict[str, str]]:
        """Yield what stands for which data, in words by heading, within a block where the data can be loaded.

        Args:
            folder: empty folder for stand-ins.
            photographs: folder of JPEGs that serve as images; noise by default.
        """
        names = [self.short.dataset, *(n.removesuffix(RESTRICTED) for n in self.short.benchmarks)]
        most = self.short.limit or 0
        given = len(list(photographs.iterdir())) if photographs and photographs.is_dir() else 0
        sizes = {"train": max(most, given, TRAINING_EXAMPLES), "test": most}
        with disk_errors(folder), stand_ins(names, folder, sizes, photographs) as missing:
            content = "photographs" if photographs else "noise"
            stand_in = f"not at hand: TFRecords of {content} stand for {', '.join(missing)}"
            yield {"data": stand_in if missing else "at hand", "shape": self._shape()}

    def _shape(self) -> str:
        train, test = load_splits(self.short)
        shape = "x".join(map(str, train.image_shape)) if train.has_images else "as the study's"
        told = f"inputs {shape}, {train.num_examples:,} training and {test.num_examples:,} test examples"
        plan, short = self._study.training, self.short.training
        if not isinstance(plan, Training) or not isinstance(short, Training):
            return f"{told}, trained by a function"
        return f"{told}; {_batch(short)}" + (
            "" if short.batch_size == plan.batch_size else f" stand for {_batch(plan)}"
        )

    def run(self, folder: Path) -> Store:
        """Train, prune, convert and test the members of the shortened study in a new directory within a folder.

        Raises:
            InputError: the disk is too small, or a member lacks GPUs.
        """
        dry_run(self.short, folder, self._options, Prices())
        self.store = run_study(self.short, folder / "whole", self._options, progress=self._times)
        return self.store

    def phases(self, folder: Path) -> Iterator[tuple[str, str]]:
        """Kill and resume a member, measure the input, and yield what every phase took, in words by heading."""
        titles = self.short.titles
        for key, seconds in self._times.by_variant.items():
            made = "trained" if "step_seconds" in self.store.record(key, 0) else "made"
            yield titles[key], f"{made} and tested in {statistics.mean(seconds):.1f} s a member"
        for name, took in self._times.conditions.items():
            members = plural(len(self.store.evaluated_members()), "member")
            yield name, f"{members} tested in {took:.1f} s"
        yield "kill, resume", self._killed_and_resumed(folder / "killed")
        records = [self.store.record(key, 0) for key in self.store.variants]
        peak = max(record["peak_bytes"] for record in records)
        first = self.store.record("dense", 0)["peak_bytes"]
        yield (
            "memory",
            f"{bytes_in_words(peak)} at most, {bytes_in_words(first)} in the first training",
        )
        plan, short = self._study.training, self.short.training
        steps = [record["step_seconds"] for record in records if record.get("step_seconds")]
        if not steps or not isinstance(plan, Training) or not isinstance(short, Training):
            yield "step", "unknown: no training by a tfaudit.Training"
            return
        step = statistics.median(steps)
        self.step_seconds = step * plan.batch_size / short.batch_size
        needed = short.batch_size / step
        yield "step", f"{step:.3g} s for {short.batch_size} examples, {needed:,.1f} a second"
        rate = self._input_rate(short)
        threads = plural(self._options.threads, "thread")
        text = f"{rate:,.0f} examples a second with {threads}, {rate / needed:,.1f} times what the step takes"
        yield "input", text

    def extrapolated(self, directory: Path, dollars_per_hour: float | None) -> dict[str, str]:
        """Return what the whole run would take at the measured step, in words by heading: see `dry_run`."""
        prices = Prices(step_seconds=self.step_seconds, dollars_per_hour=dollars_per_hour)
        return dry_run(self._study, directory, self._of_the_run, prices)

    def _killed_and_resumed(self, directory: Path) -> str:
        """Make a member again, kill its worker at the first checkpoint, resume it, and compare its bits."""
        plan = self.short.planned_training
        if not isinstance(plan, Training):
            return "not tried: a function trains the members"
        if not plan.steps:
            return "no training that makes checkpoints"
        scratch = [v for v in self.short.variants if isinstance(v, Pruned) and not v.parent]
        pruned = [v.key for v in scratch if v not in self.short.forked]
        key = pruned[0] if pruned else "dense"
        study = self.short.with_training(checkpoint_every=0.0).with_fingerprints()
        store = Store.create(directory, study, {})
        store_examples(store, load_splits(study)[1], thumbnails=False)
        self._attempt(store, key, kill=True)
        checkpoint = directory / store.member_path(key, 0, CHECKPOINT)
        held = bytes_in_words(checkpoint.stat().st_size)
        self._attempt(store, key, kill=False)
        data = load_splits(study)[0]
        models = [load_member(one, key, 0, data) for one in (self.store, store)]
        values = [[variable.numpy() for variable in model.variables] for model in models]
        same = sum(a.tobytes() == b.tobytes() for a, b in zip(*values, strict=True))
        if same < len(values[0]):
            got = f"{len(values[0]) - same} of {len(values[0])} variables of {key}/000 that differ after SIGKILL"
            raise InputError("checkpoint", got, "the bits of an uninterrupted training")
        weights = sum(map(np.size, values[0]))
        return f"{key}/000 killed at a checkpoint of {held}, resumed: {weights:,} weights, the same bits"

    def _attempt(self, store: Store, key: str, *, kill: bool) -> None:
        """Make member 0 of a variant in a worker process, or kill the process when it reports a checkpoint."""
        directory = store.directory
        scratch = directory / "scratch"
        scratch.mkdir(exist_ok=True)
        worker = WorkerProcess(
            worker_process.COMMAND,
            directory,
            log=directory / "logs" / "worker-0.log",
            scratch=scratch,
            threads=self._options.threads,
            gpus=self._gpus,
        )
        try:
            worker.start(("member", key, 0))
            answer = worker.answer()
            while answer and "checkpoint" in answer and not kill:
                answer = worker.answer()
        finally:
            worker.end()  # SIGKILL
        wanted = "checkpoint" if kill else "machine"
        if not answer or wanted not in answer:
            error = (answer or {}).get("error") or "the worker process died"
            got = f"{key}/000, {error.strip().splitlines()[-1]}"
            raise InputError("checkpoint", got, "a member that is killed and resumed")

    def _input_rate(self, plan: Training) -> float:
        """Return the examples a second that the input pipeline of the whole training set yields by itself."""
        train, _ = load_splits(self._study)
        options = tf.data.Options()
        options.threading.private_threadpool_size = self._options.threads
        batches = iter(
            training_batches(
                train,
                batch_size=plan.batch_size,
                seed=0,
                augmentation=plan.augmentation,
                across_epochs=plan.across_epochs,
            ).with_options(options)
        )
        for _ in range(4):  # those that are prefetched
            next(batches)
        start, seen = time.monotonic(), 0
        while time.monotonic() - start < INPUT_SECONDS:
            seen += len(next(batches)[1])
        return seen / (time.monotonic() - start)


class _JobTimes(Progress):
    """Seconds of every job of a run."""

    def __init__(self) -> None:
        self._began: dict[Order, float] = {}
        self.by_variant: dict[str, list[float]] = defaultdict(list)
        self.conditions: dict[str, float] = {}

    def update(self, event: Event) -> None:
        order = event.job.order
        if event.kind == "started":
            self._began[order] = time.monotonic()
        elif event.kind == "done":
            took = time.monotonic() - self._began[order]
            if order[0] == "member":
                self.by_variant[order[1]].append(took)
            else:
                self.conditions[event.job.name] = took


def _one_of_each_set(benchmarks: Sequence[str]) -> tuple[str, ...]:
    """Return the first configuration of every benchmark set, and both ways to test on one with some classes only."""
    first: dict[str, Any] = {}
    for name in expand_wildcards(benchmarks):
        first.setdefault(name.removesuffix(RESTRICTED).partition("/")[0], name)
    chosen: dict[str, None] = {}
    for name in first.values():
        plain = name.removesuffix(RESTRICTED)
        chosen[plain] = None
        if not catalogue_entry(plain).shows_all_classes:
            chosen[f"{plain}{RESTRICTED}"] = None
    return tuple(chosen)


def _batch(plan: Training) -> str:
    """Return the size of batches in words."""
    parts = f" in micro-batches of {plan.micro_batch}" if plan.micro_batch else ""
    return f"batches of {plan.batch_size:,}{parts}"
