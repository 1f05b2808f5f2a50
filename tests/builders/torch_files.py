"""Files as `torch.save` writes them, made without PyTorch."""

import collections
import io
import pickle
import sys
import types
import zipfile
from typing import ClassVar

import numpy as np

NAMES = {np.dtype("f4"): "FloatStorage", np.dtype("i8"): "LongStorage"}


class Storage(np.ndarray):
    """Values that a pickle refers to and the archive holds."""


class Named:
    """A global of PyTorch by its name."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Pickler(pickle._Pickler):
    """Writes globals of a library that is not there, and storages as references."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_named(self, named):
        self.write(b"c" + f"{named.module}\n{named.name}\n".encode())

    dispatch[Named] = save_named

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        self.storages.append(value.tobytes())
        named = Named("torch", NAMES[value.dtype])
        return ("storage", named, str(len(self.storages) - 1), "cpu", len(value))

    def save_tensor(self, tensor):
        self.save(Named("torch._utils", "_rebuild_tensor_v2"))
        strides = tuple(stride // tensor.itemsize for stride in tensor.strides)
        whole = tensor if tensor.base is None or not tensor.ndim else tensor.base
        self.save(
            (
                whole.reshape(-1).view(Storage),
                self.offset,
                tensor.shape,
                strides,
                False,
                collections.OrderedDict(),
            )
        )
        self.write(pickle.REDUCE)

    dispatch[np.ndarray] = save_tensor


def torch_file(content, offset=0):
    """The bytes of a file with arrays for tensors, which begin at an offset; a view is stored as its strides."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, protocol=2)
    pickler.storages, pickler.offset = [], offset
    pickler.dump(content)
    return archive(buffer.getvalue(), pickler.storages)


def archive(pickled, storages=()):
    """The bytes of the zip archive of a pickle and its storages."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("archive/data.pkl", pickled)
        for i, storage in enumerate(storages):
            file.writestr(f"archive/data/{i}", storage)
    return target.getvalue()


def module_class(name):
    """A class of a module that the reader of the file cannot import."""
    made = type(name, (), {"__module__": "torch_models_of_nobody"})
    module = sys.modules.setdefault(
        "torch_models_of_nobody", types.ModuleType("torch_models_of_nobody")
    )
    setattr(module, name, made)
    return made
