"""Layers that TensorFlow Lite cannot convert, to integers or at all, told before a conversion fails."""

from typing import Any

import keras

from tfaudit.compress.litert.conversion_error import (
    IN_FLOAT32,
    UNLIKE_FLOAT32,
    ConversionError,
    named,
)
from tfaudit.compress.pruning.kernels import EMBEDDINGS, KERNELS
from tfaudit.errors import InputError, listed
from tfaudit.runtime.keras_internals import layers_in
from tfaudit.study.quantization import KINDS

_WRONG_IN_16_BITS = (
    keras.layers.Embedding,  # tokens cannot be calibrated
    keras.layers.LayerNormalization,  # has no kernel
    keras.layers.UnitNormalization,  # runs, and gives other scores
)
"""Layers that TensorFlow Lite cannot convert to int16x8, or LiteRT not run correctly.

It writes operators that have no kernel for 16 bits (https://github.com/google-ai-edge/LiteRT/issues/4383).
"""

_LOOKUPS = (
    keras.layers.TextVectorization,
    keras.layers.StringLookup,
    keras.layers.IntegerLookup,
    keras.layers.Hashing,
    keras.layers.HashedCrossing,
)
"""Layers that TensorFlow Lite has no operators for."""


def check_layers(model: keras.Model, kind: str) -> None:
    """Raise an `InputError` for layers that cannot be converted, some of them to integers only."""
    layers = layers_in(model)
    for layer in layers:
        _check_layer(layer)
    rnns = [layer for layer in layers if isinstance(layer, keras.layers.RNN)]
    loops = [layer.name for layer in rnns if not layer.unroll]
    if loops and KINDS[kind].calibrated:  # https://github.com/tensorflow/tensorflow/issues/101050
        got = f"the recurrent layers {listed(loops)} for kind {kind!r}, on which TensorFlow Lite crashes"
        raise InputError("model", got, "unroll=True in these layers, or kind 'dynamic_range'")
    found = [layer.name for layer in layers if isinstance(layer, _WRONG_IN_16_BITS)]
    if found and kind == "int16x8":
        got = f"the embeddings or normalisations {listed(found)} for kind {kind!r}, which LiteRT cannot run"
        raise InputError("model", got, "kind 'int8' or 'dynamic_range'")


def _check_layer(layer: Any) -> None:
    """Raise an `InputError` for a layer of a class, mode or type that TensorFlow Lite cannot convert."""
    counts = isinstance(layer, keras.layers.CategoryEncoding) and layer.output_mode != "one_hot"
    if counts or isinstance(layer, _LOOKUPS):
        got = f"the layer {named(layer)}, which TensorFlow Lite cannot convert"
        expected = "a model that starts behind it, with its results as inputs"
        raise ConversionError("model", got, expected)
    if isinstance(layer, keras.Model):  # its layers follow
        return
    for weight in layer.variables:
        if weight.name in (*KERNELS, EMBEDDINGS) and weight.dtype in UNLIKE_FLOAT32:
            raise ConversionError(
                "model", f"the layer {named(layer)} in {weight.dtype}", IN_FLOAT32
            )
