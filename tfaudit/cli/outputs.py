"""Files and folders that a command is to write: checked before any work begins."""

from __future__ import annotations

import glob
import inspect
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import typer

from tfaudit.errors import InputError
from tfaudit.runtime.standard_streams import STDOUT as STDOUT_DESCRIPTOR
from tfaudit.store.requested_files import (
    STDOUT,
    descriptor_of,
    is_part_of_study,
    require_writable,
    require_writable_folder,
)

_SOURCES = ("baseline", "compressed", "data", "train", "dataset", "recipe")
"""Parameters of commands whose text may name a file to read."""


def _checked(check: Callable[[str, Path], None]) -> Callable[..., Any]:
    """Return the callback of an option that checks its value; "-" is standard output if it names a file."""

    def callback(parameter: typer.CallbackParam, value: Any) -> Any:
        if value is None or "://" in str(value):  # none, or a folder elsewhere
            return value
        if check is require_writable and str(value) == "-":
            return STDOUT
        check(str(parameter.name), Path(value))
        return value

    return callback


file_to_write = _checked(require_writable)
"""Callback of an option or argument that names a file to write; "-" is standard output."""

folder_to_write = _checked(require_writable_folder)
"""Callback of an option or argument that names a folder to write into, which need not exist."""


def output_file(text: str, *names: str, panel: str | None = None) -> Any:
    """Return an option with its help text that names a file to write, for `Annotated`."""
    return typer.Option(*names, help=text, rich_help_panel=panel, callback=file_to_write)


def output_folder(text: str, *names: str) -> Any:
    """Return an option with its help text that names a folder to write into, for `Annotated`."""
    return typer.Option(*names, help=text, callback=folder_to_write)


def check_outputs(command: Callable[..., Any], values: Mapping[str, Any]) -> bool:
    """Raise an `InputError` if two outputs of a command, or an output and an input, are in one place.

    Args:
        command: the function, whose annotations tell outputs and inputs.
        values: its arguments by name.

    Returns:
        Whether standard output is one of the outputs.
    """
    outputs: dict[str, Path] = {}
    inputs: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        *_, option = None, *get_args(parameter.annotation)  # commands of others may have none
        if getattr(option, "callback", None) in (file_to_write, folder_to_write):
            if values[name] is not None and "://" not in str(values[name]):
                outputs[name] = Path(values[name])
        elif name in _SOURCES or _holds_paths(parameter.annotation):
            inputs[name] = values[name]
    require_apart(outputs)
    for name, path in outputs.items():
        _require_no_input(name, path, inputs)
    return any(descriptor_of(path) == STDOUT_DESCRIPTOR for path in outputs.values())


def _holds_paths(annotation: Any) -> bool:
    return annotation is Path or any(map(_holds_paths, get_args(annotation)))


def require_apart(outputs: Mapping[str, Path]) -> None:
    """Raise an `InputError` if two files or folders to write, by option, are in one place; links are followed.

    Example:
        >>> require_apart({"json": Path("a"), "junit": Path("./a")})
        Traceback (most recent call last):
        tfaudit.errors.InputError: json, junit: got a for both, expected different places
    """
    for (one, path), (other, other_path) in itertools.combinations(outputs.items(), 2):
        if _place(path) == _place(other_path) != _place(Path(os.devnull)):
            raise _in_one_place(one, other, path)
    printed = _regular_stdout()
    for name, path in outputs.items():
        if printed is not None and _place(path) == printed:
            got = f"{path}, to which standard output is redirected"
            raise InputError(name, got, "another file, or - for standard output")


def _in_one_place(one: str, other: str, path: Path) -> InputError:
    return InputError(f"{one}, {other}", f"{path} for both", "different places")


def _place(path: Path) -> object:
    """Return what is equal for two paths if they lead to one place, which need not exist."""
    descriptor = descriptor_of(path)
    if descriptor is not None:
        return descriptor
    try:
        there = path.stat()
    except OSError:
        return os.path.realpath(path)
    return there.st_dev, there.st_ino


def _regular_stdout() -> object:
    """Return the place of the regular file to which standard output is redirected, or None."""
    try:
        there = os.fstat(STDOUT_DESCRIPTOR)
    except OSError:
        return None
    return (there.st_dev, there.st_ino) if stat.S_ISREG(there.st_mode) else None


def _require_no_input(name: str, path: Path, inputs: Mapping[str, Any]) -> None:
    place = _place(path)
    for other, value in inputs.items():
        for source in _existing(value):
            if _place(source) == place:
                raise _in_one_place(name, other, path)
            if is_part_of_study(path, source):
                got = f"{path}, a part of the study {source}"
                raise InputError(name, got, "another place")


def _existing(value: object) -> Iterator[Path]:
    """Yield the files and folders that the value of an option may name: FILE, GLOB, NAME=FILE, FILE.py:function."""
    if isinstance(value, str | Path):
        text = str(value)
        for word in {text, text.partition("=")[2], text.rpartition(":")[0]} - {""}:
            yield from map(Path, glob.glob(word, recursive=True))  # noqa: PTH207
            if glob.has_magic(word) and os.path.lexists(word):
                yield Path(word)
    elif isinstance(value, Iterable):
        for one in value:
            yield from _existing(one)
