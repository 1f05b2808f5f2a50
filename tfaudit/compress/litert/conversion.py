"""Conversion of Keras models to float32 flatbuffers: by TensorFlow Lite, or on JAX by way of StableHLO."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tfaudit.compress.model_files import open_model
from tfaudit.compress.model_inputs import Inputs
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import keras


def as_flatbuffer(model: keras.Model | bytes | str | Path, images: Inputs | None = None) -> bytes:
    """Return a flatbuffer itself, or the float32 flatbuffer of a Keras model, which is compared with Keras.

    If Keras runs on JAX, a model is converted without TensorFlow, by way of StableHLO (extra `jax`); otherwise by
    TensorFlow Lite, as `quantize` does.

    Args:
        model: a built Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file, which is
            loaded with TensorFlow.
        images: inputs on which both are compared; by default seeded pixels or tokens. On JAX they are always drawn.

    Raises:
        InputError: the model cannot be converted or used, or a library that converts it is not installed.
        ConversionError: TensorFlow Lite cannot convert the model.

    >>> import keras
    >>> as_flatbuffer(keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]))[4:8]
    b'TFL3'
    """
    if not isinstance(model, bytes | bytearray | memoryview | str | Path) and _on_jax():
        from tfaudit.compress.litert.stablehlo import stablehlo_flatbuffer

        return stablehlo_flatbuffer(model)
    opened = open_model(model)
    if isinstance(opened, bytes):
        return opened
    from tfaudit.compress.keras_model import KerasForward
    from tfaudit.compress.litert.quantize import CHECK_IMAGES, quantize

    if images is None and not getattr(opened, "inputs", None):  # whose types matter little here
        forward = KerasForward.of_first_output(opened)
        drawn = forward.drawn(forward.batch or CHECK_IMAGES)
        images = dict(zip([source.name for source in forward.inputs], drawn, strict=True))
    try:
        return quantize(opened, "float32", representative=images)
    except InputError as error:
        if error.argument == "representative":
            raise InputError("images", error.got, error.expected) from None
        raise


def _on_jax() -> bool:
    import keras

    return bool(keras.backend.backend() == "jax")
