"""Inputs of models: one or several arrays in batches, with checked shapes and the types that the model takes."""

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.structure import leaves, mapped, without_lists
from tfaudit.errors import InputError, listed, require, require_whole

OPEN_SIDE = 64
"""Number of pixels, tokens or the like that stands for an open side of a model's input."""

Inputs: TypeAlias = Any
"""An array `(N, ...)`, a dictionary of arrays by input name, or a tuple of arrays in the order of the inputs."""

_NUMBERED = re.compile(r"input_(\d+)_of_(\d+)_")


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of a model: its name, shape without the batch (None for an open side), and type.

    Text has the type object. Without a type, as in a subclassed model, values keep their types, as in Keras.
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


def as_inputs(values: Inputs, inputs: Sequence[Input], *, ordered: bool = True) -> list[np.ndarray]:
    """Return the arrays in the order of a model's inputs, checked and converted to its types; all have the same length.

    Args:
        values: arrays by name, or a tuple or list of them.
        inputs: the model's inputs.
        ordered: whether the order of `inputs` is that in which the model's author gave them. A tuple for any other
            order is taken only if shapes and types leave no choice.

    Example:
        >>> tokens, age = Input("tokens", (3,), np.dtype("int32")), Input("age", (1,), np.dtype("float32"))
        >>> values = {"age": np.ones((2, 1)), "tokens": np.ones((2, 3), int)}
        >>> [array.dtype.name for array in as_inputs(values, [tokens, age])]
        ['int32', 'float32']

    Raises:
        InputError: an input is missing, the order of a tuple is unknown, or `as_input` refuses an array.
    """
    several = len(inputs) > 1
    arrays = _in_order(without_lists(values) if several else values, inputs, ordered)
    names = _shown_names(inputs)
    checked = [
        as_input(_array(array), source, name if several else "")
        for array, source, name in zip(arrays, inputs, names, strict=True)
    ]
    if len({len(array) for array in checked}) > 1:
        counts = zip(names, checked, strict=True)
        got = ", ".join(f"{len(array)} of {name!r}" for name, array in counts)
        raise InputError("images", got, "the same number of each")
    return checked


def _in_order(values: Inputs, inputs: Sequence[Input], ordered: bool) -> list[Any]:
    """Return the values of the inputs; raise an `InputError` for a missing one."""
    names = listed(_shown_names(inputs), 9)
    if isinstance(values, Mapping):
        return _by_name(values, inputs)
    if isinstance(values, tuple):
        if len(values) != len(inputs):
            raise InputError("images", f"{len(values)} inputs", f"{len(inputs)}: {names}")
        return list(values) if ordered or len(inputs) == 1 else _in_only_order(values, inputs)
    if len(inputs) > 1:
        expected = f"a dictionary, or a tuple, of the inputs {names}"
        raise InputError("images", "one array", expected)
    return [values]


def _shown_names(inputs: Sequence[Input]) -> list[str]:
    """Return the names of inputs for people, without places."""
    names = [source.name for source in inputs]
    return names if places(names) is None else plain_names(names)


def _by_name(values: Mapping[str, Any], inputs: Sequence[Input]) -> list[Any]:
    """Return the values of the inputs by names as they are or, where they stay distinct, by plain names."""
    given, names = [*map(str, values)], [source.name for source in inputs]
    for known, wanted in ((given, names), (plain_names(given), plain_names(names))):
        if len({*known}) == len(known) and len({*wanted}) == len(wanted) and {*wanted} <= {*known}:
            by_name = dict(zip(known, values.values(), strict=True))
            return [by_name[name] for name in wanted]
    if len(names) == len(values) == 1:
        return list(values.values())
    expected = f"inputs {listed(_shown_names(inputs), 9)}"
    raise InputError("images", f"inputs {listed(given)}", expected)


def _in_only_order(values: Sequence[Any], inputs: Sequence[Input]) -> list[Any]:
    """Return arrays in the only order in which a model takes them; raise an `InputError` if there are more or none."""
    heads = [_array(value)[:1] for value in values]

    def fits(head: np.ndarray, source: Input) -> bool:
        with contextlib.suppress(InputError):
            as_input(head, source)
            return True
        return False

    def orders(left: Sequence[int]) -> Iterator[list[int]]:
        if not left:
            yield []
            return
        source = inputs[len(values) - len(left)]
        for place in left:
            if fits(heads[place], source):
                rest = [other for other in left if other != place]
                yield from ([place, *further] for further in orders(rest))

    found = [*itertools.islice(orders(range(len(values))), 2)]
    if len(found) != 1:
        got = "a tuple for a model that does not tell the order of its inputs"
        expected = f"a dictionary of the inputs {listed(_shown_names(inputs), 9)}"
        raise InputError("images", got, expected)
    return [values[place] for place in found[0]]


def as_input(images: np.ndarray, source: Input, name: str = "") -> np.ndarray:
    """Return values in the type of a model's input, C-contiguous.

    uint8 pixels become floats of the same value; floats never become integers. An input without a type takes integers
    and text as they are. A last side of 1 may be left out: `(N,)` for `(N, 1)`. `name` is the name of the input in
    errors.

    Raises:
        InputError: the shape does not fit, or the conversion would change values.
    """
    argument = f"images, {name}" if name else "images"
    shape = source.shape
    dtype = source.dtype
    if images.ndim == len(shape) >= 1 and shape[-1] == 1:  # as in Keras
        images = images[..., None]
    _check_shape(argument, images.shape, shape)
    text = images.dtype.kind in "OSU"
    if dtype is None:
        pixels = images.dtype == np.uint8 and images.ndim > 2
        floats = images.dtype.kind == "f" or images.dtype.name == "bfloat16" or pixels
        kept = object if text else None
        return np.ascontiguousarray(images, np.float32 if floats else kept)
    if text != (dtype.kind == "O") or not (text or np.can_cast(images.dtype, dtype, "same_kind")):
        wanted = "text" if dtype.kind == "O" else str(dtype)
        raise InputError(argument, f"type {images.dtype}", f"{wanted}, as the model takes them")
    converted = np.ascontiguousarray(images, dtype)
    if dtype.kind in "iu" and not holds(dtype, images):
        got = f"numbers from {images.min()} to {images.max()}"
        raise InputError(argument, got, f"numbers that {dtype} holds, as the model takes them")
    return converted


def holds(dtype: Any, values: np.ndarray) -> bool:
    """Return whether a type holds all of some integers exactly.

    Example:
        >>> holds("float32", np.array([2**24, 7])), holds("float32", np.array([2**24 + 1]))
        (True, False)
    """
    if np.can_cast(values.dtype, dtype):
        return True
    with np.errstate(invalid="ignore"):
        return np.array_equal(values.astype(dtype).astype(values.dtype), values)


def _check_shape(argument: str, got: tuple[int, ...], expected: tuple[int | None, ...]) -> None:
    """Raise an `InputError` unless a batch has the sides that a model takes; None stands for any."""
    sides = zip(expected, got[1:], strict=False)
    if len(got) != len(expected) + 1 or any(side not in (None, size) for side, size in sides):
        want = ", ".join("any" if side is None else str(side) for side in expected)
        raise InputError(argument, f"shape {got}", f"(N, {want}), as the model takes them")


def file_names(names: Sequence[str], *, ordered: bool) -> list[str]:
    """Return the names of inputs in a file that is made, as identifiers, which tell the order that files lose.

    Args:
        names: names of the model's inputs.
        ordered: whether the model takes them in this order, not by name in a dictionary.

    Example:
        >>> file_names(["query", "long-text"], ordered=True), file_names(["query", "long-text"], ordered=False)
        (['input_1_of_2_query', 'input_2_of_2_long_text'], ['query', 'long_text'])
    """
    if len(names) == 1:
        return ["images"]
    plain = plain_names(names)
    if not ordered and len(set(plain)) == len(plain):
        return plain
    return [f"input_{place}_of_{len(plain)}_{name}" for place, name in enumerate(plain, 1)]


def places(names: Sequence[str]) -> list[int] | None:
    """Return the places that `file_names` wrote into names; None for any other names.

    Example:
        >>> places(["input_2_of_2_a", "input_1_of_2_b"]), places(["input_1", "input_2"])
        ([2, 1], None)
    """
    found = [_NUMBERED.match(name) for name in names]
    numbers = [int(match[1]) for match in found if match and int(match[2]) == len(names)]
    return numbers if sorted(numbers) == [*range(1, len(names) + 1)] else None


def plain_names(names: Sequence[str]) -> list[str]:
    """Return names of inputs as identifiers, without places that `file_names` wrote into all of them.

    Example:
        >>> plain_names(["token-ids", "input_1"]), plain_names(file_names(["a", "b"], ordered=True))
        (['token_ids', 'input_1'], ['a', 'b'])
    """
    numbered = places(names) is not None
    plain = [_NUMBERED.sub("", name) for name in names] if numbered else names
    return [re.sub(r"\W", "_", name) for name in plain]


def by_names_of(values: Inputs, baseline: Any, model: Any) -> Inputs:
    """Return a tuple in the order of a baseline's inputs by their names, if a model has one of them; else the values.

    The order of another model, or of its file, may differ.

    Args:
        values: inputs in any form.
        baseline: inference of the baseline, with `inputs` and `ordered`.
        model: inference of the model that takes the values.
    """
    sources = baseline.inputs
    if not isinstance(values, tuple) or not baseline.ordered or len(values) != len(sources):
        return values
    names = plain_names([source.name for source in sources])
    shared = {*names} & {*plain_names([source.name for source in model.inputs])}
    return dict(zip(names, values, strict=True)) if shared else values


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
    require_whole("batch_size", batch_size, 1)
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
