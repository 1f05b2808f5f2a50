"""Weights of a file that PyTorch saved, read without PyTorch and without running any code that the file names."""

from __future__ import annotations

import collections
import io
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tfaudit.errors import InputError, one_line

if TYPE_CHECKING:
    import keras

STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
}


def read_torch_weights(file: IO[bytes] | str, name: str = "weights") -> dict[str, np.ndarray]:
    """Return parameters and buffers by their names in a state dict, such as `layer1.0.conv1.weight`.

    The file holds a state dict or a whole module. Modules become empty objects with the attributes that were saved:
    none of their classes is imported.

    Args:
        file: file that `torch.save` has written since PyTorch 1.6, a zip archive.
        name: name of the file in errors.

    Raises:
        InputError: the file is missing, has an older format, or holds no weights.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            content = _TensorReader(archive).load()
    except Exception as problem:  # a damaged pickle may raise anything
        got = f"an unreadable file ({one_line(problem)})"
        raise InputError(name, got, "a file of torch.save, from PyTorch 1.6 on") from problem
    pairs = content.items() if isinstance(content, Mapping) else _weights(content, "")
    weights = {key: value for key, value in pairs if isinstance(value, np.ndarray)}
    if not weights:
        raise InputError(name, "no weights", "a module or a state dict")
    return weights


def assign_torch_weights(
    model: keras.Model, weights: Mapping[str, np.ndarray], names: Mapping[str, str]
) -> None:
    """Assign weights in place to convolutions, dense layers and BatchNormalization.

    Args:
        model: the model, built.
        weights: parameters and buffers by name, from `read_torch_weights`.
        names: name in `weights`, without `.weight`, of every layer with weights, by the layer's name.

    Raises:
        InputError: a layer or a weight is missing, or shapes differ.
    """
    for layer in model.layers:
        if not layer.weights:
            continue
        prefix = names.get(layer.name, f"nothing for the layer {layer.name}")
        for variable in layer.weights:
            key = f"{prefix}.{TORCH_NAMES.get(variable.name, variable.name)}"
            if key not in weights:
                raise InputError(
                    "weights", f"no {key!r}", f"the {variable.name} of the layer {layer.name!r}"
                )
            value = weights[key]
            if variable.name == "kernel":
                value = value.transpose(
                    *range(2, value.ndim), 1, 0
                )  # (out, in, ...) to (..., in, out)
            if value.shape != tuple(variable.shape):
                raise InputError(
                    "weights", f"{key!r} of shape {value.shape}", f"{tuple(variable.shape)}"
                )
            variable.assign(value)


TORCH_NAMES = {
    **{"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"},
    **{"moving_mean": "running_mean", "moving_variance": "running_var"},
}
"""By name of a Keras variable."""


class _Module:
    """Stand-in for an object of any class, with its attributes only."""

    def __init__(self, *_: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


class _TensorReader(pickle.Unpickler):
    """An unpickler that calls nothing that a file names, except for the functions here."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        pickled = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        self._archive, self._folder = archive, pickled.removesuffix("data.pkl")
        super().__init__(io.BytesIO(archive.read(pickled)))

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a class or function."""
        known = {"OrderedDict": collections.OrderedDict, "set": set, **STORAGES}
        known |= {"_rebuild_tensor_v2": _tensor, "_rebuild_parameter": _parameter}
        return known.get(name, _Module)

    def persistent_load(self, reference: Any) -> np.ndarray:
        """Return the storage of tensors that a reference names."""
        _, dtype, key, *_ = reference
        return np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), dtype)


def _tensor(
    storage: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> np.ndarray:
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if min((offset, *strides), default=0) < 0 or min(shape, default=1) < 1 or last >= len(storage):
        raise ValueError(f"a tensor {shape} beyond its {len(storage)} values")
    steps = [stride * storage.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps).copy()


def _parameter(tensor: np.ndarray, *_: Any) -> np.ndarray:
    return tensor


def _weights(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for part in ("_parameters", "_buffers"):
        for name, value in getattr(module, part, {}).items():
            yield prefix + name, value
    for name, child in getattr(module, "_modules", {}).items():
        yield from _weights(child, f"{prefix}{name}.")
