"""A cache of results beside the study: `DIR/audit/NAME.FINGERPRINT.zip`."""

import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TypeVar

from tfaudit.analysis.serialization import pack, unpack
from tfaudit.errors import InputError
from tfaudit.store.store import Store

T = TypeVar("T")

FOLDER = "audit"
"""Folder of a study. Deleting it loses time and nothing else."""

_LIBRARIES = (
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "statsmodels",
    "pillow",
    "opencv-python-headless",
)


def cached(store: Store, name: str, inputs: object, kind: type[T], compute: Callable[[], T]) -> T:
    """Return the cached result of this name and these inputs, or compute it and cache it.

    A result for other inputs is removed, and a damaged one is computed again. Where the study cannot be written the
    result is not cached. Several processes may do this at once: each writes the same file, and writes it atomically.

    `name` must be fit for a file name. `inputs` are all that the result depends on, plain JSON values; the code that
    computes it is added here. `kind` is the type of the result.
    """
    label = f"{name}.{digest([inputs, _sources()])}"
    path = f"{FOLDER}/{label}.zip"
    with contextlib.suppress(OSError, InputError):
        return unpack((store.directory / path).read_bytes(), kind, label)
    result = compute()
    with contextlib.suppress(OSError):
        store.write(path, pack(result, kind, label))
        # Results of this name for other inputs, and the unfinished files of writers that were killed.
        own = re.compile(rf"\.?{re.escape(name)}\.[0-9a-f]{{32}}\.zip(\.\d+\.part)?")
        for place in (store.directory / FOLDER).iterdir():
            if own.fullmatch(place.name) and place != store.directory / path:
                place.unlink(missing_ok=True)
    return result


def digest(inputs: object) -> str:
    """Return 32 hexadecimal digits that identify JSON values.

    Example:
        >>> digest({"alpha": 0.05}) == digest({"alpha": 0.05}) != digest({"alpha": 0.01})
        True
    """
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:32]


@functools.cache
def _sources() -> list[str]:
    """Return what a result depends on besides its inputs: it must not outlive the code that computed it."""
    sources = sorted(_imported("tfaudit.analysis.study_audit").items())
    digest_of_code = hashlib.sha256(b"".join(source for _, source in sources)).hexdigest()
    return [digest_of_code, *map(_version, _LIBRARIES)]


def _version(library: str) -> str:
    """Return the version of a library, or "" where it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _imported(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all modules of tfaudit that it imports, at any depth, by name."""
    root = files("tfaudit")
    sources: dict[str, bytes] = {}
    open_names = [module]
    while open_names:
        name = open_names.pop()
        place = root.joinpath(*name.split(".")[1:-1], f"{name.split('.')[-1]}.py")
        if name not in sources and place.is_file():
            sources[name] = place.read_bytes()
            for package, *names in _IMPORT.findall(sources[name].decode()):
                open_names += [
                    package,
                    *(f"{package}.{imported.strip()}" for imported in "".join(names).split(",")),
                ]
    return sources


_IMPORT = re.compile(r"^ *from (tfaudit[\w.]*) import (?:\(([\w\s,]+)\)|([\w ,]+))", re.MULTILINE)
