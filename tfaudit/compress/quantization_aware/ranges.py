"""Ranges of the activations of a quantization-aware model."""

import keras

from tfaudit.compress.quantization_aware.fake_quantization import FakeQuantization
from tfaudit.errors import InputError, listed
from tfaudit.runtime.keras_internals import layers_in


def is_quantization_aware(model: keras.Model) -> bool:
    """Return whether a model was made by `quantization_aware`."""
    return any(isinstance(layer, FakeQuantization) for layer in layers_in(model))


def require_ranges(model: keras.Model) -> None:
    """Raise an `InputError` unless all ranges of activations were measured."""
    layers = [layer for layer in layers_in(model) if isinstance(layer, FakeQuantization)]
    unknown = [layer.name for layer in layers if not float(layer.batches.numpy())]
    if unknown:
        got = f"{model.name!r}, whose ranges {listed(unknown, 3)} were never measured"
        raise InputError(
            "model", got, "a quantization-aware model that was trained: fit it for a step or more"
        )
