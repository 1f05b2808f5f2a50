"""Models that bring the ranges of their activations, as quantization-aware training measures them."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras

from tfaudit.errors import InputError, listed
from tfaudit.runtime.keras_internals import layers_in

_EXPORTING = contextvars.ContextVar("exporting", default=False)
"""Whether this thread traces a model for the converter, which quantizes weights itself."""


class RangeLayer(keras.layers.Layer):
    """Layer that holds a range of activations, and rounds to it where a model is traced for the converter.

    Attributes:
        batches: variable with the number of batches on which the range was measured.
    """

    batches: Any


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """Trace quantization-aware models in the form that the converter expects: activation ranges, float weights."""
    token = _EXPORTING.set(True)
    try:
        yield
    finally:
        _EXPORTING.reset(token)


def is_exporting() -> bool:
    """Return whether this thread is inside `exporting`."""
    return _EXPORTING.get()


def is_quantization_aware(model: keras.Model) -> bool:
    """Return whether a model was made by `quantization_aware`."""
    return any(isinstance(layer, RangeLayer) for layer in layers_in(model))


def require_ranges(model: keras.Model) -> None:
    """Raise an `InputError` unless all ranges of activations were measured."""
    layers = [layer for layer in layers_in(model) if isinstance(layer, RangeLayer)]
    unknown = [layer.name for layer in layers if not float(layer.batches.numpy())]
    if unknown:
        got = f"{model.name!r}, whose ranges {listed(unknown, 3)} were never measured"
        raise InputError(
            "model", got, "a quantization-aware model that was trained: fit it for a step or more"
        )
