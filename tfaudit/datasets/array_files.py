"""NPY and NPZ files. Pickled objects, which could run code, are refused."""

import contextlib
import io
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from tfaudit.errors import InputError
from tfaudit.runtime.regular_files import open_regular

_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
)
"""What NumPy and `zipfile` raise on broken headers, forged sizes, passwords and unknown methods of compression."""

_HEADER_BYTES = 2**16
_BOMB_BYTES, _BOMB_RATIO = 2**28, 100
"""An array that is so large and was compressed so far is refused."""


class ArrayFile:
    """A file of arrays, NPY or NPZ, each read on request; an NPY file is mapped into memory, not loaded.

    Attributes:
        path: path of the file.
        names: names of the arrays; `("",)` for NPY.

    Raises:
        InputError: the file cannot be read, was not written by NumPy, is damaged, or holds Python objects.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open_regular(path) as file:
                start = file.read(6)
        except OSError as problem:
            raise InputError(
                str(path), f"an unreadable file ({problem.strerror})", "a readable one"
            ) from None
        if not start:
            raise InputError(str(path), "an empty file", "NumPy arrays")
        single = path.suffix.lower() == ".npy"
        if not start.startswith(b"\x93NUMPY" if single else b"PK"):
            raise InputError(
                str(path), "a file without NumPy arrays", "NumPy arrays; pickles are not read"
            )
        if single:
            self.names: tuple[str, ...] = ("",)
        else:
            with self._guarded(), zipfile.ZipFile(path) as archive:
                self.names = tuple(file.removesuffix(".npy") for file in archive.namelist())

    def find(self, names: Collection[str]) -> str | None:
        """Return the name of the first array with one of these names, ignoring case; None if there is none."""
        return next((name for name in self.names if name.lower() in names), None)

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Return shape and dtype of an array without reading its values; refuse Python objects."""
        with self._guarded(), self._stream(name) as (file, size), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it warns of Python 2's headers
            version = np.lib.format.read_magic(file)
            length = file.read(2 if version == (1, 0) else 4)
            header = file.read(min(int.from_bytes(length, "little"), _HEADER_BYTES))
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(io.BytesIO(length + header))
            values = math.prod(shape)
            if (
                any(type(edge) is not int or edge < 0 for edge in shape)
                or values * dtype.itemsize > size
            ):
                raise ValueError(f"shape {shape} in {size} bytes")
        if dtype.hasobject:
            raise InputError(
                str(self.path),
                "Python objects, which only running code could read",
                "numbers or text",
            )
        return shape, dtype

    def read(self, name: str) -> np.ndarray:
        """Return an array, read-only; refuse damaged arrays and Python objects."""
        shape, _ = self.shape_and_dtype(name)
        with self._guarded():
            if name or 0 in shape:  # an empty array cannot be mapped
                with self._stream(name) as (file, _):
                    return np.lib.format.read_array(file, allow_pickle=False)
            return np.load(self.path, mmap_mode="r", allow_pickle=False)

    @contextlib.contextmanager
    def _stream(self, name: str) -> Iterator[tuple[IO[bytes], int]]:
        """Open an array; yield the stream and its number of bytes."""
        if not name:
            with self.path.open("rb") as file:
                yield file, self.path.stat().st_size
            return
        with zipfile.ZipFile(self.path) as archive:
            facts = archive.getinfo(f"{name}.npy")
            if facts.file_size > max(_BOMB_BYTES, _BOMB_RATIO * facts.compress_size):
                raise ValueError("a bomb")
            with archive.open(facts) as file:
                yield file, facts.file_size

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGED:
            raise InputError(
                str(self.path), "a damaged or truncated file", "a complete one"
            ) from None
