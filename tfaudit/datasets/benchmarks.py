"""Benchmark sets, on which a trained model is tested: which are available, and how their classes fit the model's."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfaudit.datasets.builders import command_for, data_folder, find_builder, not_prepared
from tfaudit.datasets.catalogue import MOCK_PREFIX, base_name, catalogue_entry, test_split
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.features import choose_features, value_of
from tfaudit.datasets.loading import is_available, load_dataset, open_builder
from tfaudit.errors import InputError


class Benchmark(NamedTuple):
    """A benchmark set in a model's numbering of the classes."""

    # The images, ids and groups; its own labels are numbered as in the benchmark set.
    dataset: Dataset
    labels: np.ndarray  # int64 (N,), in the model's numbering
    classes: np.ndarray | None  # int64, the only classes that the model may predict; None for all


class TrainedModel(NamedTuple):
    """The facts of a trained model that a benchmark set must fit."""

    dataset: str  # name of the data set that the model was trained on
    class_names: Sequence[str]  # of its classes
    image_shape: tuple[int, int, int]  # (H, W, C) of the model's input
    # Shorter side in pixels to which other images are scaled; None where they are not.
    image_size: int | None = None
    crop: int | None = None  # edge of the central square that is then cropped; None where it is not


def expand_wildcards(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each `NAME/*` replaced by NAME's prepared configurations, of which there must be one."""
    expanded = [
        config
        for name in names
        for config in (_configurations(name[:-2]) if name.endswith("/*") else [name])
    ]
    return tuple(dict.fromkeys(expanded))


def _configurations(name: str) -> list[str]:
    base = name.removeprefix(MOCK_PREFIX)
    configs = [f"{name}/{config}" for config in find_builder(base).builder_configs]
    if not configs:
        raise InputError(
            "benchmarks", f"'{name}/*'", f"{name!r}, as data set {base!r} has no configurations"
        )
    available = [config for config in configs if is_available(config)]
    if not available:
        problem = f"'{name}/*', with none of its {len(configs)} configurations prepared in {data_folder()}"
        raise InputError(
            "benchmarks", problem, f"at least one; get the first with: {command_for(configs[0])}"
        )
    return available


def check_benchmark(name: str, model: TrainedModel) -> None:
    """Refuse a benchmark set that is not prepared, or whose classes or images do not fit a model; read no images."""
    if not is_available(name):
        raise not_prepared("benchmarks", name)
    features = open_builder(name).info.features
    chosen = choose_features(name, features)
    _class_positions(name, chosen.class_names, model)
    shape = tuple(value_of(features, chosen.image).shape)
    edge = model.crop or model.image_size
    if model.image_shape not in (shape, shape if edge is None else (edge, edge, shape[2])):
        raise InputError(
            "benchmarks", f"{name!r} with images {shape}", f"the model's input, {model.image_shape}"
        )


def load_benchmark(name: str, model: TrainedModel, *, limit: int | None = None) -> Benchmark:
    """Load a benchmark set for a model; only its first `limit` examples unless that is None.

    Images that have the shape of the model's input stay as they are: those of ImageNet-C were cropped when the set was
    made. All others are scaled and cropped as the images that the model was trained on.

    Raises:
        InputError: as `check_benchmark`, or labels that are not classes.
    """
    features = open_builder(name).info.features
    chosen = choose_features(name, features)
    fits = tuple(value_of(features, chosen.image).shape) == model.image_shape
    size, crop = (None, None) if fits else (model.image_size, model.crop)
    dataset = load_dataset(name, test_split(name), image_size=size, crop=crop)
    positions = _class_positions(name, dataset.class_names, model)
    classes = None
    if not catalogue_entry(name).shows_all_classes:
        classes = np.unique(positions[dataset.labels])  # of the whole set, whatever the limit
    elif len(positions) < len(model.class_names):
        classes = np.sort(positions)
    dataset = dataset if limit is None else dataset.take(limit)
    return Benchmark(dataset, positions[dataset.labels], classes)


def _class_positions(name: str, class_names: Sequence[str], model: TrainedModel) -> np.ndarray:
    """Return the model's number of every class of the benchmark set, int64."""
    entry = catalogue_entry(name)
    if entry.parent == base_name(model.dataset) and len(class_names) == len(model.class_names):
        return np.arange(len(class_names))
    if not entry.names_classes:
        problem = (
            f"{name!r}, whose classes have no names and are numbered as those of {entry.parent!r}"
        )
        raise InputError("benchmarks", problem, f"a benchmark set for {model.dataset!r}")
    if tuple(class_names) == tuple(model.class_names):
        return np.arange(len(class_names))
    position = {known: number for number, known in enumerate(model.class_names)}
    unknown = [class_name for class_name in class_names if class_name not in position]
    if unknown or len(position) < len(model.class_names):
        problem = f"{name!r} with {len(class_names)} classes such as {(unknown or list(class_names))[0]!r}"
        expected = f"some of the {len(model.class_names)} of {model.dataset!r}, such as {model.class_names[0]!r}"
        raise InputError("benchmarks", problem, expected)
    return np.array([position[class_name] for class_name in class_names])
