"""Inputs of models: one or several arrays in batches, with checked shapes and the types that the model takes."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.structure import leaves, mapped, without_lists
from tfaudit.errors import InputError, listed, require, require_least

OPEN_SIDE = 64
"""Number of pixels, tokens or the like that stands for an open side of a model's input."""

Inputs: TypeAlias = Any
"""An array `(N, ...)`, a dictionary of arrays by input name, or a tuple of arrays in the order of the inputs."""


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of a model: its name, shape without the batch (None for an open side), and type.

    Text has the type object. Without a type, as in a subclassed model with several inputs, values keep their types.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype | None

    @property
    def example_shape(self) -> tuple[int, ...]:
        """The shape, with `OPEN_SIDE` for an open side."""
        return tuple(side or OPEN_SIDE for side in self.shape)

    def drawn(self, draws: np.random.Generator, count: int, *, levels: int = 256) -> np.ndarray:
        """Return random values `(count, ...)`: floats in [0, 1), integers below `levels`, or empty text."""
        shape = (count, *self.example_shape)
        kind = "f" if self.dtype is None else self.dtype.kind
        if kind == "O":
            return np.full(shape, "", object)
        values = draws.random(shape)
        return (
            values if kind == "f" else values * min(levels, 2 if kind == "b" else levels)
        ).astype(self.dtype)


def as_inputs(values: Inputs, inputs: Sequence[Input]) -> list[np.ndarray]:
    """Return the arrays in the order of a model's inputs, checked and converted to its types; all have the same length.

    Example:
        >>> tokens, age = Input("tokens", (3,), np.dtype("int32")), Input("age", (1,), np.dtype("float32"))
        >>> values = {"age": np.ones((2, 1)), "tokens": np.ones((2, 3), int)}
        >>> [array.dtype.name for array in as_inputs(values, [tokens, age])]
        ['int32', 'float32']

    Raises:
        InputError: an input is missing, or `as_input` refuses it.
    """
    names = [source.name for source in inputs]
    checked = [
        as_input(_array(array), source, source.name if len(inputs) > 1 else "")
        for array, source in zip(_in_order(values, names), inputs, strict=True)
    ]
    if len({len(array) for array in checked}) > 1:
        counts = zip(names, checked, strict=True)
        got = ", ".join(f"{len(array)} of {name!r}" for name, array in counts)
        raise InputError("images", got, "the same number of each")
    return checked


def _in_order(values: Inputs, names: Sequence[str]) -> list[Any]:
    """Return the values of the named inputs; raise an `InputError` for a missing one."""
    if isinstance(values, Mapping):
        by_name = {plain_name(name): array for name, array in values.items()}
        wanted = [plain_name(name) for name in names]
        if by_name.keys() >= set(wanted):
            return [by_name[name] for name in wanted]
        if len(names) == len(values) == 1:
            return list(values.values())
        raise InputError("images", f"inputs {listed(list(values))}", f"inputs {listed(names, 9)}")
    if isinstance(values, tuple):
        if len(values) != len(names):
            raise InputError("images", f"{len(values)} inputs", f"{len(names)}: {listed(names, 9)}")
        return list(values)
    if len(names) > 1:
        expected = f"a dictionary, or a tuple, of the inputs {listed(names, 9)}"
        raise InputError("images", "one array", expected)
    return [values]


def as_input(images: np.ndarray, source: Input, name: str = "") -> np.ndarray:
    """Return values in the type of a model's input, C-contiguous.

    uint8 pixels become floats of the same value; floats never become integers. A last side of 1 may be left out: `(N,)`
    for `(N, 1)`. `name` is the name of the input in errors.

    Raises:
        InputError: the shape does not fit, or the conversion would change values.
    """
    argument = f"images, {name}" if name else "images"
    shape = source.shape
    dtype = source.dtype
    if images.ndim == len(shape) >= 1 and shape[-1] == 1:  # as in Keras
        images = images[..., None]
    _check_shape(argument, images.shape, shape)
    if dtype is None:
        floats = images.dtype.kind == "f" or images.dtype == np.uint8
        return np.ascontiguousarray(images, np.float32 if floats else None)
    text = images.dtype.kind in "OSU"
    if text != (dtype.kind == "O") or not (text or np.can_cast(images.dtype, dtype, "same_kind")):
        wanted = "text" if dtype.kind == "O" else str(dtype)
        raise InputError(argument, f"type {images.dtype}", f"{wanted}, as the model takes them")
    return np.ascontiguousarray(images, dtype)


def _check_shape(argument: str, got: tuple[int, ...], expected: tuple[int | None, ...]) -> None:
    """Raise an `InputError` unless a batch has the sides that a model takes; None stands for any."""
    sides = zip(expected, got[1:], strict=False)
    if len(got) != len(expected) + 1 or any(side not in (None, size) for side, size in sides):
        want = ", ".join("any" if side is None else str(side) for side in expected)
        raise InputError(argument, f"shape {got}", f"(N, {want}), as the model takes them")


def plain_name(name: str) -> str:
    """Return an input's name as identifier: other characters become `_`, and a position in front is removed.

    Example:
        >>> plain_name("token-ids"), plain_name("input_1_token_ids")
        ('token_ids', 'token_ids')
    """
    name = re.sub(r"\W", "_", name)
    return re.sub(r"^input_\d+_(?=.)", "", name)


def no_such_output(model: str, output: str | None, names: Iterable[str]) -> InputError:
    """Return the error for an output that is not named or does not exist."""
    got = f"none for {model}, which has several" if output is None else f"{output!r} for {model}"
    return InputError("output", got, f"one of {listed(list(names), 9)}")


def arrays_of(values: Inputs) -> list[Any]:
    """Return the arrays in a structure of inputs."""
    return [array for _, array in leaves(values)]


def length_of(values: Inputs) -> int:
    """Return the number of examples; raise an `InputError` for arrays of different lengths or an empty structure."""
    lengths = sorted({len(array) for array in arrays_of(values)})
    require(len(lengths) == 1, "images", lengths, "inputs of one length")
    return lengths[0]


def input_batches(
    images: Any, batch_size: int, inputs: int = 1, most: int | None = None
) -> Iterator[Inputs]:
    """Yield inputs batch by batch, each an array, a dictionary or a tuple of arrays.

    Args:
        images: an array `(N, ...)`, or a dictionary or tuple of such arrays, cut into batches of `batch_size`; an
            object with `batches(batch_size)`, such as a `tfaudit` data set; or batches in any form that `read_batches`
            takes, such as a `tf.data.Dataset`, a `PyDataset` or a list, each the inputs alone, or a tuple or list that
            starts with them. These keep their own sizes.
        batch_size: examples per batch, at least 1.
        inputs: number of the model's inputs; for several, a list of arrays is a tuple.
        most: number of batches to read of data that are batches already, which then need no end; by default all.

    Raises:
        InputError: the images have none of these forms.

    Example:
        >>> [batch.tolist() for batch in input_batches(np.arange(3), 2)]
        [[0, 1], [2]]
        >>> [batch.tolist() for batch in input_batches([(np.arange(3), "labels")], 2)]
        [[0, 1, 2]]
    """
    require_least(1, batch_size=batch_size)
    if inputs > 1:
        images = without_lists(images)
    if hasattr(images, "__array__") or isinstance(images, Mapping | tuple):
        arrays = mapped(_array, images)
        for start in range(0, length_of(arrays), batch_size):
            yield mapped(lambda array, start=start: array[start : start + batch_size], arrays)  # type: ignore[misc]
        return
    batches = images.batches(batch_size) if hasattr(images, "batches") else images
    for batch in read_batches(batches, "images", most):
        first = batch[0] if isinstance(batch, tuple | list) and batch else batch
        yield mapped(_array, without_lists(first))


def _array(batch: Any) -> np.ndarray:
    if not hasattr(batch, "__array__"):
        raise InputError(
            "images",
            f"a batch of type {type(batch).__name__}",
            "arrays and tuples that start with one",
        )
    array = np.asarray(batch)
    if array.dtype.kind not in "fiubOSU" and array.dtype.name != "bfloat16":
        raise InputError("images", f"values of type {array.dtype}", "integers, floats and text")
    if not array.ndim:
        raise InputError("images", f"shape {array.shape}", "(N, ...)")
    return array
