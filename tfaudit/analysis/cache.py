"""Results that are computed once and kept beside the study: `DIR/audit/NAME.FINGERPRINT.zip`."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Callable
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeVar

from tfaudit.analysis.serialization import pack, unpack
from tfaudit.errors import InputError
from tfaudit.store.store import Store

__all__ = ["digest", "keep"]

T = TypeVar("T")

ROOM = "audit"
"""The folder of a study that holds them; whoever deletes it loses time and nothing else."""

_LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "statsmodels", "pillow", "opencv-python-headless")


def keep(store: Store, name: str, inputs: object, kind: type[T], compute: Callable[[], T]) -> T:
    """The result that is kept under this name for these inputs; else computes it and keeps it.

    One that was kept for other inputs is removed. A damaged one is computed anew. Where the study cannot be written
    the result is computed and not kept. Several processes may do so at once: each writes the same, whole or not at all.

    Args:
        store: of the study.
        name: of the result, fit for a file name.
        inputs: all that it is made from, plain JSON values; those of the code are added here.
        kind: type of the result.
        compute: makes it.
    """
    path = f"{ROOM}/{name}.{digest([inputs, _sources()])}.zip"
    with contextlib.suppress(OSError, InputError):
        return unpack((store.directory / path).read_bytes(), kind)
    result = compute()
    with contextlib.suppress(OSError):
        store.write(path, pack(result, kind))
        for place in _superseded(store, name, path):
            place.unlink(missing_ok=True)
    return result


def digest(inputs: object) -> str:
    """32 hexadecimal digits that stand for JSON values.

    Example:
        >>> digest({"alpha": 0.05}) == digest({"alpha": 0.05}) != digest({"alpha": 0.01})
        True
    """
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:32]


def _superseded(store: Store, name: str, path: str) -> list[Any]:
    """Results of this name for other inputs, and what writers of them that were killed have left."""
    own = re.compile(rf"\.?{re.escape(name)}\.[0-9a-f]{{32}}\.zip(\.\d+\.part)?")
    room = (store.directory / ROOM).iterdir()
    return [place for place in room if own.fullmatch(place.name) and place != store.directory / path]


@functools.cache
def _sources() -> list[str]:
    """Return what a result depends on besides its inputs: it must not outlive the code that computed it."""
    digests = hashlib.sha256()
    for source in dict(sorted(_imported("tfaudit.analysis.study_audit").items())).values():
        digests.update(source)
    return [digests.hexdigest(), *map(version, _LIBRARIES)]


def _imported(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all modules of tfaudit that it imports, at any depth, by name."""
    root = files("tfaudit")
    sources: dict[str, bytes] = {}
    open_names = [module]
    while open_names:
        name = open_names.pop()
        place = root.joinpath(*name.split(".")[1:-1], f"{name.split('.')[-1]}.py")
        if name in sources or not place.is_file():
            continue
        sources[name] = place.read_bytes()
        for package, *names in _IMPORT.findall(sources[name].decode()):
            open_names += [package, *(f"{package}.{imported.strip()}" for imported in "".join(names).split(","))]
    return sources


_IMPORT = re.compile(r"^ *from (tfaudit[\w.]*) import (?:\(([\w\s,]+)\)|([\w ,]+))", re.MULTILINE)
