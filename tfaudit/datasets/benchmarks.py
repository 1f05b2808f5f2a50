"""Benchmark sets that test a trained model elsewhere: which are here, and how their classes fit the model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfaudit.datasets.builders import data_folder, find_builder
from tfaudit.datasets.catalogue import command_for, is_here, load_dataset
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.features import choose_features, value_of
from tfaudit.datasets.mock import MOCK_PREFIX
from tfaudit.datasets.prepared import open_builder
from tfaudit.datasets.tfds_overrides import test_split
from tfaudit.errors import InputError
from tfaudit.study.conditions import parent_set

__all__ = ["Benchmark", "Trained", "check_benchmark", "load_benchmark", "named_sets"]

_SPARSE = ("imagenet_a", "imagenet_r")
"""Sets that are numbered as ImageNet's 1,000 classes and show 200 of them."""


_UNNAMED = ("cifar10_corrupted",)
"""Sets whose classes TFDS calls "0" to "9", whatever they are."""


class Benchmark(NamedTuple):
    """A benchmark set as a model is tested on it.

    Attributes:
        dataset: the images, and what is known of them; its own labels are those of the set.
        labels: int64 `(N,)`, as the model numbers its classes.
        classes: int64, the only classes that the model may answer; None for all.
    """

    dataset: Dataset
    labels: np.ndarray
    classes: np.ndarray | None


class Trained(NamedTuple):
    """What a model was trained on, as far as it must fit a benchmark set.

    Attributes:
        dataset: name of the set.
        class_names: of that.
        image_shape: `(H, W, C)` that the model takes.
        image_size: pixels that the shorter side of other images is scaled to; None where they are not scaled.
        crop: edge of the middle square that is cut out then; None where none is.
    """

    dataset: str
    class_names: Sequence[str]
    image_shape: tuple[int, int, int]
    image_size: int | None = None
    crop: int | None = None


def named_sets(names: Sequence[str]) -> tuple[str, ...]:
    """The sets by their names, `NAME/*` replaced by all configurations of NAME that are prepared here.

    Raises:
        InputError: nothing goes by a name, it has no configurations, or none of them is here.
    """
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(_configurations(name.removesuffix("/*")) if name.endswith("/*") else [name]))
    return tuple(found)


def _configurations(name: str) -> list[str]:
    base = name.removeprefix(MOCK_PREFIX)
    every = [f"{name}/{config}" for config in find_builder(base).builder_configs]
    if not every:
        raise InputError(f"benchmarks: '{name}/*', but data set {base!r} has no configurations; name it {name!r}")
    here = [config for config in every if is_here(config)]
    if not here:
        raise InputError(
            f"benchmarks: '{name}/*', but none of its {len(every)} configurations is prepared in {data_folder()}; "
            f"get the first one with: {command_for(every[0])}"
        )
    return here


def check_benchmark(name: str, model: Trained) -> None:
    """Refuses a set that a model cannot be tested on, without reading its images.

    Args:
        name: of the benchmark set.
        model: what it was trained on.

    Raises:
        InputError: it is not prepared here, its classes are not the model's, or its images do not become such ones.
    """
    if not is_here(name):
        raise InputError(f"benchmarks: {name!r} is not prepared in {data_folder()}; get it with: {command_for(name)}")
    features = open_builder(name).info.features
    chosen = choose_features(name, features)
    _places(name, chosen.class_names, model)
    own, edge = tuple(value_of(features, chosen.image).shape), model.crop or model.image_size
    if own != model.image_shape and (own if edge is None else (edge, edge, own[2])) != model.image_shape:
        raise InputError(f"benchmarks: {name!r} has images {own}, and the model takes {model.image_shape}")


def load_benchmark(name: str, model: Trained, *, limit: int | None = None) -> Benchmark:
    """A benchmark set for a model.

    Images that have the shape which the model takes are not touched: those of ImageNet-C were cut when it was made. All
    others are scaled and cut as the images that the model was trained on.

    Args:
        name: of the benchmark set.
        model: what it was trained on.
        limit: the first so many examples; all by default.

    Raises:
        InputError: as `check_benchmark` does, or the labels are no classes.
    """
    features = open_builder(name).info.features
    chosen = choose_features(name, features)
    as_they_are = tuple(value_of(features, chosen.image).shape) == model.image_shape
    size, crop = (None, None) if as_they_are else (model.image_size, model.crop)
    images = load_dataset(name, test_split(name), image_size=size, crop=crop)
    places = _places(name, images.class_names, model)
    classes = None
    if name.removeprefix(MOCK_PREFIX) in _SPARSE:
        classes = np.unique(places[images.labels])  # of the whole set, whatever the limit leaves of it
    elif len(places) < len(model.class_names):
        classes = np.sort(places)
    if limit is not None:
        images = images.take(limit)
    return Benchmark(images, places[images.labels], classes)


def _places(name: str, own: Sequence[str], model: Trained) -> np.ndarray:
    """The model's number of every class of the set, int64."""
    dataset, known = model.dataset, model.class_names
    parent = dataset.removeprefix(MOCK_PREFIX).partition(":")[0]
    if parent_set(name) == parent and len(own) == len(known):
        return np.arange(len(own))
    if name.removeprefix(MOCK_PREFIX).partition("/")[0] in _UNNAMED:
        raise InputError(
            f"benchmarks: {name!r} has classes without names, numbered as those of {parent_set(name)!r}, "
            f"and the model is of {dataset!r}"
        )
    if tuple(own) == tuple(known):
        return np.arange(len(own))
    place = {known_name: number for number, known_name in enumerate(known)}
    strangers = [own_name for own_name in own if own_name not in place]
    if strangers or len(place) < len(known):
        raise InputError(
            f"benchmarks: {name!r} has {len(own)} classes such as {(strangers or list(own))[0]!r}, "
            f"which are not among the {len(known)} of {dataset!r}, such as {known[0]!r}"
        )
    return np.array([place[own_name] for own_name in own])
