"""Quantization for Keras on JAX or torch: a process that runs Keras on TensorFlow reads the model from a file."""

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from tfaudit.compress.keras_model import check_model
from tfaudit.errors import Notice
from tfaudit.runtime.user_functions import PATH_VARIABLE, extend_path, search_path

COMMAND = (sys.executable, "-P")
"""Beginning of the command of that process."""


def quantized_in_tensorflow(model: keras.Model | str | Path, settings: dict[str, Any]) -> bytes:
    """Return what `quantize` returns on TensorFlow for a model or its file, or raise what it raises.

    The process imports the modules whose layers and functions are registered with Keras, so that it can load the model.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not isinstance(model, str | Path):
            check_model(model).save(place / "model.keras")
        path = Path(model).absolute() if isinstance(model, str | Path) else place / "model.keras"
        known = {custom.__module__ for custom in keras.saving.get_custom_objects().values()}
        order = (path, settings, sorted(known - {"__main__"}))
        (place / "order").write_bytes(pickle.dumps(order))
        paths = {PATH_VARIABLE: os.pathsep.join(search_path())}
        done = subprocess.run(
            [*COMMAND, "-m", "tfaudit.compress.litert.quantize", folder],
            env={**os.environ, **paths, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the process of TensorFlow ended: {done.stderr}")
        result, told = pickle.loads((place / "result").read_bytes())
    for warning in told:
        warnings.warn(warning, stacklevel=3)
    if isinstance(result, Exception):
        raise result
    return bytes(result)


def serve(quantize: Callable[..., bytes], place: Path) -> None:
    """Quantize the model that a folder names, and write the file or the error, and notices, into the folder."""
    extend_path(list(filter(None, os.environ[PATH_VARIABLE].split(os.pathsep))))
    path, settings, modules = pickle.loads((place / "order").read_bytes())
    for module in modules:
        # It may hold nothing that this model needs; Keras names what it cannot find.
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        try:
            result: bytes | Exception = quantize(path, **settings)
        except Exception as error:
            result = error
    told = [warning.message for warning in caught if isinstance(warning.message, Notice)]
    (place / "result").write_bytes(pickle.dumps((result, told)))
