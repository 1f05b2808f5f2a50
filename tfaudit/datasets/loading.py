"""Loading of data sets by name: embedded ones, what TensorFlow Datasets has prepared on this machine, and mocks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.datasets.builders import data_folder, find_builder, not_prepared, notes_of
from tfaudit.datasets.catalogue import (
    CATALOGUE,
    MOCK_PREFIX,
    CatalogueEntry,
    base_name,
    catalogue_entry,
)
from tfaudit.datasets.cropping import resize_and_crop
from tfaudit.datasets.dataset import Dataset, ImageStream, Splits, check_labels, pipeline_options
from tfaudit.datasets.features import ChosenFeatures, choose_features, partial_decoding, value_of
from tfaudit.datasets.mock import mock_builder
from tfaudit.datasets.own import SPLITS, load_own
from tfaudit.datasets.scaling import UNSCALED, ImageShape, Scaling
from tfaudit.errors import InputError, require, require_type
from tfaudit.runtime.captured_output import quiet_tfds, start_tensorflow
from tfaudit.runtime.user_functions import as_reference, is_reference

if TYPE_CHECKING:
    import tensorflow as tf

IN_MEMORY_BYTES = 600 * 2**20
"""Decoded pixels up to this size are held in memory; the largest such data set is EMNIST ByClass."""

IN_MEMORY_VARIABLE = "TFAUDIT_IN_MEMORY"
"""Environment variable that replaces `IN_MEMORY_BYTES`: a small stand-in for a large data set streams, too."""


def load_dataset(
    name: str,
    split: str,
    *,
    data_dir: str | Path | None = None,
    image_size: int | None = None,
    crop: int | None = None,
) -> Dataset:
    """Load a split of a data set of labelled images, in a fixed order, without a network.

    `digits` comes with tfaudit. Every other name is a data set that TensorFlow Datasets or `tfaudit prepare` has
    prepared on this machine. Up to 600 MB of decoded pixels of one size are held in memory; larger data sets stream.
    The prefix `mock:` replaces a data set by 64 random examples per split with the same structure.

    CelebA's class is blond or not, and its other attributes are groups ([F] 3). ImageNet can be tested on
    `"validation"` only; see `tfaudit.datasets.catalogue.test_split`.

    Args:
        name: `"digits"`; a TFDS name with or without configuration and version: `"cifar10"`,
            `"mnist_corrupted/fog"`, `"mnist:3.0.1"`, `"mock:imagenet2012"`; or a function `load(split)` of your own as
            `"file.py:load"` or `"package.module:load"`, which returns `tfaudit.Examples` or (x, y).
        split: name of a split, such as `"train"` or `"test"`; for TFDS data sets also a slice, `"train[:80%]"`.
        data_dir: folder of the prepared data sets; by default the variable `TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        image_size: shorter side to scale to, in pixels; by default images stay as they are.
        crop: edge in pixels of the central square to crop; `image_size` by default. ImageNet takes 256 and 224.

    Raises:
        InputError: the name or split is unknown, the data set has no labelled images, or it is not prepared; then the
            error has the command that gets it.

    Example:
        >>> train = load_dataset("digits", "train")
        >>> train.num_examples, train.image_shape, train.in_memory
        (1197, (8, 8, 1), True)
    """
    return data_source(name, data_dir).load(split, Scaling(image_size, crop))


def is_available(name: str, *, data_dir: str | Path | None = None) -> bool:
    """Return whether the files that `load_dataset` reads are present, without reading them.

    Raises:
        InputError: an unknown name.

    Example:
        >>> is_available("digits"), is_available("mock:imagenet2012")
        (True, True)
    """
    return data_source(name, data_dir).is_available()


def data_source(name: str, data_dir: str | Path | None = None) -> DataSource:
    """Return the source that a name of `load_dataset` stands for.

    Example:
        >>> [type(data_source(name)).__name__ for name in ("digits", "data.py:load", "cifar10")]
        ['EmbeddedData', 'OwnData', 'PreparedData']
    """
    require_type("a name", str, name=name)
    if is_reference(name):
        return OwnData(as_reference("dataset", name, "a name"))
    if name in CATALOGUE and CATALOGUE[name].embedded:
        return EmbeddedData(name)
    return PreparedData(name, data_dir)


@dataclass(frozen=True)
class DataSource:
    """The source of a data set.

    Attributes:
        name: name of the data set, as for `load_dataset`.
    """

    name: str

    @property
    def test_split(self) -> str:
        """Split to test on: it has labels and is not trained on."""
        return "test"

    def is_available(self) -> bool:
        """Return whether the files are present, without reading them."""
        return True

    def load(self, split: str, scaling: Scaling = UNSCALED) -> Dataset:
        """Load a split; errors are those of `load_dataset`."""
        raise NotImplementedError

    def splits(self, scaling: Scaling = UNSCALED) -> Splits:
        """Load the training and the test set."""
        return self.load("train", scaling), self.load(self.test_split, scaling)


class OwnData(DataSource):
    """A data set that a user's function `load(split)` returns."""

    def load(self, split: str, scaling: Scaling = UNSCALED) -> Dataset:
        """Load both splits, and return one of them."""
        expected = f"'train' or 'test', with which {self.name!r} is called"
        require(split in SPLITS, "split", split, expected)
        return self.splits(scaling)[SPLITS.index(split)]

    def splits(self, scaling: Scaling = UNSCALED) -> Splits:
        """Load the training and the test set in one pass, and check them against each other."""
        expected = f"none: {self.name!r} returns its examples as the model takes them"
        for argument, value in asdict(scaling).items():
            require(not value, argument, value, expected)
        return load_own(self.name)


class EmbeddedData(DataSource):
    """A data set that comes with tfaudit."""

    def load(self, split: str, scaling: Scaling = UNSCALED) -> Dataset:
        """Load a split, whose images keep their size."""
        dataset: Dataset = CATALOGUE[self.name].embedded(split)  # type: ignore[misc]
        edge = dataset.image_shape[0]
        for argument, value in asdict(scaling).items():
            expected = f"{edge} or none: {self.name!r} is not resized"
            require(not value or value == edge, argument, value, expected)
        return dataset


@dataclass(frozen=True)
class PreparedData(DataSource):
    """A data set that TensorFlow Datasets or `tfaudit prepare` has prepared on this machine, or a mock of one.

    Attributes:
        data_dir: folder of the prepared data sets, as for `load_dataset`.
    """

    data_dir: str | Path | None = None

    @cached_property
    def entry(self) -> CatalogueEntry:
        """The entry of the data set in the catalogue."""
        return catalogue_entry(self.name)

    @property
    def test_split(self) -> str:
        """Split to test on: it has labels and is not trained on."""
        return self.entry.test

    @cached_property
    def builder(self) -> Any:
        """The TFDS builder, prepared or not, or its mock; an unknown name raises `InputError`."""
        start_tensorflow()  # the features import it
        if self.name.startswith(MOCK_PREFIX):
            return mock_builder(self.name.removeprefix(MOCK_PREFIX), self.data_dir)
        return find_builder(self.name, self.data_dir)

    @cached_property
    def features(self) -> ChosenFeatures:
        """The keys of the features; a data set without labelled images raises `InputError`."""
        return choose_features(self.name, self.builder.info.features, self.entry)

    @property
    def image_shape(self) -> ImageShape:
        """The shape of the images as they are stored, `(H, W, C)`; None for sizes that vary."""
        height, width, channels = self.builder.info.features[self.features.image].shape
        return height, width, channels

    def is_available(self) -> bool:
        """Return whether the files are present, without reading them; an unknown name raises `InputError`."""
        if self.name.startswith(MOCK_PREFIX):
            return True
        folder = data_folder(self.data_dir) / base_name(self.name)
        if self.entry.features and not folder.is_dir():
            return False
        with quiet_tfds():
            return bool(self.builder.is_prepared())

    def load(self, split: str, scaling: Scaling = UNSCALED) -> Dataset:
        """Load a split, in memory if its decoded pixels fit, otherwise as a stream."""
        features = self.features
        if not self.is_available():
            raise not_prepared("name", self.name, self.data_dir)
        count = self._num_examples(split)
        info = self.builder.info
        resize = resize_and_crop(scaling)
        decode = info.features[features.image].decode_example
        total_bytes = sum(part.num_bytes for part in info.splits.values())
        reader = _Reader(self.builder, split, features)
        stream = ImageStream(
            read=reader.images,
            read_groups=reader.groups,
            decode=lambda content: resize(decode(content)),
            example_bytes=max(1, total_bytes // info.splits.total_num_examples),
        )
        shape = scaling.scaled(self.image_shape)
        notes = notes_of(self.builder.data_path)
        names = features.class_names
        dataset = Dataset(self.name, split, names, shape, count, stream=stream, notes=notes)
        most = float(os.environ.get(IN_MEMORY_VARIABLE, IN_MEMORY_BYTES))
        fits = None not in shape and count * math.prod(shape) <= most  # type: ignore[arg-type]
        fits = fits and not scaling.bicubic  # the floats would take four times the memory
        return _in_memory(dataset, bool(features.groups)) if fits else dataset

    def _num_examples(self, split: str) -> int:
        splits = self.builder.info.splits
        try:
            count: int = splits[split].num_examples
        except (KeyError, ValueError, AssertionError):
            names = ", ".join(map(repr, sorted(splits)))
            expected = f"one of {names} of {self.name!r}, or a slice such as 'test[:50%]'"
            raise InputError("split", repr(split), expected) from None
        require(count > 0, "split", split, f"a part of {self.name!r} with examples")
        return count


@dataclass(frozen=True)
class _Reader:
    """Reader of the examples of a split."""

    builder: Any
    split: str
    features: ChosenFeatures

    def images(self, seed: tf.Tensor | None) -> tf.data.Dataset:
        """Return `(encoded image, label, example id)`; a seed determines the order of the files."""
        image = self.features.image
        return self._read([image], lambda example: example[image], seed)

    def groups(self) -> tf.data.Dataset:
        """Return `(groups by column, label, example id)` in the fixed order."""
        groups = self.features.groups

        def columns(example: dict[str, Any]) -> dict[str, tf.Tensor]:
            return {key: show(value_of(example, path)) for key, (path, show) in groups.items()}

        return self._read([path[0] for path, _ in groups.values()], columns, None)

    def _read(
        self,
        keys: Sequence[str],
        content: Callable[[dict[str, Any]], Any],
        seed: tf.Tensor | None,
    ) -> tf.data.Dataset:
        import tensorflow as tf
        import tensorflow_datasets as tfds

        image, label, identity = self.features.image, self.features.label, self.features.identity

        def row(example: dict[str, Any]) -> tuple[Any, tf.Tensor, tf.Tensor]:
            return content(example), tf.cast(value_of(example, label), tf.int64), example[identity]

        config = tfds.ReadConfig(
            shuffle_seed=seed,
            add_tfds_id=True,
            skip_prefetch=True,
            options=pipeline_options(),
            try_autocache=False,
            shuffle_reshuffle_each_iteration=False,
            enable_ordering_guard=False,
        )
        with quiet_tfds():
            examples = self.builder.as_dataset(
                split=self.split,
                decoders=partial_decoding([*keys, label[0], identity], encoded=image),
                read_config=config,
                shuffle_files=seed is not None,
            )
        return examples.map(row)


def _in_memory(dataset: Dataset, has_groups: bool) -> Dataset:
    """Return a stream with its images in memory; groups, if it has any, are read on request."""
    rows = dataset.stream.decoded().batch(2048).as_numpy_iterator()  # type: ignore[union-attr]
    pixels = np.empty((dataset.num_examples, *dataset.fixed_shape()), np.uint8)
    labels = np.empty(dataset.num_examples, np.int64)
    ids: list[np.ndarray] = []
    end = 0
    for images, classes, names in rows:
        begin = end
        end = end + len(classes)
        if end <= dataset.num_examples:
            pixels[begin:end] = images
            labels[begin:end] = classes
        ids.append(names.astype(str))
    if end != dataset.num_examples:
        got = f"{dataset.split!r} of {dataset.name!r} with {end} examples"
        expected = f"{dataset.num_examples}, as its description says; prepare it again"
        raise InputError("split", got, expected)
    check_labels(dataset.name, dataset.split, labels, dataset.num_classes)
    return replace(
        dataset,
        inputs=pixels,
        known_labels=labels,
        known_ids=np.concatenate(ids),
        stream=dataset.stream if has_groups else None,
    )
