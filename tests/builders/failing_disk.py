"""A disk that fails at the n-th operation in a directory, or a process that ends there."""

import contextlib
import io
import os
import pathlib

_BY_PATH = ("mkdir", "replace", "rename", "unlink", "rmdir")
_WRITING = set("wax+")


class Operations:
    """Counts the operations that change a directory, and calls `at` before the n-th one with its name and path.

    An operation is making or removing a folder, renaming or removing a file, opening one to write, writing to it, and
    writing it out to the disk. With `always` it is called before all that follow, too.
    """

    def __init__(self, directory, number, at, *, always=False):
        self.directory, self.number, self.at, self.always = str(directory), number, at, always
        self.count = 0

    def step(self, name, path):
        if str(path).startswith(self.directory):
            self.count += 1
            if self.count == self.number or (
                self.always and self.count > self.number and name != "unlink"
            ):
                self.at(name, path)

    @contextlib.contextmanager
    def watched(self):
        """Count in this block."""
        originals = [(module, name, getattr(module, name)) for module, name in self._places()]
        for module, name, original in originals:
            setattr(module, name, self._wrapped(name, original))
        try:
            yield self
        finally:
            for module, name, original in originals:
                setattr(module, name, original)

    def _places(self):
        return [*((os, name) for name in _BY_PATH), (os, "fsync"), (io, "open")]

    def _wrapped(self, name, original):
        def by_path(path, *rest, **options):
            self.step(name, path)
            return original(path, *rest, **options)

        def fsync(descriptor):
            self.step(name, pathlib.Path(f"/proc/self/fd/{descriptor}").readlink())
            return original(descriptor)

        def opened(path, mode="r", *rest, **options):
            if isinstance(path, int) or not _WRITING & set(mode):
                return original(path, mode, *rest, **options)
            self.step("open", path)
            return _Written(
                original(path, mode, *rest, **options), lambda: self.step("write", path)
            )

        return {"fsync": fsync, "open": opened}.get(name, by_path)


class _Written:
    """A file that tells before it is written to."""

    def __init__(self, file, before):
        self._file, self._before = file, before

    def write(self, content):
        self._before()
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self._file.close()
