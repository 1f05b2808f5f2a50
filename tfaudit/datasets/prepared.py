"""Data sets that TensorFlow Datasets has prepared on this machine; nothing here touches the network."""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.chatter import start_tensorflow
from tfaudit.datasets.dataset import Dataset, check_labels
from tfaudit.datasets.quiet import quiet_tfds
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["NOT_IN_TFDS", "data_folder", "find_builder", "read_prepared"]

IN_MEMORY_BYTES = 512 * 2**20
"""Decoded pixels up to this size are held in memory."""

OWN_IDS = ("id", "file_name")
"""Text features that name an example; a set without them goes by TFDS' ids, file and row."""

NOT_IN_TFDS = ("qmnist",)
"""Sets that `tfaudit prepare` lays down under a name of their own."""

NAME = re.compile(r"\w+(/[\w.\-]+)?(:\d+\.\d+\.\d+)?")


def data_folder(data_dir: str | Path | None = None) -> Path:
    """The folder of prepared sets: `data_dir`, else the variable `TFDS_DATA_DIR`, else `~/tensorflow_datasets`."""
    chosen = data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    return Path(chosen).expanduser()


def find_builder(name: str, data_dir: str | Path | None = None) -> Any:
    """The TFDS builder of a set by name, whether or not its files are there.

    Raises:
        InputError: The name is malformed or nothing goes by it; close matches are named.
    """
    import tensorflow_datasets as tfds

    if not NAME.fullmatch(name):
        raise InputError(f"name is {name!r}; give NAME, NAME/CONFIG or NAME:VERSION, such as 'mnist_corrupted/fog'")
    folder = data_folder(data_dir)
    try:
        with quiet_tfds():
            return tfds.builder(name, data_dir=folder)
    except tfds.core.DatasetNotFoundError:
        if name in NOT_IN_TFDS:
            raise InputError(
                f"data set {name!r} is not prepared in {folder}; get it with: tfaudit prepare {name} --from PATH"
            ) from None
        own = [p.name for p in folder.iterdir() if not p.name.startswith(".")] if folder.is_dir() else []
        known = ["digits", *own, *tfds.list_builders(with_community_datasets=False)]
        close = difflib.get_close_matches(name, known, n=3) or ["digits", "fashion_mnist", "cifar10"]
        raise InputError(
            f"name is {name!r}; no data set has it (close: {', '.join(close)}); "
            f"a folder of images per class becomes one with: tfaudit prepare {name} --from FOLDER"
        ) from None
    except (ValueError, AssertionError) as error:
        base, config, _ = re.fullmatch(r"(\w+)(?:/([\w.\-]+))?(:.*)?", name).groups()  # type: ignore[union-attr]
        configs = list(tfds.builder_cls(base).builder_configs)
        if config and config not in configs:
            close = difflib.get_close_matches(config, configs, n=5) or configs[:5]
            allowed = f"its configurations include {', '.join(close)}" if close else "it has no configurations"
        else:
            allowed = str(error).splitlines()[0].rpartition(": ")[2]
        raise InputError(f"name is {name!r}; data set {base!r} has no such variant ({allowed})") from None


def read_prepared(name: str, split: str, data_dir: str | Path | None, image_size: int | None, fix: str) -> Dataset:
    """A split of a prepared set: in memory when its decoded pixels fit, else a stream.

    Args:
        name: As `find_builder` takes it.
        split: A split's name or a slice of one, `"train[:80%]"`.
        data_dir: As `data_folder` takes it.
        image_size: Edge in pixels that every image is cut to, or `None`: as they are.
        fix: The command that would get the set, for the error message.

    Raises:
        InputError: Not prepared, no such split, or no set of labelled images.
    """
    import tensorflow_datasets as tfds

    builder = find_builder(name, data_dir)
    image, label = _features_of(name, builder.info.features)
    with quiet_tfds():
        if not builder.is_prepared():
            raise InputError(f"data set {name!r} is not prepared in {data_folder(data_dir)}; get it with: {fix}")
    start_tensorflow()
    try:
        count = builder.info.splits[split].num_examples
    except (KeyError, ValueError, AssertionError):
        allowed = ", ".join(map(repr, sorted(builder.info.splits)))
        raise InputError(
            f"split is {split!r}; data set {name!r} has {allowed}, and slices such as 'test[:50%]'"
        ) from None
    if not count:
        raise InputError(f"split is {split!r}; it holds no example of data set {name!r}")

    features = builder.info.features
    own_ids = [key for key in OWN_IDS if key in features and isinstance(features[key], tfds.features.Text)]
    identity = own_ids[0] if own_ids else "tfds_id"

    groups = _group_features(features, label)

    def read(*keys: str) -> tf.data.Dataset:
        config = tfds.ReadConfig(add_tfds_id=True, try_autocache=False, skip_prefetch=True)
        wanted = tfds.decode.PartialDecoding(dict.fromkeys([*keys, *own_ids[:1]], True))
        with quiet_tfds():
            return builder.as_dataset(split=split, decoders=wanted, read_config=config, shuffle_files=False)

    def triple(example: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        pixels = example[image] if image_size is None else _cut_to(example[image], image_size)
        return pixels, example[label], example[identity]

    def beside(example: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
        return example[label], example[identity], {key: named(example[key]) for key, named in groups.items()}

    shape = tuple(features[image].shape)
    if image_size is not None:
        shape = (image_size, image_size, shape[2])
    dataset = Dataset(
        name=name,
        split=split,
        class_names=tuple(features[label].names),
        image_shape=shape,
        num_examples=count,
        stream=lambda: read(image, label).map(triple, num_parallel_calls=2, deterministic=True),
        label_stream=lambda: read(label, *groups).map(beside),
    )
    fits = None not in shape and count * int(np.prod(shape)) <= IN_MEMORY_BYTES
    return _load(dataset) if fits else dataset


def _features_of(name: str, features: Any) -> tuple[str, str]:
    """The keys of the image and of its class; `image` and `label` where there are several."""
    import tensorflow_datasets as tfds

    found = []
    for wanted, kind in (("image", tfds.features.Image), ("label", tfds.features.ClassLabel)):
        keys = [key for key, feature in features.items() if isinstance(feature, kind)]
        if not keys or (len(keys) > 1 and wanted not in keys):
            listed = ", ".join(f"{key}: {type(feature).__name__}" for key, feature in features.items())
            raise InputError(
                f"data set {name!r} has no one feature {wanted!r} of type {kind.__name__}; it has {listed}"
            )
        found.append(wanted if wanted in keys else keys[0])
    pixels = np.dtype(features[found[0]].np_dtype)
    if pixels != np.uint8:
        raise InputError(f"data set {name!r} has images of {pixels}; allowed are uint8")
    return found[0], found[1]


def _group_features(features: Any, label: str) -> dict[str, Callable[[tf.Tensor], tf.Tensor]]:
    """Per class label, integer or truth value beside the label, what makes a readable value of it."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    found: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {}
    for key, feature in features.items():
        if key == label or feature.shape != ():
            continue
        if isinstance(feature, tfds.features.ClassLabel):
            found[key] = functools.partial(tf.gather, tf.constant(feature.names))
        elif (
            isinstance(feature, tfds.features.Tensor | tfds.features.Scalar)
            and np.dtype(feature.np_dtype).kind in "biu"
        ):
            found[key] = tf.identity
    return found


def _cut_to(image: tf.Tensor, edge: int) -> tf.Tensor:
    """Scale the shorter side to `edge` pixels, then take the middle square."""
    import tensorflow as tf

    size = tf.cast(tf.shape(image)[:2], tf.float32)
    scaled = tf.maximum(tf.cast(tf.round(size * (edge / tf.reduce_min(size))), tf.int32), edge)
    resized = tf.image.resize(image, scaled, antialias=True)
    pixels = tf.image.resize_with_crop_or_pad(resized, edge, edge)
    return tf.cast(tf.clip_by_value(tf.round(pixels), 0, 255), tf.uint8)


def _load(dataset: Dataset) -> Dataset:
    """The same set with its pixels in memory."""
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
        known_groups={str(name): values.to_numpy() for name, values in dataset.groups.items()},
    )
