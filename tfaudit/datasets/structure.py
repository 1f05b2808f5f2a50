"""Inputs of any structure: an array, or a dictionary or tuple of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


def mapped(function: Callable[[Any], Any], inputs: Any) -> Any:
    """Return the structure with the function applied to every array.

    Example:
        >>> mapped(len, {"a": "xy", "b": ("x", "")})
        {'a': 2, 'b': (1, 0)}
    """
    if isinstance(inputs, Mapping):
        return {key: mapped(function, value) for key, value in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(mapped(function, value) for value in inputs)
    return function(inputs)


def without_lists(inputs: Any) -> Any:
    """Return a list of arrays, which Keras takes for several inputs, as a tuple; anything else as it is.

    Example:
        >>> without_lists([np.arange(2), np.arange(2)])
        (array([0, 1]), array([0, 1]))
    """
    several = isinstance(inputs, list) and inputs and all(hasattr(x, "__array__") for x in inputs)
    return tuple(inputs) if several else inputs


def joined(parts: list[Any]) -> Any:
    """Return batches of one structure as one batch: their arrays one after the other.

    Example:
        >>> joined([{"a": [1, 2]}, {"a": [3]}])
        {'a': array([1, 2, 3])}
    """
    if isinstance(parts[0], Mapping):
        return {key: joined([part[key] for part in parts]) for key in parts[0]}
    if isinstance(parts[0], tuple):
        return tuple(joined([part[i] for part in parts]) for i in range(len(parts[0])))
    return np.concatenate(parts)


def leaves(inputs: Any, name: str = "x") -> Iterator[tuple[str, Any]]:
    """Yield name and value of every array, such as `x`, `x['age']` or `x[0]`.

    Example:
        >>> dict(leaves({"a": "xy", "b": ("x", "")}))
        {"x['a']": 'xy', "x['b'][0]": 'x', "x['b'][1]": ''}
    """
    if isinstance(inputs, Mapping):
        for key, value in inputs.items():
            yield from leaves(value, f"{name}[{key!r}]")
    elif isinstance(inputs, tuple):
        for i, value in enumerate(inputs):
            yield from leaves(value, f"{name}[{i}]")
    else:
        yield name, inputs
