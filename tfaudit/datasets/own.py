"""Data sets of the user's own: the training and the test set that a function returns."""

from __future__ import annotations

from collections.abc import Mapping

from tfaudit.datasets.dataset import Dataset, Splits
from tfaudit.datasets.examples import Examples, read_examples
from tfaudit.datasets.structure import leaves
from tfaudit.errors import InputError
from tfaudit.runtime.captured_output import start_tensorflow
from tfaudit.runtime.user_functions import call, check_call, import_reference

SPLITS = ("train", "test")


def load_own(reference: str) -> Splits:
    """Return the training and the test set from a function `load(split)`; the two must agree.

    Args:
        reference: reference of the function, as in `tfaudit.runtime.user_functions`.

    Raises:
        InputError: the function cannot be imported or called, fails, or returns no labelled examples as
            `tfaudit.Examples` describes them.
    """
    start_tensorflow()  # the user's file imports it too, less quietly
    load = import_reference("dataset", reference)
    check_call("dataset", reference, load, "load(split)", "train")
    own = [
        read_examples(call("dataset", reference, load, split), _name(reference, split))
        for split in SPLITS
    ]
    train, test = own
    if (mine := _kinds(train)) != (others := _kinds(test)):
        different = next(key for key in {**mine, **others} if mine.get(key) != others.get(key))
        got = f"{different} {others.get(different, 'missing')} from {_name(reference, 'test')}"
        raise InputError("dataset", got, f"{mine.get(different, 'none')}, as for 'train'")
    names = _class_names(reference, train, test)
    return _dataset(reference, "train", train, names), _dataset(reference, "test", test, names)


def _dataset(reference: str, split: str, own: Examples, names: tuple[str, ...]) -> Dataset:
    if own.labels.max() >= len(names):
        got = f"labels from {own.labels.min()} to {own.labels.max()} from {_name(reference, split)}"
        raise InputError(
            "dataset", got, f"0 to {len(names) - 1}, the positions of {len(names)} class names"
        )
    return own.dataset(reference, split, names)


def _kinds(own: Examples) -> Mapping[str, str]:
    """Return the properties that the two splits must share, such as shape and type of every array."""
    kinds = {
        name: f"{values.shape[1:]} of {'text' if values.dtype.kind == 'U' else values.dtype}"
        for name, values in leaves(own.x)
    }
    kinds["y"] = str(own.y.shape[1:])
    kinds["groups"] = ", ".join(sorted(own.groups)) or "none"
    kinds["class_names"] = ", ".join(own.class_names or ()) or "none"
    return kinds


def _class_names(reference: str, train: Examples, test: Examples) -> tuple[str, ...]:
    one_hot = train.y.ndim == 2 and train.y.shape[1] > 1
    count = train.y.shape[1] if one_hot else max(train.labels.max(), test.labels.max()) + 1
    names = tuple(map(str, range(count)) if train.class_names is None else train.class_names)
    if len(names) < 2 or len(set(names)) < len(names):
        got = f"{len(set(names))} classes from {reference!r}"
        raise InputError("dataset", got, "2 or more classes with different names")
    missing = sorted({*range(count)} - {*train.labels.tolist()})
    if missing and train.class_names is None:
        got = f"labels up to {count - 1}, but no {missing[0]}, from {_name(reference, 'train')}"
        expected = "integers 0..C-1 that all occur in the training set, or class_names"
        raise InputError("dataset", got, expected)
    return names


def _name(reference: str, split: str) -> str:
    return f"{reference.rpartition('/')[2]}({split!r})"
