"""The images of a condition: a corrupted test set or a benchmark set."""

import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tfaudit.datasets.benchmarks import Benchmark, TrainedModel, check_benchmark, load_benchmark
from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.datasets.cropping import resize_and_crop
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.population.stored_examples import load_test
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study

BATCH = 256  # number of images of a streaming set in memory at a time


class ConditionImages(NamedTuple):
    """The images of a condition."""

    # uint8 `(N, H, W, C)`, or float32 if the study scales bicubically, as the model takes them; mapped from an unnamed
    # file for streaming sets
    images: np.ndarray
    classes: np.ndarray | None = None  # classes to which predictions are restricted, or None
    # The benchmark set of the images; None for the corrupted test set.
    benchmark: Benchmark | None = None


def check_conditions(study: Study, test: Dataset) -> None:
    """Check that the images of all conditions are available, fit and are not too small; raise `InputError` if not."""
    if not study.conditions:
        return
    if not test.has_images:
        got = f"{study.conditions[0].title} on {test.name!r}, whose examples are no images"
        raise InputError(
            "corruptions", got, "no corruptions and benchmarks, or images: uint8 (N, H, W, 1 or 3)"
        )
    trained = _trained(study, test)
    if study.corruptions:  # one image suffices, since all have the same shape
        image = np.zeros((1, *test.fixed_shape()), np.uint8)
        corrupt(image, study.corruptions[0], study.severities[0], seed=study.seed)
    for condition in study.conditions:
        if not condition.is_computed:
            check_benchmark(condition.dataset, trained)


def condition_images(study: Study, test: Dataset, condition: Condition) -> ConditionImages:
    """Return the images of a condition; the study sets their crop and limit, and the seed of the corruptions.

    A study that scales bicubically treats images that it corrupts like those of ImageNet-C, which were made from
    bilinearly scaled ones: it scales and crops them once more.

    Raises:
        InputError: the images are not available, or the disk has no space for those of a streaming set.
    """
    if condition.is_computed:
        clean = load_test(dataclasses.replace(study, bicubic=False)) if study.bicubic else test
        again = resize_and_crop(study.scaling)

        def corrupted(images: np.ndarray, first: int) -> np.ndarray:
            changed = corrupt(
                images, condition.corruption, condition.severity, seed=study.seed, first=first
            )
            return np.stack([again(image) for image in changed]) if study.bicubic else changed

        return ConditionImages(_all_images(clean, corrupted))
    benchmark = load_benchmark(condition.dataset, _trained(study, test), limit=study.limit)
    return ConditionImages(
        _all_images(benchmark.dataset, lambda images, _: images), benchmark.classes, benchmark
    )


def _trained(study: Study, test: Dataset) -> TrainedModel:
    return TrainedModel(study.dataset, test.class_names, test.fixed_shape(), study.scaling)


def _all_images(dataset: Dataset, change: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    """Return all images of a set after `change`, which takes some images and the position of the first one."""
    if dataset.in_memory:
        return change(dataset.images, 0)

    def parts() -> Iterator[np.ndarray]:
        first = 0
        for images, _ in dataset.examples().batch(BATCH).as_numpy_iterator():  # type: ignore[misc]
            yield change(images, first)
            first += len(images)

    return _mapped(parts(), (dataset.num_examples, *dataset.fixed_shape()))


def _mapped(parts: Iterator[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return the parts as one array in an unnamed file, which is deleted however the process ends."""
    with tempfile.TemporaryFile() as file:
        try:
            # Writing to a full disk is an error; assigning to a mapped array would be a fatal signal.
            for part in parts:
                dtype = part.dtype
                file.write(np.ascontiguousarray(part).data)
            file.flush()
        except OSError as problem:
            size = f"{np.prod(shape) * dtype.itemsize / 1e9:.1f} GB of images"
            got = f"no space in {tempfile.gettempdir()} for {size} ({problem.strerror})"
            raise InputError(
                "corruptions", got, f"space for {size}; TMPDIR names another folder"
            ) from problem
        return np.memmap(file, dtype, "r", shape=shape)
