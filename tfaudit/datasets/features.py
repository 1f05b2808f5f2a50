"""Choice of the features of a TFDS data set: image, class, id and groups."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.datasets.catalogue import CatalogueEntry
from tfaudit.errors import InputError
from tfaudit.runtime.names import clean_names

if TYPE_CHECKING:
    import tensorflow as tf

ID_FEATURES = ("id", "file_name")
"""Text features that name an example; without them the ids are TFDS' own, file and row."""

KeyPath = tuple[str, ...]
Groups = Mapping[str, tuple[KeyPath, Callable[["tf.Tensor"], "tf.Tensor"]]]


@dataclass(frozen=True)
class ChosenFeatures:
    """The keys of the features in an example, or the paths of keys to features that may be nested."""

    image: str  # key of the image, uint8
    label: KeyPath  # path of the class, an integer or a boolean
    class_names: tuple[str, ...]  # names of the classes by label
    identity: str  # key of the example's own id, or `tfds_id`
    groups: Groups  # for each column, the path of a further feature, and a function that makes its values readable


def choose_features(name: str, features: Any, entry: CatalogueEntry) -> ChosenFeatures:
    """Choose the features of a data set of labelled images; of several images or labels, those with these names.

    `features` is a `tfds.features.FeaturesDict`, `name` the data set's name in messages, `entry` its entry in the
    catalogue.

    Raises:
        InputError: the data set has no labelled uint8 images.
    """
    import tensorflow_datasets as tfds

    image = _only(name, features, "image", tfds.features.Image)
    pixels = np.dtype(features[image].np_dtype)
    if pixels != np.uint8:
        raise InputError("name", f"{name!r}, with images of {pixels}", "images of uint8")
    label = entry.label or (_only(name, features, "label", tfds.features.ClassLabel),)
    ids = [
        key
        for key in ID_FEATURES
        if key in features and isinstance(features[key], tfds.features.Text)
    ]
    return ChosenFeatures(
        image=image,
        label=label,
        class_names=entry.class_names or clean_names(value_of(features, label).names, name),
        identity=ids[0] if ids else "tfds_id",
        groups=_groups(features, label, entry.left_out),
    )


def partial_decoding(keys: Collection[str], encoded: str) -> Any:
    """Return the decoding with which TFDS reads only the features with these keys, one of them still encoded."""
    import tensorflow_datasets as tfds

    wanted = {key: True for key in keys if key != "tfds_id"}
    decoders = {encoded: tfds.decode.SkipDecoding()} if encoded in keys else None
    return tfds.decode.PartialDecoding(wanted, decoders=decoders)


def value_of(example: Any, path: KeyPath) -> Any:
    """Return the value at a path of keys."""
    return functools.reduce(operator.getitem, path, example)


def _only(name: str, features: Any, wanted: str, kind: type) -> str:
    keys = [key for key, feature in features.items() if isinstance(feature, kind)]
    if not keys or (len(keys) > 1 and wanted not in keys):
        present = ", ".join(f"{key}: {type(feature).__name__}" for key, feature in features.items())
        raise InputError(
            "name", f"{name!r}, with {present}", f"one feature {wanted!r} of type {kind.__name__}"
        )
    return wanted if wanted in keys else keys[0]


def _groups(features: Any, label: KeyPath, left_out: tuple[str, ...]) -> Groups:
    """Return all class labels, integers and booleans except the class, by the last key of their paths."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    groups: dict[str, tuple[KeyPath, Callable[[tf.Tensor], tf.Tensor]]] = {}
    numeric = tfds.features.Tensor | tfds.features.Scalar
    for path, feature in _leaves(features):
        if path == label or path[0] in left_out or feature.shape != ():
            continue
        if isinstance(feature, tfds.features.ClassLabel):
            groups[path[-1]] = (path, functools.partial(tf.gather, tf.constant(feature.names)))
        elif isinstance(feature, numeric) and np.dtype(feature.np_dtype).kind in "biu":
            groups[path[-1]] = (path, tf.identity)
    return groups


def _leaves(features: Any, above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    import tensorflow_datasets as tfds

    for key, feature in features.items():
        if isinstance(feature, tfds.features.FeaturesDict):
            yield from _leaves(feature, (*above, key))
        else:
            yield (*above, key), feature
