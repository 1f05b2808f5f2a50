"""Reads what TensorFlow Datasets has prepared on this machine, and mocks of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.datasets.builders import data_folder, find_builder
from tfaudit.datasets.cropping import middle_square
from tfaudit.datasets.dataset import Dataset, check_labels
from tfaudit.datasets.encoded_images import Encoded
from tfaudit.datasets.features import Chosen, choose_features, partial_decoding, value_of
from tfaudit.datasets.mock import MOCK_PREFIX, mock_builder
from tfaudit.errors import InputError
from tfaudit.quiet import quiet_tfds, start_tensorflow

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["open_builder", "read_prepared"]

IN_MEMORY_BYTES = 600 * 2**20
"""Decoded pixels up to this size are held in memory; the largest such set is EMNIST ByClass."""


def read_prepared(
    name: str, split: str, *, data_dir: str | Path | None, image_size: int | None, crop: int | None, fix: str
) -> Dataset:
    """A split of a prepared set: in memory when its decoded pixels fit, else a stream.

    Args:
        name: As `find_builder` takes it, or that after `mock:`.
        split: A split's name or a slice of one, `"train[:80%]"`.
        data_dir: As `data_folder` takes it.
        image_size: Pixels that the shorter side is scaled to; `None`: as it is.
        crop: Edge of the middle square in pixels; `image_size` by default.
        fix: The command that would get the set, for the error message.

    Raises:
        InputError: Not prepared, no such split, or no set of labelled images.
    """
    builder = open_builder(name, data_dir)
    features = builder.info.features
    chosen = choose_features(name, features)
    with quiet_tfds():
        if not builder.is_prepared():
            raise InputError(f"data set {name!r} is not prepared in {data_folder(data_dir)}; get it with: {fix}")
    splits = builder.info.splits
    try:
        count = splits[split].num_examples
    except (KeyError, ValueError, AssertionError):
        allowed = ", ".join(map(repr, sorted(splits)))
        raise InputError(
            f"split is {split!r}; data set {name!r} has {allowed}, and slices such as 'test[:50%]'"
        ) from None
    if not count:
        raise InputError(f"split is {split!r}; it holds no example of data set {name!r}")

    reader = _Reader(builder, split, chosen)
    cut, image = middle_square(image_size, crop), value_of(features, chosen.image)
    encoded = Encoded(
        read=reader.images,
        decode=lambda content: cut(image.decode_example(content)),
        example_bytes=sum(s.num_bytes for s in splits.values()) // sum(s.num_examples for s in splits.values()),
    )
    edge = crop or image_size
    shape = tuple(image.shape) if edge is None else (edge, edge, image.shape[2])
    dataset = Dataset(
        name=name,
        split=split,
        class_names=chosen.class_names,
        image_shape=shape,
        num_examples=count,
        stream=encoded.stream,
        label_stream=reader.beside_images,
        encoded=encoded,
    )
    fits = None not in shape and count * int(np.prod(shape)) <= IN_MEMORY_BYTES
    return _load(dataset, grouped=bool(chosen.groups)) if fits else dataset


def open_builder(name: str, data_dir: str | Path | None = None) -> Any:
    """The TFDS builder of a set, prepared or not, or a mock of it.

    Args:
        name: As `find_builder` takes it, or that after `mock:`.
        data_dir: As `data_folder` takes it.

    Raises:
        InputError: Nothing goes by the name.
    """
    start_tensorflow()  # the features import it
    if name.startswith(MOCK_PREFIX):
        return mock_builder(name.removeprefix(MOCK_PREFIX), data_dir)
    return find_builder(name, data_dir)


@dataclass(frozen=True)
class _Reader:
    """Reads the examples of a split through its builder."""

    builder: Any
    split: str
    chosen: Chosen

    def images(self, seed: tf.Tensor | None) -> tf.data.Dataset:
        """`(encoded image, label, example id)`; the files in an order of the seed's where there is one."""
        chosen = self.chosen

        def triple(example: dict[str, Any]) -> tuple[tf.Tensor, ...]:
            return value_of(example, chosen.image), self._label(example), value_of(example, chosen.identity)

        return self._read([chosen.image, chosen.label], seed, encoded=[chosen.image]).map(triple)

    def beside_images(self) -> tf.data.Dataset:
        """`(label, example id, groups)` in the fixed order."""
        chosen = self.chosen

        def beside(example: dict[str, Any]) -> tuple[Any, ...]:
            groups = {key: readable(value_of(example, path)) for key, (path, readable) in chosen.groups.items()}
            return self._label(example), value_of(example, chosen.identity), groups

        return self._read([chosen.label, *(path for path, _ in chosen.groups.values())], None).map(beside)

    def _label(self, example: dict[str, Any]) -> tf.Tensor:
        import tensorflow as tf

        return tf.cast(value_of(example, self.chosen.label), tf.int64)

    def _read(
        self, paths: Iterable[tuple[str, ...]], seed: tf.Tensor | None, *, encoded: Iterable[tuple[str, ...]] = ()
    ) -> tf.data.Dataset:
        import tensorflow_datasets as tfds

        config = tfds.ReadConfig(
            add_tfds_id=True,
            try_autocache=False,
            skip_prefetch=True,
            shuffle_seed=seed,
            shuffle_reshuffle_each_iteration=False,
            enable_ordering_guard=False,
        )
        wanted = partial_decoding([*paths, self.chosen.identity], encoded=encoded)
        with quiet_tfds():
            return self.builder.as_dataset(
                split=self.split, decoders=wanted, read_config=config, shuffle_files=seed is not None
            )


def _load(dataset: Dataset, *, grouped: bool) -> Dataset:
    """The same set with its pixels in memory; without groups its files are read once, not twice."""
    pixels = np.empty((dataset.num_examples, *dataset.image_shape), np.uint8)  # type: ignore[type-var]
    labels = np.empty(dataset.num_examples, np.int64)
    ids: list[np.ndarray] = []
    end = 0
    for images, classes, names in dataset.stream().batch(2048).as_numpy_iterator():  # type: ignore[misc]
        begin, end = end, end + len(classes)
        if end <= dataset.num_examples:
            pixels[begin:end], labels[begin:end] = images, classes
        ids.append(names.astype(str))
    if end != dataset.num_examples:
        raise InputError(
            f"data set {dataset.name!r} split {dataset.split!r} holds {end} examples where its own description "
            f"says {dataset.num_examples}; prepare it again"
        )
    check_labels(dataset.name, dataset.split, labels, dataset.num_classes)
    return Dataset(
        name=dataset.name,
        split=dataset.split,
        class_names=dataset.class_names,
        image_shape=dataset.image_shape,
        num_examples=dataset.num_examples,
        pixels=pixels,
        known_labels=labels,
        known_ids=np.concatenate(ids),
        known_groups={str(name): values.to_numpy() for name, values in dataset.groups.items()} if grouped else {},
    )
