"""Models from any source: the model itself, the bytes of a flatbuffer, or the path of a model file."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.keras_archive import check_archive
from tfaudit.errors import InputError, one_line
from tfaudit.extensions import declared, load
from tfaudit.runtime.captured_output import start_tensorflow
from tfaudit.study.model_source import conversion

if TYPE_CHECKING:
    import keras

SUFFIXES = (".keras", ".tflite")
"""Suffixes of model files."""


def open_model(
    model: keras.Model | bytes | str | Path, signature: str | None = None
) -> keras.Model | bytes:
    """Return a flatbuffer as bytes, with one signature, or a checked Keras model. A flatbuffer needs no TensorFlow.

    Args:
        model: a Keras 3 model, the bytes of a flatbuffer, or the path of either.
        signature: name of the signature of a flatbuffer that has several.

    Raises:
        InputError: the model is neither of these, nor the path of a readable `.keras` or `.tflite` file; or the
            flatbuffer has no such signature, or several of which none is named and that may be meant.

    >>> open_model("model.h5")
    Traceback (most recent call last):
    tfaudit.errors.InputError: model: got 'model.h5', expected a .keras or .tflite file:
    keras.models.load_model("model.h5").save("model.keras")
    """
    opened: Any = model
    if isinstance(model, str | Path):
        opened = read_model(Path(model), signature)
    elif isinstance(model, bytes | bytearray | memoryview):
        opened = _with_signature(bytes(model), signature)
    if isinstance(opened, bytes):
        return opened
    from tfaudit.compress.keras_model import check_model

    return check_model(opened)


def read_model(path: Path, signature: str | None = None) -> keras.Model | bytes:
    """Return the bytes of a `.tflite` file with one signature, or the model in a `.keras` file, as `load_keras`."""
    if path.suffix == ".keras":
        return load_keras(path)
    require_model_file(path)
    return _with_signature(path.read_bytes(), signature)


def _with_signature(content: bytes, signature: str | None) -> bytes:
    from tfaudit.compress.litert.signatures import with_signature

    return with_signature(content, signature)


def load_keras(path: Path) -> keras.Model:
    """Return the Keras model in a `.keras` file, not compiled; raise an `InputError` if there is none."""
    require_model_file(path, ".keras")
    start_tensorflow()
    import keras

    for _, place in declared("layers").values():
        load(place)  # registers it
    check_archive(path)
    try:
        return keras.saving.load_model(path, compile=False)
    except Exception as error:  # Keras passes on exceptions of its layers, h5py, zipfile and json.
        if unknown := re.search(r"Could not locate (class|function) '([^']+)'", str(error)):
            got = f"{path}, whose {unknown[1]} {unknown[2]!r} is not registered"
            expected = "the module that registers it as keras.saving does: --import MODULE, or import it before"
            raise InputError("model", got, expected) from error
        raise InputError(
            "model", f"{path}, which Keras cannot load ({one_line(error)})", "a Keras 3 model"
        ) from error


@contextlib.contextmanager
def errors_naming(model: str | Path) -> Iterator[None]:
    """Name a model, or its file, in errors about it or its inputs; a file that an error names is not named again."""
    try:
        yield
    except InputError as error:
        known = error.argument.partition(",")[0] in (
            "model",
            "images",
            "scores",
            "output",
            "signature",
        )
        if not known or (isinstance(model, Path) and str(model) in str(error)):
            raise
        raise InputError(f"{model}: {error.argument}", error.got, error.expected) from None


def require_model_file(path: Path, *suffixes: str) -> None:
    """Raise an `InputError` unless a file has one of some suffixes, by default `SUFFIXES`; it is not opened."""
    if path.suffix not in (suffixes or SUFFIXES):
        expected = f"a {' or '.join(suffixes or SUFFIXES)} file"
        raise InputError("model", repr(str(path)), conversion(path, expected))
    if not path.is_file():
        state = "is no file" if path.exists() else "does not exist"
        raise InputError("model", f"{path}, which {state}", "an existing file")


def require_keras_file(path: Path) -> None:
    """Raise an `InputError` unless a file is one of Keras 3 by its name, which alone can be compressed."""
    if path.suffix == ".tflite":
        expected = "a .keras file: a flatbuffer cannot be compressed further"
        raise InputError("model", repr(str(path)), expected)
    require_model_file(path, ".keras")
