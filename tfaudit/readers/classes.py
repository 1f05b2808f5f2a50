"""Names of classes, and the class numbers that they stand for."""

import collections
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, quoted
from tfaudit.readers.score_columns import KnownClasses
from tfaudit.readers.sources import Labels, PredictionSource
from tfaudit.runtime.names import clean_names


def listed_classes(path: Path | None) -> KnownClasses:
    """Return the classes in a class list, a file as for `read_class_names`, or nothing for None.

    Raises:
        InputError: the list is unusable.
    """
    if path is None:
        return KnownClasses()
    return KnownClasses(str(path), _checked(read_class_names(path), str(path)), complete=True)


def known_classes(in_list: KnownClasses, labels: Labels) -> KnownClasses:
    """Return what the labels add to a class list: their number, and without a list their names or numbers.

    A list of numbers names classes if a label is no position in it; otherwise it raises `InputError`.
    """
    examples = len(labels.values)
    numbers: tuple[int, ...] = ()
    if examples and _are_numbers(labels.values):
        numbers = tuple(np.unique(_as_floats(labels.values)).astype(int).tolist())
    codes = _codes(in_list.names)
    if codes is not None and numbers and numbers[-1] < len(codes):
        expected = f"names, or the numbers from 0 to {len(codes) - 1}"
        raise InputError(in_list.where, f"classes {quoted(in_list.names)}", expected)
    if in_list.complete or not examples:
        return dataclasses.replace(in_list, examples=examples)
    where = str(labels.path)
    if numbers:
        return KnownClasses(where, numbers=numbers, examples=examples)
    _require_no_fractions(labels.values, where)
    return KnownClasses(where, tuple(np.unique(labels.values).tolist()), examples=examples)


def class_names(
    known: KnownClasses, labels: Labels, sources: Sequence[PredictionSource]
) -> tuple[str, ...] | None:
    """Return the class names, if any: from a list, from columns of scores, or from labels that are text, in this order.

    Args:
        known: what a class list and the labels show.
        labels: the true classes.
        sources: all predictions.

    Raises:
        InputError: it is unknown which column of scores belongs to which class.
    """
    if known.complete:
        return known.names
    named = [source for source in sources if _has_names(source)]
    text = bool(known.names)
    if not named and not text:
        return None
    numbered = [source for source in sources if _are_class_numbers(source)]
    reference = named[0].where if named else labels.path
    expected = f"class names, as in {reference}, or a class list"
    for source in sources:
        _refuse_one_score(source, known)
        if source.width is not None and source not in named:
            raise InputError(source.where, "columns without names", expected)
    if not named:
        for source in numbered:
            raise InputError(source.where, "class numbers", expected)
        return _checked(np.unique(labels.values).tolist(), str(labels.path))
    places = [source.where for source in numbered]
    return _names_of_columns(named, places if text else [str(labels.path), *places])


def _refuse_one_score(source: PredictionSource, known: KnownClasses) -> None:
    """Raise an `InputError` for one score per example: it is unknown which class it is of."""
    if len(source.plan.scores) == 1:
        got = f"one score for {known.labels}"
        expected = "a class list whose second class it is of (--classes FILE)"
        raise InputError(source.where, got, expected)


def _names_of_columns(
    named: Sequence[PredictionSource], numbered: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of columns of scores; if files order them differently, class numbers raise `InputError`.

    Args:
        named: predictions whose columns have names.
        numbered: files that call classes by their numbers.
    """
    first = named[0].columns or ()
    orders = {source.columns for source in named if set(source.columns or ()) == set(first)}
    if numbered and len(orders) > 1:
        expected = "class names, as files order their columns differently, or a class list"
        raise InputError(numbered[0], "class numbers", expected)
    return _checked(first, named[0].where)


def _has_names(source: PredictionSource) -> bool:
    return bool(source.columns) and not _numbered(source.columns or ())


def _are_class_numbers(source: PredictionSource) -> bool:
    return source.top1 is not None and _are_numbers(source.top1)


def class_indices(values: np.ndarray, names: Sequence[str] | None, where: str) -> np.ndarray:
    """Return the class numbers `(n,)` of class names; numbers stay as they are.

    Args:
        values: `(n,)` text or integers.
        names: names of the classes, or None.
        where: file that errors name.

    Raises:
        InputError: an unknown name, or a number that is not whole or out of range.
    """
    if values.dtype.kind == "U":
        indices = pd.Index(names or ()).get_indexer(pd.Index(values))
        if names and (indices >= 0).all():
            return indices
        if not _are_numbers(values):
            _require_no_fractions(values, where)
            unknown = quoted(np.unique(values[indices < 0]))  # without names all of them
            if not names:
                raise InputError(where, f"class names {unknown}", "class numbers, or a class list")
            expected = f"classes such as {quoted(names)}"
            raise InputError(where, f"unknown classes {unknown}", expected)
        values = pd.to_numeric(pd.Series(values)).to_numpy()
    values = values.astype(np.int64)
    codes = _codes(names or ())
    if codes is not None:
        indices = codes.get_indexer(pd.Index(values))
        if (indices < 0).any():
            got = f"unknown classes {quoted(np.unique(values[indices < 0]))}"
            raise InputError(where, got, f"classes such as {quoted(names or ())}")
        return indices
    if values.min() < 0:
        expected = "classes from 0; 0 for -1 if it is the negative class of two"
        raise InputError(where, f"class {values.min()}", expected)
    if names and values.max() >= len(names):
        counted = "; subtract 1 from classes that are counted from 1" if values.min() == 1 else ""
        expected = f"classes 0 to {len(names) - 1}{counted}"
        raise InputError(where, f"class {values.max()}", expected)
    return values


def column_order(source: PredictionSource, names: Sequence[str]) -> list[int] | None:
    """Return the column of each class's scores, None for columns in the order of the classes; refuse other columns."""
    columns = source.columns or ()
    position = {column: i for i, column in enumerate(columns)}
    if not columns or _numbered(columns):
        if source.width != len(names):
            got = f"scores of {source.width} classes"
            raise InputError(source.where, got, f"scores of {len(names)}")
        return [position[str(i)] for i in range(len(names))] if columns else None
    known = set(names)
    if unknown := [column for column in columns if column not in known]:
        expected = f"columns of classes such as {quoted(names)}"
        raise InputError(source.where, f"columns {quoted(unknown)}", expected)
    if missing := [name for name in names if name not in position]:
        raise InputError(source.where, f"no scores of {quoted(missing)}", "scores of every class")
    return [position[name] for name in names]


def read_class_names(path: Path) -> list[str]:
    """Read the class names in a file, one per line or a JSON list, in its order; refuse a file without names."""
    expected = "a class name per line, or a JSON list"
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            names = json.loads(text)
        else:
            names = [line.strip() for line in text.strip().splitlines()]
    except OSError as problem:
        got = f"an unreadable file ({problem.strerror})"
        raise InputError(str(path), got, "a readable one") from None
    except (ValueError, RecursionError):
        raise InputError(str(path), "neither text nor JSON", expected) from None
    words = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
    if not names or not words:
        raise InputError(str(path), "no list of class names", expected)
    return list(clean_names(names, str(path)))


def _checked(names: Sequence[str], where: str) -> tuple[str, ...]:
    codes = _codes(names)
    for name, times in collections.Counter(names if codes is None else codes).most_common(1):
        if times > 1:
            raise InputError(where, f"class {quoted([name])} twice", "different names")
    return tuple(names)


def _codes(names: Sequence[str]) -> pd.Index | None:
    """Return names that are numbers, such as years, but not those from 0 in their order; None for other names."""
    if not names or not _are_numbers(np.array(names)):
        return None
    codes = pd.Index(_as_floats(np.array(names)).astype(np.int64))
    return None if codes.equals(pd.RangeIndex(len(codes))) else codes


def _numbered(columns: Sequence[str]) -> bool:
    """Return whether the columns are 0 to C-1, in any order."""
    return set(columns) == {str(i) for i in range(len(columns))}


def _are_numbers(values: np.ndarray) -> bool:
    """Return whether all values are whole numbers, or text that reads as such."""
    if values.dtype.kind != "U":
        return True
    numbers = _as_floats(values)
    return bool((np.isfinite(numbers) & (numbers == np.floor(numbers))).all())


def _require_no_fractions(values: np.ndarray, where: str) -> None:
    numbers = _as_floats(values)
    if np.isfinite(numbers).all():
        got = f"class {values[numbers != np.floor(numbers)][0]}"
        raise InputError(where, got, "whole numbers, or names")


def _as_floats(values: np.ndarray) -> np.ndarray:
    return pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
