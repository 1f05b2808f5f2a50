"""A model from whatever holds it: the model itself, the bytes of a flatbuffer, or the path of either."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.errors import InputError

if TYPE_CHECKING:
    import keras

__all__ = ["open_model"]


def open_model(model: Any) -> keras.Model | bytes:
    """The flatbuffer as bytes, or else the Keras model, checked; reading a `.tflite` file imports no TensorFlow.

    Args:
        model: A Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file.

    Raises:
        InputError: None of these, or a file that is not there or cannot be read.

    Example:
        >>> open_model("model.h5")
        Traceback (most recent call last):
        tfaudit.errors.InputError: model: got path model.h5, expected .keras and .tflite files
    """
    if isinstance(model, bytes | bytearray | memoryview):
        return bytes(model)
    if isinstance(model, str | Path):
        path = Path(model)
        if path.suffix not in (".keras", ".tflite"):
            raise InputError("model", f"path {path}", ".keras and .tflite files")
        if not path.is_file():
            raise InputError(f"model: there is no file {path}")
        if path.suffix == ".tflite":
            return path.read_bytes()
    from tfaudit.compress.keras_model import check_model, load_model

    return check_model(load_model(path) if isinstance(model, str | Path) else model)
