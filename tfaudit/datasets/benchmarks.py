"""Benchmark sets, on which a trained model is tested: which are available, and how their classes fit the model's."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfaudit.datasets.builders import command_for, data_folder, find_builder, not_prepared
from tfaudit.datasets.catalogue import MOCK_PREFIX, base_name, catalogue_entry
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.loading import PreparedData
from tfaudit.datasets.scaling import UNSCALED, Scaling
from tfaudit.errors import InputError

RESTRICTED = "/restricted"
"""Ending of the name of a set that shows some classes only: a model then predicts one of these, not any of its own."""


class Benchmark(NamedTuple):
    """A benchmark set in a model's numbering of the classes."""

    # The images, ids and groups; its own labels are numbered as in the benchmark set.
    dataset: Dataset
    labels: np.ndarray  # int64 (N,), in the model's numbering
    classes: np.ndarray | None  # int64, the only classes that the model may predict; None for all


class TrainedModel(NamedTuple):
    """The facts of a trained model that a benchmark set must fit."""

    dataset: str  # name of the data set that the model was trained on
    class_names: Sequence[str]  # names of its classes by label
    image_shape: tuple[int, int, int]  # shape (H, W, C) of the model's input
    scaling: Scaling = UNSCALED  # how images of another shape are scaled and cropped


def expand_wildcards(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with each `NAME/*` replaced by NAME's prepared configurations; refuse `NAME/*` without any."""
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
        expected = f"{name!r}, as data set {base!r} has no configurations"
        raise InputError("benchmarks", f"'{name}/*'", expected)
    available = [config for config in configs if PreparedData(config).is_available()]
    if not available:
        got = f"'{name}/*', with none of its {len(configs)} configurations prepared in {data_folder()}"
        expected = f"at least one; get the first with: {command_for(configs[0])}"
        raise InputError("benchmarks", got, expected)
    return available


def check_benchmark(name: str, model: TrainedModel) -> None:
    """Refuse a benchmark set that is not prepared, or whose classes or images do not fit a model; read no images."""
    source, _ = _source(name)
    if not source.is_available():
        raise not_prepared("benchmarks", source.name)
    _class_positions(source, model)
    shape = source.image_shape
    if model.image_shape not in (shape, model.scaling.scaled(shape)):
        got = f"{name!r} with images {shape}"
        raise InputError("benchmarks", got, f"the model's input, {model.image_shape}")


def load_benchmark(name: str, model: TrainedModel, *, limit: int | None = None) -> Benchmark:
    """Load a benchmark set for a model; with a `limit`, only its first examples.

    Images that have the shape of the model's input stay as they are: those of ImageNet-C were cropped when the set was
    made. All others are scaled and cropped like the images that the model was trained on, and so are those of the
    model's shape if the scaling is bicubic, as in [F]'s released code.

    ImageNet-A and -R show 200 classes of ImageNet's 1,000. Under their own names a model may predict any class, as in
    [F] table 8; with the ending `/restricted`, such as `imagenet_a/restricted`, only one of those 200, as in the sets'
    own papers.

    Raises:
        InputError: `check_benchmark` refuses the set, or a label is not a class.
    """
    source, restricted = _source(name)
    fits = source.image_shape == model.image_shape and not model.scaling.bicubic
    dataset = source.load(source.test_split, UNSCALED if fits else model.scaling)
    positions = _class_positions(source, model)
    classes = None
    if restricted:
        classes = np.unique(positions[dataset.labels])  # of the whole set, not the limit
    elif len(positions) < len(model.class_names):
        classes = np.sort(positions)
    dataset = dataset if limit is None else dataset.take(limit)
    return Benchmark(dataset, positions[dataset.labels], classes)


def _source(name: str) -> tuple[PreparedData, bool]:
    """Return the source of a benchmark set, and whether predictions are restricted to the classes that it shows."""
    shown = name.removesuffix(RESTRICTED)
    restricted = shown != name and not catalogue_entry(shown).shows_all_classes
    return PreparedData(shown if restricted else name), restricted


def _class_positions(source: PreparedData, model: TrainedModel) -> np.ndarray:
    """Return the model's class number for every class of the benchmark set, int64."""
    name = source.name
    entry = source.entry
    class_names = source.features.class_names
    if entry.parent == base_name(model.dataset) and len(class_names) == len(model.class_names):
        return np.arange(len(class_names))
    if not entry.names_classes:
        got = f"{name!r}, whose classes have no names and are numbered as those of {entry.parent!r}"
        raise InputError("benchmarks", got, f"a benchmark set for {model.dataset!r}")
    if tuple(class_names) == tuple(model.class_names):
        return np.arange(len(class_names))
    position = {known: number for number, known in enumerate(model.class_names)}
    unknown = [class_name for class_name in class_names if class_name not in position]
    if unknown or len(position) < len(model.class_names):
        problem = f"{name!r} with {len(class_names)} classes such as {(unknown or list(class_names))[0]!r}"
        expected = f"some of the {len(model.class_names)} of {model.dataset!r}, such as {model.class_names[0]!r}"
        raise InputError("benchmarks", problem, expected)
    return np.array([position[class_name] for class_name in class_names])
