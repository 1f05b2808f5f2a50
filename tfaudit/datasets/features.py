"""Which features of a TFDS set are the image, the class and the groups."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfaudit.datasets.tfds_overrides import known
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["Chosen", "choose_features", "partial_decoding", "value_of"]

OWN_IDS = ("id", "file_name")
"""Text features that name an example; a set without them goes by TFDS' ids, file and row."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """Where in an example things stand, as paths of keys.

    Attributes:
        image: uint8 pixels.
        label: The class: an integer or a truth value.
        class_names: Name of every class, by label.
        identity: The example's own name, or `tfds_id`.
        groups: Per column what else is known: its path, and what makes a readable value of it.
    """

    image: Path
    label: Path
    class_names: tuple[str, ...]
    identity: Path
    groups: Mapping[str, tuple[Path, Callable[[tf.Tensor], tf.Tensor]]]


def choose_features(name: str, features: Any) -> Chosen:
    """The features of a set of labelled images; `image` and `label` where there are several of their type.

    Args:
        name: The set's, for `KNOWN` and messages.
        features: A `tfds.features.FeaturesDict`.

    Raises:
        InputError: No labelled images of uint8.
    """
    import tensorflow_datasets as tfds

    image = _only(name, features, "image", tfds.features.Image)
    pixels = np.dtype(features[image].np_dtype)
    if pixels != np.uint8:
        raise InputError(f"data set {name!r} has images of {pixels}; allowed are uint8")
    about = known(name)
    label = about.label or (_only(name, features, "label", tfds.features.ClassLabel),)
    own_ids = [key for key in OWN_IDS if key in features and isinstance(features[key], tfds.features.Text)]
    return Chosen(
        image=(image,),
        label=label,
        class_names=about.class_names or tuple(value_of(features, label).names),
        identity=(own_ids[0] if own_ids else "tfds_id",),
        groups=_groups(features, label, about.left_out),
    )


def partial_decoding(paths: Iterable[Path], *, encoded: Iterable[Path] = ()) -> Any:
    """What TFDS is to read of an example: these features, some of them as they are stored."""
    import tensorflow_datasets as tfds

    wanted = [path for path in paths if path != ("tfds_id",)]
    decoders = _nested({path: tfds.decode.SkipDecoding() for path in encoded})
    return tfds.decode.PartialDecoding(_nested(dict.fromkeys(wanted, True)), decoders=decoders or None)


def value_of(example: Any, path: Path) -> Any:
    """What stands at the end of a path of keys."""
    return functools.reduce(operator.getitem, path, example)


def _only(name: str, features: Any, wanted: str, kind: type) -> str:
    keys = [key for key, feature in features.items() if isinstance(feature, kind)]
    if not keys or (len(keys) > 1 and wanted not in keys):
        listed = ", ".join(f"{key}: {type(feature).__name__}" for key, feature in features.items())
        raise InputError(f"data set {name!r} has no one feature {wanted!r} of type {kind.__name__}; it has {listed}")
    return wanted if wanted in keys else keys[0]


def _nested(values: Mapping[Path, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        place = tree
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
    return tree


def _groups(
    features: Any, label: Path, left_out: tuple[str, ...]
) -> dict[str, tuple[Path, Callable[[tf.Tensor], tf.Tensor]]]:
    """Every class label, integer and truth value beside the class, by the last key of its path."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    found: dict[str, tuple[Path, Callable[[tf.Tensor], tf.Tensor]]] = {}
    for path, feature in _leaves(features):
        if path == label or path[0] in left_out or feature.shape != ():
            continue
        if isinstance(feature, tfds.features.ClassLabel):
            found[path[-1]] = (path, functools.partial(tf.gather, tf.constant(feature.names)))
        elif (
            isinstance(feature, tfds.features.Tensor | tfds.features.Scalar)
            and np.dtype(feature.np_dtype).kind in "biu"
        ):
            found[path[-1]] = (path, tf.identity)
    return found


def _leaves(features: Any, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    import tensorflow_datasets as tfds

    for key, feature in features.items():
        if isinstance(feature, tfds.features.FeaturesDict):
            yield from _leaves(feature, (*above, key))
        else:
            yield (*above, key), feature
