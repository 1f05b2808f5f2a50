"""What a search is given, checked once: a model, examples split into those that choose and judge, and settings."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.calibration_data import CALIBRATION_IMAGES
from tfaudit.compress.input_range import is_in_other_range
from tfaudit.compress.keras_model import KerasForward, check_model
from tfaudit.compress.litert.convertible_layers import check_layers
from tfaudit.compress.model_files import load_keras, require_keras_file
from tfaudit.datasets.copies import copies_as_clusters
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import tell_unused_weights
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.datasets.representative import representative_part, representative_positions
from tfaudit.datasets.structure import leaves
from tfaudit.datasets.validation import split_validation
from tfaudit.errors import InputError, listed, require
from tfaudit.extensions.search.candidates import Candidate, candidates
from tfaudit.extensions.search.search_settings import SearchSettings
from tfaudit.population.training import copy_variables
from tfaudit.runtime.seals import seal_of_parts
from tfaudit.stats.group_codes import CLUSTER

SAMPLED = 500
"""Approximate number of examples whose range is checked."""


class SourceModel:
    """The model in a `.keras` file.

    Attributes:
        path: path of the file.
        name: name of the model.
        is_kept: whether the file stays after the search.
        model: the model, which is never changed.
        forward: inference of its output.

    Args:
        path: path of the file.
        output: name of the output if the model has several.
        name: name of the model in memory that was saved for the search; by default the file is the user's.

    Raises:
        InputError: Keras cannot load the file, no file can be made of its layers, or it has no such output.
    """

    def __init__(self, path: Path, output: str | None = None, name: str = "") -> None:
        self.path = path
        self.name = name or path.stem
        self.is_kept = not name
        self.model = load_keras(path)
        check_layers(self.model, "float32")
        self.forward = KerasForward(self.model, output)

    @classmethod
    def of(cls, model: keras.Model | str | Path, output: str | None, folder: Path) -> SourceModel:
        """Return the model in a file, or a model in memory, which is saved in a folder."""
        if isinstance(model, str | Path):
            require_keras_file(Path(model))
            return cls(Path(model), output)
        path = folder / "model.keras"
        check_model(model).save(path)
        return cls(path, output, model.name)

    def copy(self) -> keras.Model:
        """Return a copy of the model; load it from the file if Keras cannot copy it in memory."""
        try:
            copy = keras.models.clone_model(self.model)
        except Exception:  # a subclassed model raises whatever its `get_config` raises
            return load_keras(self.path)
        copy_variables(self.model, copy)
        return copy


def weights_seal(model: keras.Model) -> str:
    """Return a checksum of a model's architecture and weights; its file also holds times, which change the bytes."""
    return seal_of_parts(
        [model.to_json().encode(), *(values.tobytes() for values in model.get_weights())]
    )


def named_groups(data: Dataset) -> pd.DataFrame:
    """Return the named groups of examples by column, without their clusters."""
    return data.groups.drop(columns=CLUSTER, errors="ignore")


@dataclasses.dataclass(frozen=True)
class Parts:
    """Parts of the data of a search.

    Attributes:
        selection: examples on which candidates are chosen.
        held_out: the other examples; the two are split at random by a seed, stratified by class; an
            example that is alone in its class is drawn with the largest class.
        plain: examples that judge plain files, which are made without labels of the data: all, or all but those that
            calibrate int8 and their clusters. No label decides which these are.
        calibration: examples that calibrate int8: of the training data, or else of the selection part.
        train: training data; None if there are none.
    """

    selection: Dataset
    held_out: Dataset
    plain: Dataset
    calibration: Dataset
    train: Dataset | None = None

    @classmethod
    def of(
        cls, data: Dataset, held_out: float, seed: int, *, train: Dataset | None = None
    ) -> Parts:
        """Split the data.

        Raises:
            InputError: the share is outside (0, 1), or leaves a part empty.
        """
        require(0 < held_out < 1, "held_out", held_out, "a share in (0, 1)")
        counts = np.bincount(data.labels)
        strata = np.where(counts[data.labels] == 1, counts.argmax(), data.labels)
        try:
            selection, judged = split_validation(data, held_out, seed, strata=strata)
        except InputError as problem:
            raise InputError("held_out", problem.got, problem.expected) from None
        if train is not None:
            calibration = representative_part(train, CALIBRATION_IMAGES, seed)
            return cls(selection, judged, data, calibration, train)
        drawn = representative_positions(selection.num_examples, CALIBRATION_IMAGES, seed)
        calibration = selection.select(drawn, split=selection.split)
        ids, seen = data.example_ids, calibration.example_ids
        if data.clusters is not None and calibration.clusters is not None:
            ids, seen = data.clusters, calibration.clusters
        plain = data.select(np.flatnonzero(~np.isin(ids, seen)), split=data.split)
        return cls(selection, judged, plain, calibration)

    def in_words(self, *, plain: bool) -> str:
        """Return which examples judge a plain file, or another one, and how many there are."""
        if not plain:
            return f"the {self.held_out.num_examples:,} held-out examples, which had no part in the search"
        judging = self.plain.num_examples
        every = self.selection.num_examples + self.held_out.num_examples
        if judging == every:
            return (
                f"all {every:,} examples, whose labels had no part in making or choosing the file"
            )
        return f"{judging:,} of the {every:,} examples: all but those that calibrate int8"


@dataclasses.dataclass(frozen=True)
class SearchInputs:
    """What a search is given.

    Attributes:
        source: the model.
        parts: parts of the data.
        settings: settings of the search.
        identity: settings and data that the results depend on, as JSON values by name.
    """

    source: SourceModel
    parts: Parts
    settings: SearchSettings
    identity: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, source: SourceModel, data: Dataset, train: Dataset | None, settings: SearchSettings
    ) -> SearchInputs:
        """Split the data; raise an `InputError` unless model, data and settings fit each other."""
        tell_unused_weights(data, "data")
        names = _class_names(source, data, settings)
        limits = settings.limits.for_classes(len(names))
        settings = dataclasses.replace(settings, limits=limits)
        examples = copies_as_clusters(in_memory(data, "data", names))
        if limits.group_drop_pp is not None and named_groups(examples).empty:
            got, expected = str(limits.group_drop_pp), "None, or data with named groups"
            raise InputError("group_drop_pp", got, expected)
        if limits.judge_classes:
            require_two_of_every_class(examples)
        trained_on = None if train is None else _training_data(train, examples)
        identity = {
            "model": weights_seal(source.model),
            "data": Fingerprint.of(examples).digest,
            "training_data": None if trained_on is None else Fingerprint.of(trained_on).digest,
            **settings.to_json(),
        }
        parts = Parts.of(examples, settings.held_out, settings.seed, train=trained_on)
        return cls(source, parts, settings, identity)

    @functools.cached_property
    def plan(self) -> tuple[Candidate, ...]:
        """The candidates."""
        training = self.parts.train is not None
        return candidates(
            self.source.copy if training else lambda: self.source.model,
            training=training,
            full_integer=self.settings.full_integer,
            per_tensor=self.settings.per_tensor,
        )


def _class_names(source: SourceModel, data: Dataset, settings: SearchSettings) -> tuple[str, ...]:
    """Return class names from the data, or numbers if it has none; check that they fit the model."""
    names = data.class_names
    outputs = settings.ranked(source.forward, data.head(1), k=2**30).classes.shape[1]
    return names if len(names) == outputs else tuple(map(str, range(outputs)))


def _training_data(train: Dataset, examples: Dataset) -> Dataset:
    """Return the training data, with the classes of the data."""
    made = in_memory(train, "train", examples.class_names)
    if made.class_names != tuple(map(str, range(len(made.class_names)))):
        for number, names in enumerate(zip(made.class_names, examples.class_names, strict=True)):
            got, expected = names
            if got != expected:
                raise InputError(
                    "train", f"class {number} called {got!r}", f"{expected!r}, as in the data"
                )
    if made.has_images != examples.has_images:
        raise InputError("train", "examples of another type", "the type of the data")
    require_same_range(made, examples)
    return dataclasses.replace(made, class_names=examples.class_names)


def in_memory(data: Dataset, argument: str, class_names: Sequence[str]) -> Dataset:
    """Return a data set that is in memory, with the classes of a model.

    Args:
        data: data as `as_dataset` returns it.
        argument: name of the argument, for errors.
        class_names: names of the model's classes, used if the data names none.

    Raises:
        InputError: the classes are not the model's, or the data does not fit into memory.
    """
    if not data.in_memory:
        got = f"{data.name!r}, a stream of {data.num_examples:,} examples"
        expected = "examples that fit into memory; --limit, or Dataset.take, takes fewer"
        raise InputError(argument, got, expected)
    made = dataclasses.replace(data, class_names=data.class_names or tuple(class_names))
    if len(made.class_names) != len(class_names):
        got = f"{len(made.class_names)} classes ({listed(made.class_names, 3)})"
        raise InputError(argument, got, f"{len(class_names)}, as the model has outputs")
    largest = int(made.labels.max())
    expected = f"labels 0 to {len(class_names) - 1}"
    require(largest < len(class_names), argument, f"label {largest}", expected)
    return made


def require_two_of_every_class(data: Dataset) -> None:
    """Raise an `InputError` if a class has one example, which could not both choose and judge."""
    counts = np.bincount(data.labels, minlength=data.num_classes)
    if few := np.asarray(data.class_names)[counts == 1].tolist():
        expected = (
            "2 or more of every class: to choose and to judge; or limits on all classes together"
        )
        raise InputError("data", f"1 example of {listed(few)}", expected)


def require_same_range(train: Dataset, data: Dataset) -> None:
    """Raise an `InputError` if training data is scaled differently from the data; a few outliers do not matter.

    An int8 file is calibrated with training data, and clips values beyond its range.

    >>> from tfaudit.datasets.loading import load_dataset
    >>> require_same_range(load_dataset("digits", "train"), load_dataset("digits", "test"))
    """
    known = dict(leaves(train.held))
    for name, values in leaves(data.held):
        trained, tested = map(_some_without_outliers, (known.get(name, values), values))
        kinds = trained.dtype.kind + tested.dtype.kind
        if "f" not in kinds or "O" in kinds or np.isnan(trained).any() or np.isnan(tested).any():
            continue
        (low, high), wanted = (
            (float(array.min()), float(array.max())) for array in (trained, tested)
        )
        if is_in_other_range(tested, low, high) or is_in_other_range(trained, *wanted):
            expected = f"the range of the data, {wanted[0]:g} to {wanted[1]:g}"
            of = f" of {name}" if name != "x" else ""
            raise InputError("train", f"values from {low:g} to {high:g}{of}", expected)


def _some_without_outliers(values: np.ndarray) -> np.ndarray:
    """Return evenly spaced examples, with their most extreme values clipped."""
    some = values[:: max(1, len(values) // SAMPLED)]
    return np.clip(some, *np.nanpercentile(some, (1, 99))) if some.dtype.kind in "fiu" else some
