"""The images of a condition: the test set corrupted, or a benchmark set; what cannot be had is told before a run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tfaudit.datasets.benchmarks import Benchmark, TrainedModel, check_benchmark, load_benchmark
from tfaudit.datasets.corruptions.registry import corrupt
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study

__all__ = ["ConditionImages", "check_conditions", "condition_images"]

BATCH = 256
"""Images of a streaming set that are held in memory at a time."""


class ConditionImages(NamedTuple):
    """What the members are shown under a condition.

    Attributes:
        images: uint8 `(N, H, W, C)`, as the model takes them; of a streaming set mapped from a file without a name.
        classes: the only classes that may be answered, or None.
        benchmark: where the images come from; None for the test set.
    """

    images: np.ndarray
    classes: np.ndarray | None = None
    benchmark: Benchmark | None = None


def check_conditions(study: Study, test: Dataset) -> None:
    """Refuses a study under whose conditions nothing could be predicted.

    Raises:
        InputError: a benchmark set that is not here or does not fit, or images too small to be corrupted.
    """
    if not study.conditions:
        return
    shape = test.fixed_shape()
    if study.corruptions:  # an image stands for all: sizes and channels are the same
        corrupt(np.zeros((1, *shape), np.uint8), study.corruptions[0], study.severities[0], seed=study.seed)
    for condition in study.conditions:
        if not condition.is_computed:
            check_benchmark(condition.dataset, _trained(study, test))


def condition_images(study: Study, test: Dataset, condition: Condition) -> ConditionImages:
    """The images of a condition, once for all members.

    Args:
        study: says how images are cut, the seed of corruptions and the limit.
        test: the study's test set.
        condition: one of the study's.

    Raises:
        InputError: the images cannot be had, or there is no room for those of a streaming set.
    """
    if condition.is_computed:

        def corrupted(images: np.ndarray, first: int) -> np.ndarray:
            return corrupt(images, condition.corruption, condition.severity, seed=study.seed, first=first)

        return ConditionImages(_all_images(test, corrupted))
    benchmark = load_benchmark(condition.dataset, _trained(study, test), limit=study.limit)
    return ConditionImages(_all_images(benchmark.dataset, lambda images, _: images), benchmark.classes, benchmark)


def _trained(study: Study, test: Dataset) -> TrainedModel:
    return TrainedModel(study.dataset, test.class_names, test.fixed_shape(), study.image_size, study.crop)


def _all_images(dataset: Dataset, change: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    """All images of a set, changed; `change` takes some of them and the number of the first one."""
    if dataset.in_memory:
        return change(dataset.images, 0)

    def parts() -> Iterator[np.ndarray]:
        first = 0
        for images, _ in dataset.examples().batch(BATCH).as_numpy_iterator():  # type: ignore[misc]
            yield change(images, first)
            first += len(images)

    return _mapped(parts(), (dataset.num_examples, *dataset.fixed_shape()))


def _mapped(parts: Iterator[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The parts as one uint8 array in a file without a name: it is gone with the array, however the process ends."""
    with tempfile.TemporaryFile() as file:
        try:
            # Written, not assigned to the mapped array: a full disk is an error then, and no fatal signal.
            for part in parts:
                file.write(np.ascontiguousarray(part).data)
            file.flush()
        except OSError as problem:
            raise InputError(
                f"corruptions: no room in {tempfile.gettempdir()} for {np.prod(shape) / 1e9:.1f} GB of images "
                f"({problem.strerror}); TMPDIR names another folder"
            ) from problem
        return np.memmap(file, np.uint8, "r", shape=shape)
