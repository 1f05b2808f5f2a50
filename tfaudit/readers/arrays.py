"""NPY and NPZ files. Pickled objects, which could run code, are refused."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from tfaudit.errors import InputError

__all__ = ["Arrays"]

_BROKEN = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class Arrays:
    """The arrays of a file, each read when it is asked for; a NPY file is mapped, not loaded.

    Args:
        path: NPY or NPZ.

    Attributes:
        path: of the file.
        names: of the arrays; `("",)` for NPY.

    Raises:
        InputError: the file cannot be read or is none of NumPy's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                start = file.read(6)
        except OSError as problem:
            raise InputError(f"{path}: cannot be read ({problem.strerror})") from None
        if not start:
            raise InputError(f"{path}: is empty")
        single = path.suffix.lower() == ".npy"
        if not start.startswith(b"\x93NUMPY" if single else b"PK"):
            raise InputError(f"{path}: is not a file of NumPy arrays, whatever its name; pickles are not read")
        if single:
            self.names: tuple[str, ...] = ("",)
        else:
            with self._plain_errors(), zipfile.ZipFile(path) as archive:
                self.names = tuple(file.removesuffix(".npy") for file in archive.namelist())

    def find(self, allowed: Collection[str]) -> str | None:
        """The first array whose name is one of those, whatever its case; None where there is none."""
        return next((name for name in self.names if name.lower() in allowed), None)

    def form(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and type of one array; of a NPZ file nothing more is read.

        Raises:
            InputError: it is damaged, or holds Python objects.
        """
        with self._plain_errors(), self._stream(name) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(file)
        if kind.hasobject:
            raise self._objects()
        return shape, kind

    def read(self, name: str) -> np.ndarray:
        """One array, not to be changed.

        Raises:
            InputError: it is damaged, or holds Python objects.
        """
        shape, _ = self.form(name)
        with self._plain_errors():
            if name or 0 in shape:  # an empty array cannot be mapped
                with self._stream(name) as file:
                    return np.lib.format.read_array(file, allow_pickle=False)
            return np.load(self.path, mmap_mode="r", allow_pickle=False)

    @contextlib.contextmanager
    def _stream(self, name: str) -> Iterator[IO[bytes]]:
        if not name:
            with self.path.open("rb") as file:
                yield file
            return
        with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as file:
            yield file

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN:
            raise InputError(f"{self.path}: is damaged or cut short") from None

    def _objects(self) -> InputError:
        return InputError(
            f"{self.path}: holds Python objects, which only running code could read; save numbers or text"
        )
