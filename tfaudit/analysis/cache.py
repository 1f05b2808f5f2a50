"""A cache of results beside the study: `DIR/audit/NAME.FINGERPRINT.zip`."""

import contextlib
import functools
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

from tfaudit.analysis.serialization import pack, unpack
from tfaudit.errors import InputError
from tfaudit.runtime.regular_files import read_regular
from tfaudit.runtime.seals import seal_of_json, seal_of_parts
from tfaudit.store.store import Store

T = TypeVar("T")

FOLDER = "audit"
"""Folder of a study. Deleting it loses time and nothing else."""

ROOT = Path(__file__).parents[1]
"""Folder of all code that may compute a result."""

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
        return unpack(read_regular(store.directory / path), kind, label)
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
    return seal_of_json(inputs)[:32]


@functools.cache
def _sources() -> list[str]:
    """Return a digest of the code and the versions of libraries: a cached result must not outlive them."""
    code = seal_of_parts(place.read_bytes() for place in sorted(ROOT.rglob("*.py")))
    return [code, *map(_version, _LIBRARIES)]


def _version(library: str) -> str:
    """Return the version of a library, or "" if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
