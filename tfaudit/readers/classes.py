"""Names of classes, and the numbers they stand for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tfaudit.errors import InputError
from tfaudit.readers.joining import some
from tfaudit.readers.sources import Labels, Source

__all__ = ["class_names", "column_order", "indices", "listed_names"]

_LIST = "give a list of classes"


def class_names(path: Path | None, labels: Labels, sources: Sequence[Source]) -> tuple[str, ...] | None:
    """The names, where there are any: from a list, else from columns of scores, else from labels that are text.

    Args:
        path: a name a line, or a JSON list.
        labels: the true classes.
        sources: all predictions.

    Raises:
        InputError: the list is unfit, or nothing tells which column of scores is which class.
    """
    if path is not None:
        return _checked(listed_names(path), str(path))
    named = [source for source in sources if source.columns and not _numbered(source.columns)]
    text = not _are_numbers(labels.values)
    if text:
        _require_no_fractions(labels.values, str(labels.path))
    if not named and not text:
        return None
    for source in sources:
        if source.width is not None and source not in named:
            other = named[0].where if named else labels.path
            raise InputError(f"{source.where}: its columns have no names, but {other} names classes; {_LIST}")
        if source.top1 is not None and not named and _are_numbers(source.top1):
            raise InputError(f"{source.where}: numbers classes, but {labels.path} names them; {_LIST}")
    if not named:
        return _checked(np.unique(labels.values).tolist(), str(labels.path))
    orders = {source.columns for source in named if set(source.columns or ()) == set(named[0].columns or ())}
    numbers = [str(labels.path)] * (not text) + [
        s.where for s in sources if s.top1 is not None and _are_numbers(s.top1)
    ]
    if numbers and len(orders) > 1:
        raise InputError(f"{numbers[0]}: numbers classes whose columns are ordered differently; {_LIST}")
    return _checked(named[0].columns or (), named[0].where)


def indices(values: np.ndarray, names: Sequence[str] | None, where: str) -> np.ndarray:
    """`(n,)` numbers of the classes, from their names, or from numbers as they are.

    Raises:
        InputError: a name that is unknown, or no whole number from 0.
    """
    if values.dtype.kind == "U":
        known = pd.Index(names or ()).get_indexer(pd.Index(values))
        if names and (known >= 0).all():
            return known
        if not _are_numbers(values):
            _require_no_fractions(values, where)
            if not names:
                raise InputError(f"{where}: names classes ({some(np.unique(values))}), but nothing lists them; {_LIST}")
            strangers = np.unique(values[known < 0])
            raise InputError(f"{where}: unknown classes {some(strangers)}; known are {some(names)}")
        values = pd.to_numeric(pd.Series(values)).to_numpy().astype(np.int64)
    if values.min() < 0:
        raise InputError(f"{where}: class {values.min()} occurs; classes count from 0")
    if names and values.max() >= len(names):
        raise InputError(f"{where}: class {values.max()} occurs, but there are {len(names)} (0 to {len(names) - 1})")
    return values


def column_order(source: Source, names: Sequence[str]) -> list[int] | None:
    """Where the scores of each class stand; None where they stand in order.

    Raises:
        InputError: the columns are not those of the classes.
    """
    columns = source.columns or ()
    if not columns or _numbered(columns):
        if source.width != len(names):
            raise InputError(f"{source.where}: scores of {source.width} classes, but there are {len(names)}")
        return [columns.index(str(i)) for i in range(len(names))] if columns else None
    strangers = [column for column in columns if column not in names]
    if strangers:
        raise InputError(f"{source.where}: columns that are no class: {some(strangers)}; classes are {some(names)}")
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise InputError(f"{source.where}: no scores of {some(lacking)}")
    return [columns.index(name) for name in names]


def listed_names(path: Path) -> list[str]:
    """The names in a file, a name a line or a JSON list, in its order.

    Raises:
        InputError: a file that cannot be read, or that is no such list.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = (
            json.loads(text) if path.suffix.lower() == ".json" else [line.strip() for line in text.strip().splitlines()]
        )
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror})") from None
    except ValueError:
        raise InputError(f"{path}: is neither a text file with a class a line nor a JSON list") from None
    if not isinstance(found, list) or not all(isinstance(name, str) and name for name in found) or not found:
        raise InputError(f"{path}: is no list of names of classes")
    return found


def _checked(names: Sequence[str], where: str) -> tuple[str, ...]:
    twice = [name for name in names if list(names).count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise InputError(f"{where}: class {twice[0]!r} is listed twice")
    if _are_numbers(np.array(names)) and list(names) != [str(i) for i in range(len(names))]:
        raise InputError(f"{where}: classes are called {some(names)}; numbers must run from 0 to {len(names) - 1}")
    return tuple(names)


def _numbered(columns: Sequence[str]) -> bool:
    """Are they 0 to C-1, in any order?"""
    return set(columns) == {str(i) for i in range(len(columns))}


def _are_numbers(values: np.ndarray) -> bool:
    if values.dtype.kind != "U":
        return True
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
    return bool((np.isfinite(numbers) & (numbers == np.floor(numbers))).all())


def _require_no_fractions(values: np.ndarray, where: str) -> None:
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
    if np.isfinite(numbers).all():
        raise InputError(f"{where}: class {values[numbers != np.floor(numbers)][0]} is no whole number")
