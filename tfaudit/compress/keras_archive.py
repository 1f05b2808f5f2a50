"""What a `.keras` file says of itself, read before Keras builds the model: a few kilobytes can ask for gigabytes."""

from __future__ import annotations

import functools
import json
import math
import zipfile
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError

_CONFIG = 2**26
"""Maximum bytes of a model's configuration; a thousand layers take less than 1 MB."""

_SMALL, _RATIO = 2**28, 100
"""A file in the archive may unpack to the larger of `_SMALL` bytes and `_RATIO` times its size."""

_SLACK = 2**24
"""Number of weights that may be missing from a file: they take little memory, and Keras names them."""

_ACTIVATION = 2**28
"""Maximum number of values that a layer puts out for one example: 1 GiB of float32."""

_CHAIN = 500
"""Maximum number of layers of a `Sequential`. It takes Keras 90 s to refuse 1,000, by a recursion that is too deep."""

_OTHER_LAYOUT = (OSError, RuntimeError, ValueError, KeyError, zipfile.BadZipFile)
"""What reading a damaged file raises, or one that Keras wrote in another way."""


def check_archive(path: Path) -> None:
    """Check that the model in a `.keras` file needs no more memory than its weights and images justify.

    The model is built without values, which takes the time of building it and hardly any memory. What cannot be built
    so, or is no archive, is left to Keras, which says what is wrong.

    Raises:
        InputError: a file in the archive unpacks to far more than its size, the weights of layers are not in the file,
            a `Sequential` has more than 500 layers, or a layer puts out more than 2**28 values per example.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_parts(path, archive)
            part_of = functools.partial(_without_compilation, path)
            config = json.loads(archive.read("config.json"), object_hook=part_of)
        held = sum(size for _, size in _arrays(path))
    except InputError:
        raise
    except _OTHER_LAYOUT:
        return  # Keras says why when it loads the file
    _check_sizes(path, config, held)


def weight_bytes(path: Path) -> tuple[int, int]:
    """Return a model file's bytes without the optimizer's state, and the bytes of that state; 0 for a flatbuffer.

    The optimizer of a compiled model adds a slot or two per weight to the `.keras` file, which nobody ships.
    """
    size = path.stat().st_size
    if path.suffix != ".keras":
        return size, 0
    try:
        state = sum(part for name, part in _arrays(path) if name.startswith("optimizer/"))
    except _OTHER_LAYOUT:
        return size, 0  # a file with another layout counts in full
    return size - state, state


def _arrays(path: Path) -> list[tuple[str, int]]:
    """Return name and bytes of every array in a model's files of weights."""
    import h5py

    arrays: list[tuple[str, int]] = []

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays.append((name, int(item.nbytes)))

    with zipfile.ZipFile(path) as archive:
        for part in archive.namelist():
            if part.endswith(".weights.h5"):
                with archive.open(part) as weights, h5py.File(weights) as file:
                    file.visititems(note)
    return arrays


def _without_compilation(path: Path, part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a configuration without optimizer and losses, which `load_keras` does not make either.

    Raises:
        InputError: the part is a `Sequential` of too many layers.
    """
    layers = part.get("layers")
    is_functional = "input_layers" in part
    if isinstance(layers, list) and len(layers) > _CHAIN and "name" in part and not is_functional:
        got = f"{path}, which has a Sequential of {len(layers):,} layers"
        raise InputError("model", got, f"at most {_CHAIN}")
    return {name: value for name, value in part.items() if name != "compile_config"}


def _check_parts(path: Path, archive: zipfile.ZipFile) -> None:
    """Check what the parts of a file say that they unpack to."""
    for part in archive.infolist():
        most = max(_SMALL, _RATIO * part.compress_size)
        if part.file_size > (_CONFIG if part.filename == "config.json" else most):
            got = f"{path}, whose {part.filename} unpacks to {part.file_size:,} bytes"
            raise InputError("model", got, "a Keras 3 model")


def _check_sizes(path: Path, config: Any, held: int) -> None:
    """Build a model from its configuration without values, and check its weights and what its layers put out."""
    import keras

    from tfaudit.runtime.keras_internals import calls_of, layers_in, without_values

    try:
        with without_values():
            model = keras.saving.deserialize_keras_object(config)
        weights = sum(math.prod(weight.shape) for weight in model.weights)
        layers = layers_in(model)
    except Exception:
        return  # Keras says why when it loads the file
    if weights > 2 * held + _SLACK:  # int4 has two weights in a byte
        got = (
            f"{path}, whose layers have {weights:,} weights, and which holds {held:,} bytes of them"
        )
        raise InputError("model", got, "a Keras 3 model with its weights")
    for layer in layers:
        for tensor in (tensor for call in calls_of(layer) for tensor in call.output_tensors):
            values = math.prod(side for side in tensor.shape[1:] if side)
            if values > _ACTIVATION:
                got = f"{path}, whose layer {layer.name!r} puts out {values:,} values per example"
                raise InputError("model", got, f"at most {_ACTIVATION:,}")
