"""Temporary replacement of the calls of a model's layers."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras


@contextlib.contextmanager
def replaced_calls(
    layers: Iterable[keras.Layer],
    replacement: Callable[[Any, Callable[..., Any]], Callable[..., Any]],
) -> Iterator[None]:
    """Replace calls of layers by `replacement(layer, call)` within a context; `call` is the layer's own method.

    >>> layer = keras.layers.Identity()
    >>> with replaced_calls([layer], lambda layer, call: lambda inputs: -call(inputs)):
    ...     float(layer(keras.ops.ones(())))
    -1.0
    >>> float(layer(keras.ops.ones(())))
    1.0
    """
    before = [(layer, vars(layer).get("call")) for layer in layers]
    for layer, _ in before:
        layer.call = replacement(layer, layer.call)
    try:
        yield
    finally:
        for layer, own in before:
            del layer.call
            if own is not None:
                layer.call = own
