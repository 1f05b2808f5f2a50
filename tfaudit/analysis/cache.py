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
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from tfaudit.analysis.serialization import pack, unpack
from tfaudit.errors import InputError
from tfaudit.store.store import Store

__all__ = ["digest", "keep"]

T = TypeVar("T")

ROOM = "audit"
"""The folder of a study that holds them; whoever deletes it loses time and nothing else."""

_MADE_BY = (
    *("audit", "stats", "predictions.py", "results.py", "conditions.py", "variants.py", "study.py", "store.py"),
    *("parquet.py", "datasets/corruptions", "report/sections", "report/material.py", "report/evidence.py"),
    *("report/properties.py", "report/image_strip.py", "report/gallery.py"),
)
"""Sources of this package that decide what a result is."""

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
    """What a result rests on besides its inputs: it must not outlive the code that made it."""
    sources = hashlib.sha256()
    for place in _MADE_BY:
        for file in _files(files("tfaudit").joinpath(place)):
            sources.update(file.read_bytes())
    return [sources.hexdigest(), *map(version, _LIBRARIES)]


def _files(place: Traversable) -> list[Traversable]:
    if place.is_file():
        return [place] if place.name.endswith(".py") else []
    return [file for inner in sorted(place.iterdir(), key=lambda each: each.name) for file in _files(inner)]
