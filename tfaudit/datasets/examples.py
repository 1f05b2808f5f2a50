"""`Examples`: the return value of a user's data set function, and its checks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.dataset import Dataset, shape_of_images
from tfaudit.datasets.structure import joined, leaves, mapped, without_lists
from tfaudit.errors import InputError, Notice
from tfaudit.runtime.names import clean_names, clean_texts
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.stats.one_hot import without_one_hot

WEIGHTS_UNUSED = "Sample weights are for training; in tests every example counts once."
"""Note on examples for tests that have weights."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled examples of any kind: images, texts, rows of a table.

    A function `load(split)`, called with "train" and "test", returns these, `(x, y)`, `(x, y, weights)` as in `fit`, or
    a `tf.data.Dataset` of such pairs or triples, single or in batches, or other batches of them, such as a Keras
    `PyDataset`, which are read into memory. A dictionary or table in the place of the weights holds groups.

    Args:
        x: inputs of the model: an array `(N, ...)` of numbers or text, or a dictionary or tuple of such arrays.
        y: labels `(N,)`, integers 0..C-1, or one-hot `(N, C)`.
        groups: a table of N rows, or columns by name: further facts to audit by, such as region or device.
        ids: N stable names of the examples; by default their positions.
        class_names: C names; by default the numbers of the labels in the training and test set.
        preview: what people see of an example in the report and the viewer: N values, or a function of one example's
            x, each a text, a dictionary (a row of a table) or an image `(H, W, 1 or 3)` of uint8. By default texts and
            uint8 images are shown as they are, and dictionaries of single values as rows.
        cluster: `(N,)` names of clusters of examples that resemble each other, such as films, writers or patients:
            intervals are over clusters, not over single examples. A column `cluster` of `groups` means the same.
        weights: `(N,)` factors of the examples' losses in training, from 0; 1 by default. Tests do not use them.

    Example:
        >>> texts = Examples(["how kind", "never again"], [1, 0], class_names=["complaint", "praise"])
        >>> texts.checked("reviews").x
        array(['how kind', 'never again'], dtype='<U11')
    """

    x: Any
    y: Any
    groups: Any = None
    ids: Sequence[Any] | np.ndarray | None = None
    class_names: Sequence[str] | np.ndarray | None = None
    preview: Callable[[Any], Any] | Sequence[Any] | None = None
    cluster: Any = None
    weights: Any = None
    labels: np.ndarray = field(
        init=False, repr=False, default_factory=lambda: np.empty(0, np.int64)
    )

    def __repr__(self) -> str:
        """Return a summary without the values, since messages of other libraries repeat it."""
        return f"Examples({len(self.y):,} examples: .x, .y, .groups)"

    def checked(self, name: str) -> Examples:
        """Return the examples as arrays, with `labels`, int64 `(N,)`; an `InputError` calls the data set `name`."""
        x = mapped(lambda value: _array(name, value), _structure(self.x))
        arrays = dict(leaves(x))
        if not arrays:
            raise InputError("dataset", f"x without arrays from {name}", "x with an array or more")
        y = _array(name, self.y)
        sizes = {key: len(value) for key, value in {**arrays, "y": y}.items()}
        if len(set(sizes.values())) > 1:
            counted = ", ".join(f"{count} in {key}" for key, count in sizes.items())
            raise InputError("dataset", f"{counted} from {name}", "as many examples in all")
        if not len(y):
            raise InputError("dataset", f"no examples from {name}", "one example or more")
        for key, values in arrays.items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise InputError(
                    "dataset", f"NaN or infinity in {key} from {name}", "finite numbers"
                )
        if self.preview is not None and not callable(self.preview) and len(self.preview) != len(y):
            got = f"{len(self.preview)} previews from {name}"
            raise InputError(
                "dataset", got, f"{len(y)}, one per example, or a function of an example's x"
            )
        result = replace(
            self,
            x=x,
            y=y,
            groups=_groups(name, self.groups, self.cluster, len(y)),
            cluster=None,
            ids=_ids(name, self.ids, len(y)),
            weights=None if self.weights is None else _weights(name, self.weights, len(y)),
        )
        object.__setattr__(result, "labels", _labels(name, y))
        if self.class_names is not None:
            object.__setattr__(result, "class_names", clean_names(map(str, self.class_names), name))
        return result

    def dataset(self, name: str, split: str, class_names: tuple[str, ...]) -> Dataset:
        """Return checked examples as a data set in memory."""
        return Dataset(
            name,
            split,
            class_names,
            shape_of_images(self.x),
            len(self.labels),
            inputs=self.x,
            targets=self.y,
            preview=self.preview,
            known_labels=self.labels,
            known_ids=np.asarray(self.ids),
            known_groups=self.groups,
            weights=self.weights,
        )


def read_examples(returned: Any, name: str) -> Examples:
    """Return the result of a data set function as checked examples; an `InputError` calls the data set `name`."""
    if isinstance(returned, Examples):
        return returned.checked(name)
    if hasattr(returned, "element_spec"):
        returned = _in_batches(returned, name)
    if hasattr(returned, "__iter__") and not isinstance(returned, tuple | Mapping | str):
        returned = returned if hasattr(returned, "__array__") else _joined(returned, name)
    if not isinstance(returned, tuple) or len(returned) not in (2, 3):
        got = f"a {type(returned).__name__} from {name}"
        if isinstance(returned, tuple):
            got = f"a tuple of {len(returned)} from {name}"
        raise InputError(
            "dataset",
            got,
            "(x, y), (x, y, weights), a tf.data.Dataset or batches of these, or tfaudit.Examples",
        )
    x, y, *third = returned
    named = any(isinstance(part, Mapping | pd.DataFrame) for part in third)
    further = dict(zip(["groups" if named else "weights"], third, strict=False))
    return Examples(x, y, **further).checked(name)


def as_dataset(data: Any, argument: str, split: str) -> Dataset:
    """Return a `tfaudit` data set as it is, and other labelled data, read once, as one in memory.

    Args:
        data: a data set, or what `read_examples` takes. Without class names, the data set has none.
        argument: name of the argument, for errors, and of the data set.
        split: name of the split.

    Raises:
        InputError: data that cannot be used.
    """
    if isinstance(data, Dataset):
        return data
    try:
        examples = read_examples(data, argument)
    except InputError as problem:
        raise InputError(argument, problem.got, problem.expected) from None
    return examples.dataset(argument, split, tuple(examples.class_names or ()))


def tell_unused_weights(data: Dataset, argument: str) -> None:
    """Say in a `Notice` if examples for tests have weights."""
    if data.weights is not None:
        warnings.warn(Notice(f"{argument}: {WEIGHTS_UNUSED}"), stacklevel=3)


def _in_batches(stream: Any, name: str) -> Any:
    """Return a `tf.data.Dataset` of batches as it is, and one of single examples in batches."""
    spec = stream.element_spec
    if not isinstance(spec, tuple) or len(spec) not in (2, 3):
        raise InputError(
            "dataset", f"a tf.data.Dataset of other elements from {name}", "pairs (x, y) or triples"
        )
    parts = [value.shape for part in spec[:2] for _, value in leaves(part)]
    sizes = {shape[0] if shape.rank else "single" for shape in parts}
    batched = len(sizes) == 1 and "single" not in sizes and spec[1].shape.rank >= 1
    return stream if batched else stream.batch(1024)


def _joined(batches: Any, name: str) -> tuple[Any, ...]:
    """Return batches `(x, y)`, or triples, as arrays."""
    parts = []
    for batch in read_batches(batches, "dataset"):
        if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
            got = f"a batch of type {type(batch).__name__} from {name}"
            raise InputError("dataset", got, "batches (x, y)")
        parts.append(tuple(mapped(np.asarray, without_lists(part)) for part in batch))
        if not all(array.ndim for part in parts[-1] for _, array in leaves(part)):
            raise InputError("dataset", f"single examples from {name}", "batches (x, y)")
    if not parts:
        raise InputError("dataset", f"nothing from {name}", "one example or more")
    return joined(parts)  # type: ignore[no-any-return]


def _structure(x: Any) -> Any:
    """Return a table as a dictionary of its columns; a list of arrays as a tuple."""
    if isinstance(x, pd.DataFrame):
        return {str(name): x[name].to_numpy() for name in x}
    return without_lists(x)


def _array(name: str, values: Any) -> np.ndarray:
    """Return numbers, booleans or text as an array; bytes, TensorFlow's text, are decoded."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            texts = [
                value.decode() if isinstance(value, bytes) else value
                for value in array.ravel().tolist()
            ]
            if all(isinstance(text, str) for text in texts):
                array = np.array(texts, dtype=np.str_).reshape(array.shape)
        elif array.dtype.kind == "S":
            array = np.char.decode(array, "utf-8")
    except (ValueError, TypeError, UnicodeDecodeError):
        array = np.empty(0, object)
    if array.dtype.kind not in "fiubU" and array.dtype.name != "bfloat16":
        raise InputError(
            "dataset",
            f"values that form no array of numbers or text from {name}",
            "arrays of equal rows",
        )
    if not array.ndim:
        raise InputError("dataset", f"a single value from {name}", "an array (N, ...)")
    return array


def _labels(name: str, y: np.ndarray) -> np.ndarray:
    """Return labels as int64 `(N,)`, from integers, whole floats, booleans or one-hot rows."""
    y = without_one_hot(y)
    if y.dtype.kind == "U":
        raise InputError(
            "dataset", f"labels of text from {name}", "integers 0..C-1, and class_names of C texts"
        )
    whole = y.dtype.kind in "iub" or bool(np.isfinite(y).all() and (y == np.round(y)).all())
    if y.ndim != 1 or not whole:
        got = f"{'several labels per example' if y.ndim > 1 else 'fractions as labels'}, shape {y.shape}, from {name}"
        raise InputError("dataset", got, "integers 0..C-1 (N,), or one-hot rows (N, C)")
    labels = y.astype(np.int64)
    if labels.min() < 0:
        raise InputError(
            "dataset",
            f"labels from {labels.min()} to {labels.max()} from {name}",
            "integers 0..C-1",
        )
    return labels


def _weights(name: str, weights: Any, examples: int) -> np.ndarray:
    """Return weights as float32 `(N,)`."""
    values = _array(name, weights)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    expected = (
        f"sample weights ({examples},), numbers from 0; groups have names, {{'region': values}}"
    )
    if values.dtype.kind == "U" or values.shape != (examples,):
        kind = "text" if values.dtype.kind == "U" else f"shape {values.shape}"
        raise InputError("dataset", f"{kind} as weights from {name}", expected)
    floats = values.astype(np.float32)
    if not (np.isfinite(floats).all() and floats.min() >= 0 < floats.max()):
        got = f"weights from {floats.min():g} to {floats.max():g} from {name}"
        raise InputError("dataset", got, expected)
    return floats


def _groups(name: str, groups: Any, cluster: Any, examples: int) -> dict[str, np.ndarray]:
    columns = {} if groups is None else groups
    if not isinstance(columns, pd.DataFrame | Mapping):
        got = f"groups without names from {name}"
        raise InputError("dataset", got, "groups={'region': values}, or weights=values")
    arrays = {str(key): _array(name, columns[key]) for key in columns if columns[key] is not None}
    if cluster is not None:
        if CLUSTER in arrays:
            expected = f"`cluster` or a column {CLUSTER!r} of groups"
            raise InputError("dataset", f"two clusters per example from {name}", expected)
        arrays[CLUSTER] = _array(name, cluster)
    for key, values in arrays.items():
        if values.shape != (examples,):
            got = f"{values.shape} values in group {key!r} from {name}"
            raise InputError("dataset", got, f"{examples}, one per example")
    headings = clean_names(arrays, name)
    return {
        key: clean_texts(values, name)
        for key, values in zip(headings, arrays.values(), strict=True)
    }


def _ids(name: str, ids: Sequence[Any] | np.ndarray | None, examples: int) -> np.ndarray:
    if ids is None:
        return np.arange(examples).astype(str)
    texts = _array(name, ids).astype(str)
    if texts.shape != (examples,) or len(set(texts.tolist())) < examples:
        got = f"{len(texts)} ids, {len(set(texts.ravel().tolist()))} of them different, from {name}"
        raise InputError("dataset", got, f"{examples} different ones, one per example")
    return clean_texts(texts, name)
