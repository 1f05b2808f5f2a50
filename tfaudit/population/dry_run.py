"""What a run would take, before it starts: trainings, disk, hours and cost."""

import contextlib
import dataclasses
import math
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import tensorflow as tf

from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.loading import MOCK_PREFIX, is_available
from tfaudit.errors import InputError, bytes_in_words
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.local import gpus_of_workers
from tfaudit.population.plan import planned_training
from tfaudit.population.stored_examples import load_splits
from tfaudit.population.training import Trainer
from tfaudit.store.store import open_store
from tfaudit.study.settings import check_positive
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Quantized

WEIGHT_BYTES = {"float32": 4, "float16": 2}
"""Bytes of a weight in a flatbuffer, by kind of quantization; 1 for the other kinds."""

CLASS_BYTES = 6
"""Most bytes of a ranked class of a stored prediction: its index and its score."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prices:
    """What turns steps into hours and hours into a cost; None for what is not known.

    Attributes:
        step_seconds: measured seconds of an optimizer step of one member.
        dollars_per_hour: price of an hour of one member.
    """

    step_seconds: float | None = None
    dollars_per_hour: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "step_seconds", "dollars_per_hour")


def dry_run(
    study: Study, directory: Path, options: EngineOptions, prices: Prices
) -> dict[str, str]:
    """Estimate what a run of a study takes, and return it in words by heading; nothing is trained or written.

    Members that the directory holds take no time. Where the data set is not at hand, synthetic examples of its shape
    take its place.

    Raises:
        InputError: a member needs more GPUs than there are, the members do not fit the disk, the directory holds
            another study, or the study cannot be run.
    """
    lacking = _lacking(study, directory)
    with contextlib.suppress(RuntimeError):  # the study's file has started them
        tf.config.set_visible_devices([], "GPU")  # this process would take their memory
    # only the cluster may know
    at_once = len(gpus_of_workers(options)) if options.engine == "local" else options.workers
    name = study.dataset
    here = is_available(name)
    if not here:
        study = dataclasses.replace(study, dataset=f"{MOCK_PREFIX}{name}")
    train, test = load_splits(study)
    plans = {
        variant.key: plan
        for variant in study.all_variants
        if (plan := planned_training(study, variant))
    }
    rows = {
        "data": f"{name}, {train.num_examples:,} training and {test.num_examples:,} test examples"
        if here
        else f"{name}: the data set is not at hand",
        "members": f"{study.population} of each of {len(study.all_variants)} variants",
    }
    total = study.population * len(lacking)
    if there := total - sum(lacking.values()):
        rows["members"] += f"; {there:,} of {total:,} exist already"
    rows |= _time(study, plans, lacking, train if here else None, at_once, prices)
    trainings = [plan for plan in plans.values() if isinstance(plan, Training)]
    if len(trainings) < len(plans):
        unknown = {"disk": "unknown, since a function trains the members"}
        return rows | unknown | {"a failure": "costs one member its training"}
    model = _Model.of(study, trainings[0], train)
    rows["disk"] = _disk(study, directory, lacking, model, test if here else None, at_once)
    every = trainings[0].checkpoint_every
    lost = "its training" if every is None else f"the {every:g} s since its last checkpoint"
    rows["a failure"] = f"costs one member at most {lost}, and the start of another attempt"
    return rows


def _lacking(study: Study, directory: Path) -> dict[str, int]:
    """Return how many members of each variant a directory lacks; refuse another study's directory."""
    there = {}
    if (directory / "study.json").exists():
        store = open_store(directory)
        if store.variants:  # a study without members may be replaced
            store.study.check_continuation(study, directory, accept_changed_code=True)
        there = {key: len(store.members(key)) for key in store.variants}
    return {key: study.population - there.get(key, 0) for key in study.keys}


def _time(
    study: Study,
    plans: Mapping[str, Training | str],
    lacking: Mapping[str, int],
    train: Dataset | None,
    at_once: int | None,
    prices: Prices,
) -> dict[str, str]:
    """Tell trainings, steps, hours and cost; without a training set, epochs are not counted."""
    counted: Counter[int | None] = Counter()
    for key, plan in plans.items():
        counted[_steps(plan, train)] += lacking[key]
    known = [
        f"{count:,} of {'an unknown number of' if steps is None else f'{steps:,}'} steps"
        for steps, count in counted.items()
        if count
    ]
    rows = {"trainings": " and ".join(known) or "none"}
    if None in counted:
        return rows | {"hours": "unknown, as the steps are"}
    total = sum(steps * count for steps, count in counted.items() if steps)
    rows["steps"] = f"{total:,}"
    alone = _steps(study.planned_training, train) or 0
    # forked members take their first steps from the dense member of their number
    if shared := sum(lacking[one.key] * one.dense_steps(alone) for one in study.forked):
        rows["steps"] = f"{total - shared:,}; {shared / total:.0%} fewer than without forks"
        total -= shared
    if prices.step_seconds is None:
        return rows | {"hours": "unknown without --step-seconds"}
    hours = total * prices.step_seconds / 3600
    rows["hours"] = f"{hours:,.1f} of members in training"
    if at_once:
        rows["hours"] += f", {hours / at_once:,.1f} with {at_once} at once"
    if prices.dollars_per_hour is not None:
        rows["cost"] = f"${hours * prices.dollars_per_hour:,.0f}"
    return rows


def _steps(plan: Training | str, train: Dataset | None) -> int | None:
    if isinstance(plan, str) or (plan.epochs is not None and train is None):
        return None
    return plan.total_steps(train.num_examples if train else 0)


@dataclasses.dataclass(frozen=True)
class _Model:
    """What a model needs: bytes of its weights and of its optimizer, and number of weights."""

    weights: int
    optimizer: int
    parameters: int

    @classmethod
    def of(cls, study: Study, training: Training, data: Dataset) -> Self:
        plain = dataclasses.replace(training, micro_batch=None, strategy=None)
        model = Trainer(study, plain, data).model
        weights, optimizer = (
            sum(math.prod(v.shape) * tf.as_dtype(v.dtype).size for v in variables)
            for variables in (model.variables, model.optimizer.variables)
        )
        return cls(weights, optimizer, model.count_params())


def _disk(
    study: Study,
    directory: Path,
    lacking: Mapping[str, int],
    model: _Model,
    test: Dataset | None,
    at_once: int | None,
) -> str:
    """Tell the size of what the study's directory lacks, and refuse what does not fit the disk."""
    members = 0
    for variant in study.all_variants:
        size = model.weights
        if isinstance(variant, Quantized):
            size = model.parameters * WEIGHT_BYTES.get(variant.kind, 1)
        members += lacking[variant.key] * size
    checkpoints = (at_once or 1) * (2 * model.weights + model.optimizer)
    forks = len({variant.begin for variant in study.forked}) * (model.weights + model.optimizer)
    tested = (1 + len(study.conditions)) * sum(lacking.values())
    predictions = tested * CLASS_BYTES * study.top_k * test.num_examples if test else 0
    needed = members + study.population * forks + checkpoints + predictions
    place = next(folder for folder in (directory, *directory.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    text = bytes_in_words(needed)
    if needed > free:
        expected = f"at most {bytes_in_words(free)}, which are free there"
        raise InputError("directory", f"{directory}, for {text}", expected)
    without = "" if test else ", without predictions"
    return f"{text}{without}, of {bytes_in_words(free)} free"
