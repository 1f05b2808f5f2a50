"""Loading of data sets by name: embedded ones, what TensorFlow Datasets has prepared on this machine, and mocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.datasets.builders import data_folder, find_builder, not_prepared, notes_of
from tfaudit.datasets.catalogue import CATALOGUE, MOCK_PREFIX, base_name, catalogue_entry
from tfaudit.datasets.cropping import resize_and_crop
from tfaudit.datasets.dataset import Dataset, EncodedImages, check_labels, pipeline_options
from tfaudit.datasets.features import ChosenFeatures, choose_features, partial_decoding, value_of
from tfaudit.datasets.mock import mock_builder
from tfaudit.datasets.own import SPLITS, load_own
from tfaudit.errors import InputError, require
from tfaudit.runtime.captured_output import quiet_tfds, start_tensorflow
from tfaudit.runtime.user_functions import as_reference, is_reference

if TYPE_CHECKING:
    import tensorflow as tf

IN_MEMORY_BYTES = 600 * 2**20
"""Decoded pixels up to this size are held in memory; the largest such data set is EMNIST ByClass."""


def load_dataset(
    name: str,
    split: str,
    *,
    data_dir: str | Path | None = None,
    image_size: int | None = None,
    crop: int | None = None,
) -> Dataset:
    """Load a split of a data set of labelled images, its examples in a fixed order, without a network.

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
        image_size: shorter side to scale to, in pixels. None leaves the images as they are.
        crop: edge in pixels of the central square to crop; `image_size` by default. ImageNet takes 256 and 224.

    Raises:
        InputError: an unknown name or split, no labelled images, or not prepared, with the command that gets it.

    Example:
        >>> train = load_dataset("digits", "train")
        >>> train.num_examples, train.image_shape, train.in_memory
        (1197, (8, 8, 1), True)
    """
    return data_source(name).load(split, data_dir=data_dir, image_size=image_size, crop=crop)


def is_available(name: str, *, data_dir: str | Path | None = None) -> bool:
    """Return whether the files that `load_dataset` reads are present, without reading them.

    Raises:
        InputError: an unknown name.

    Example:
        >>> is_available("digits"), is_available("mock:imagenet2012")
        (True, True)
    """
    return data_source(name).is_available(data_dir)


def data_source(name: str) -> DataSource:
    """Return what a name of `load_dataset` stands for, decided once.

    Example:
        >>> [type(data_source(name)).__name__ for name in ("digits", "data.py:load", "cifar10")]
        ['EmbeddedData', 'OwnData', 'PreparedData']
    """
    if is_reference(name):
        return OwnData(as_reference("dataset", name, "a name"))
    embedded = CATALOGUE[name].embedded if name in CATALOGUE else None
    return PreparedData(name) if embedded is None else EmbeddedData(name, embedded)


@dataclass(frozen=True)
class DataSource:
    """Where a data set comes from.

    Attributes:
        name: name as for `load_dataset`.
    """

    name: str
    test_split = "test"

    def load(
        self,
        split: str,
        *,
        data_dir: str | Path | None = None,
        image_size: int | None = None,
        crop: int | None = None,
    ) -> Dataset:
        """Load a split; arguments and errors are those of `load_dataset`."""
        for argument, pixels in (("image_size", image_size), ("crop", crop)):
            require(pixels is None or pixels >= 1, argument, pixels, "1 pixel or more")
        if image_size is not None and crop is not None:
            require(crop <= image_size, "crop", crop, f"at most image_size, {image_size}")
        return self._load(split, data_dir, image_size, crop)

    def splits(
        self, *, image_size: int | None = None, crop: int | None = None
    ) -> tuple[Dataset, Dataset]:
        """Load the training and the test set."""
        train, test = (
            self.load(split, image_size=image_size, crop=crop)
            for split in ("train", self.test_split)
        )
        return train, test

    def is_available(self, data_dir: str | Path | None = None) -> bool:
        """Return whether the files are present, without reading them."""
        return True

    def _load(
        self, split: str, data_dir: str | Path | None, image_size: int | None, crop: int | None
    ) -> Dataset:
        raise NotImplementedError


class OwnData(DataSource):
    """The examples that a function `load(split)` of the user's returns."""

    def splits(
        self, *, image_size: int | None = None, crop: int | None = None
    ) -> tuple[Dataset, Dataset]:
        """Load the training and the test set, which are checked against each other, in one pass."""
        for argument, pixels in (("image_size", image_size), ("crop", crop)):
            expected = f"None: {self.name!r} returns its examples as the model takes them"
            require(pixels is None, argument, pixels, expected)
        return load_own(self.name)

    def _load(
        self, split: str, data_dir: str | Path | None, image_size: int | None, crop: int | None
    ) -> Dataset:
        expected = f"'train' or 'test', with which {self.name!r} is called"
        require(split in SPLITS, "split", split, expected)
        return self.splits(image_size=image_size, crop=crop)[SPLITS.index(split)]


@dataclass(frozen=True)
class EmbeddedData(DataSource):
    """A data set that comes with tfaudit; `read` returns a split."""

    read: Callable[[str], Dataset]

    def _load(
        self, split: str, data_dir: str | Path | None, image_size: int | None, crop: int | None
    ) -> Dataset:
        dataset = self.read(split)
        edge = dataset.image_shape[0]
        for argument, pixels in (("image_size", image_size), ("crop", crop)):
            expected = f"{edge} or None: {self.name!r} is not resized"
            require(pixels in (None, edge), argument, pixels, expected)
        return dataset


class PreparedData(DataSource):
    """A data set that TensorFlow Datasets or `tfaudit prepare` has prepared on this machine, or a mock of one."""

    @property
    def test_split(self) -> str:  # type: ignore[override]
        """Split to test on: it has labels and is not trained on."""
        return catalogue_entry(self.name).test

    def is_available(self, data_dir: str | Path | None = None) -> bool:
        """Return whether the files are present, without reading them; an unknown name raises `InputError`."""
        if self.name.startswith(MOCK_PREFIX):
            return True
        folder = data_folder(data_dir) / base_name(self.name)
        if catalogue_entry(self.name).features and not folder.is_dir():
            return False
        with quiet_tfds():
            return bool(find_builder(self.name, data_dir).is_prepared())

    def _load(
        self, split: str, data_dir: str | Path | None, image_size: int | None, crop: int | None
    ) -> Dataset:
        return _load_prepared(self.name, split, data_dir, image_size, crop)


def open_builder(name: str, data_dir: str | Path | None = None) -> Any:
    """Return the TFDS builder of a known data set, prepared or not, or its mock where the name begins with `mock:`."""
    start_tensorflow()  # the features import it
    if name.startswith(MOCK_PREFIX):
        return mock_builder(name.removeprefix(MOCK_PREFIX), data_dir)
    return find_builder(name, data_dir)


def _load_prepared(
    name: str, split: str, data_dir: str | Path | None, image_size: int | None, crop: int | None
) -> Dataset:
    """Return a split in memory if its decoded pixels fit, else as a stream."""
    builder = open_builder(name, data_dir)
    features = builder.info.features
    chosen = choose_features(name, features)
    with quiet_tfds():
        if not builder.is_prepared():
            raise not_prepared("name", name, data_dir)
    splits = builder.info.splits
    try:
        count = splits[split].num_examples
    except (KeyError, ValueError, AssertionError):
        names = ", ".join(map(repr, sorted(splits)))
        raise InputError(
            "split", repr(split), f"one of {names} of {name!r}, or a slice such as 'test[:50%]'"
        ) from None
    require(count > 0, "split", split, f"a part of {name!r} with examples")

    reader = _Reader(builder, split, chosen)
    resize = resize_and_crop(image_size, crop)
    image = value_of(features, chosen.image)
    encoded = EncodedImages(
        read=reader.images,
        decode=lambda content: resize(image.decode_example(content)),
        example_bytes=sum(s.num_bytes for s in splits.values())
        // sum(s.num_examples for s in splits.values()),
    )
    edge = crop or image_size
    classes = chosen.class_names
    shape = tuple(image.shape) if edge is None else (edge, edge, image.shape[2])
    sources: dict[str, Any] = {
        "stream": encoded.stream,
        "label_stream": reader.labels,
        "encoded": encoded,
    }
    notes = notes_of(builder.data_path)
    dataset = Dataset(name, split, classes, shape, count, notes=notes, **sources)
    fits = None not in shape and count * int(np.prod(shape)) <= IN_MEMORY_BYTES
    return (
        _in_memory(dataset, label_stream=reader.labels if chosen.groups else None)
        if fits
        else dataset
    )


@dataclass(frozen=True)
class _Reader:
    """Reader of the examples of a split."""

    builder: Any
    split: str
    chosen: ChosenFeatures

    def images(self, seed: tf.Tensor | None) -> tf.data.Dataset:
        """Return `(encoded image, label, example id)`; a seed determines the order of the files."""
        chosen = self.chosen

        def triple(example: dict[str, Any]) -> tuple[tf.Tensor, ...]:
            return (
                value_of(example, chosen.image),
                self._label(example),
                value_of(example, chosen.identity),
            )

        return self._read([chosen.image, chosen.label], seed, encoded=[chosen.image]).map(triple)

    def labels(self) -> tf.data.Dataset:
        """Return `(label, example id, groups)` in the fixed order."""
        chosen = self.chosen

        def row(example: dict[str, Any]) -> tuple[Any, ...]:
            groups = {
                key: readable(value_of(example, path))
                for key, (path, readable) in chosen.groups.items()
            }
            return self._label(example), value_of(example, chosen.identity), groups

        return self._read([chosen.label, *(path for path, _ in chosen.groups.values())], None).map(
            row
        )

    def _label(self, example: dict[str, Any]) -> tf.Tensor:
        import tensorflow as tf

        return tf.cast(value_of(example, self.chosen.label), tf.int64)

    def _read(
        self,
        paths: Iterable[tuple[str, ...]],
        seed: tf.Tensor | None,
        *,
        encoded: Iterable[tuple[str, ...]] = (),
    ) -> tf.data.Dataset:
        import tensorflow_datasets as tfds

        off = ("try_autocache", "shuffle_reshuffle_each_iteration", "enable_ordering_guard")
        once = {"add_tfds_id": True, "skip_prefetch": True, "options": pipeline_options()}
        config = tfds.ReadConfig(shuffle_seed=seed, **once, **dict.fromkeys(off, False))
        wanted = partial_decoding([*paths, self.chosen.identity], encoded=encoded)
        shuffle = seed is not None
        with quiet_tfds():
            return self.builder.as_dataset(
                split=self.split, decoders=wanted, read_config=config, shuffle_files=shuffle
            )


def _in_memory(dataset: Dataset, *, label_stream: Callable[[], tf.data.Dataset] | None) -> Dataset:
    """Return the data set with its pixels in memory; its groups are read when they are asked for."""
    pixels = np.empty((dataset.num_examples, *dataset.image_shape), np.uint8)  # type: ignore[type-var]
    labels = np.empty(dataset.num_examples, np.int64)
    ids: list[np.ndarray] = []
    end = 0
    for images, classes, names in dataset.stream().batch(2048).as_numpy_iterator():  # type: ignore[misc]
        begin = end
        end = end + len(classes)
        if end <= dataset.num_examples:
            pixels[begin:end], labels[begin:end] = images, classes
        ids.append(names.astype(str))
    if end != dataset.num_examples:
        problem = f"{dataset.split!r} of {dataset.name!r} with {end} examples"
        raise InputError(
            "split", problem, f"{dataset.num_examples}, as its description says; prepare it again"
        )
    check_labels(dataset.name, dataset.split, labels, dataset.num_classes)
    known: dict[str, Any] = {"known_labels": labels, "known_ids": np.concatenate(ids)}
    return replace(
        dataset, pixels=pixels, **known, stream=None, label_stream=label_stream, encoded=None
    )
