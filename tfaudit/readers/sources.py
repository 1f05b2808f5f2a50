"""What files of labels and of predictions hold, before they are joined."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tfaudit.errors import InputError
from tfaudit.readers.arrays import Arrays
from tfaudit.readers.tables import Table

__all__ = ["IDS", "Labels", "Source", "id_column", "read_labels", "read_sources"]

IDS = ("example", "example_id", "id", "ids", "example_ids")
_LABELS = ("label", "labels", "target", "targets")
_TOP1 = ("class", "classes", "prediction", "predictions", "predicted", "top1", "answer", "answers")
_SCORES = ("scores", "logits", "probabilities", "probs", "softmax")
_MEMBERS = ("member", "members")
_SCORES_AT_ONCE = 2**22

Columns = Sequence[int] | None


@dataclasses.dataclass(frozen=True)
class Labels:
    """True classes.

    Attributes:
        path: of the file.
        values: `(N,)` integers, or text as it is written.
        ids: `(N,)` text, or None.
    """

    path: Path
    values: np.ndarray
    ids: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class Source:
    """What one member, or several of one table, answer: either `top1` or `scores`.

    Attributes:
        where: for people: the file, and the member in it.
        rows: their number.
        ids: `(rows,)` text, or None.
        members: `(rows,)` names of the members, or None: all rows are of one.
        top1: `(rows,)` integers, or text as it is written; None where there are scores.
        columns: names of the classes that the scores belong to; None where they are not named.
        width: number of classes of the scores; None where there is top-1 alone.
        scores: gives the scores in blocks `(some rows, width)`, their columns in the order asked for.
    """

    where: str
    rows: int
    ids: np.ndarray | None = None
    members: np.ndarray | None = None
    top1: np.ndarray | None = None
    columns: tuple[str, ...] | None = None
    width: int | None = None
    scores: Callable[[Columns], Iterable[np.ndarray]] = lambda order: ()


def read_labels(path: Path, id_name: str | None = None) -> Labels:
    """Reads a file of labels.

    Args:
        path: NPY, NPZ, CSV or Parquet.
        id_name: the column of ids in a table; looked for by default.

    Raises:
        InputError: the file cannot be read, or holds no column or array of labels.
    """
    held = _open(path)
    if isinstance(held, Table):
        column = held.find(_LABELS)
        if column is None:
            raise InputError(f"{path}: has no column `label`, only {', '.join(held.columns)}")
        return Labels(path, held.text(column), _table_ids(held, id_name))
    name = held.find(_LABELS) or _only(held)
    if name is None:
        raise InputError(f"{path}: has no array `labels`, only {', '.join(held.names)}")
    values = held.read(name)
    if values.ndim != 1:
        raise InputError(path, f"labels of shape {values.shape}", "(examples,)")
    return Labels(path, _classes(values, path), _array_ids(held))


def read_sources(path: Path, id_name: str | None = None) -> list[Source]:
    """Reads what a file of predictions holds; its scores are read later.

    Args:
        path: NPY, NPZ, CSV or Parquet.
        id_name: the column of ids in a table; looked for by default.

    Raises:
        InputError: the file cannot be read, or holds neither classes nor scores.
    """
    held = _open(path)
    return [_table_source(held, id_name)] if isinstance(held, Table) else _array_sources(held)


def id_column(table: Table, id_name: str | None) -> str | None:
    """The column of ids: the one asked for, else one of the usual names, else None.

    Raises:
        InputError: there is no column of the name asked for.
    """
    if id_name is not None and id_name not in table.columns:
        raise InputError(f"{table.path}: has no column {id_name!r}, only {', '.join(table.columns)}")
    return id_name or table.find(IDS)


def _open(path: Path) -> Table | Arrays:
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".npy", ".npz"):
        raise InputError(path, "of unknown kind", ".csv, .parquet, .npy and .npz")
    return (Table if kind in (".csv", ".parquet") else Arrays)(path)


def _table_ids(table: Table, id_name: str | None) -> np.ndarray | None:
    name = id_column(table, id_name)
    return None if name is None else table.text(name)


def _array_ids(arrays: Arrays) -> np.ndarray | None:
    name = arrays.find(IDS)
    if not name:
        return None
    ids = arrays.read(name)
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise InputError(
            str(arrays.path), f"ids of type {ids.dtype} and shape {ids.shape};", "(examples,) integers or text"
        )
    return ids.astype(str)


def _only(arrays: Arrays) -> str | None:
    """The array that is there beside ids, if it is the only one."""
    others = [name for name in arrays.names if name.lower() not in IDS]
    return others[0] if len(others) == 1 else None


def _table_source(table: Table, id_name: str | None) -> Source:
    path, rows, ids = str(table.path), table.rows, _table_ids(table, id_name)
    if not rows:
        raise InputError(f"{path}: holds no rows")
    member, top1 = table.find(_MEMBERS), table.find(_TOP1)
    members = None if member is None else table.text(member)
    taken = (id_column(table, id_name), member)
    columns = tuple(name for name in table.columns if name not in taken and name.lower() not in _LABELS)
    if top1 is not None:
        return Source(path, rows, ids, members, top1=table.text(top1))
    if "" in columns:
        raise InputError(f"{path}: column {table.columns.index('')} has no name; a column of ids is called `example`")
    if len(columns) < 2:
        came = ", ".join(table.columns)
        raise InputError(f"{path}: has neither a column `prediction` nor scores in a column per class, only {came}")

    def scores(order: Columns) -> Iterator[np.ndarray]:
        return table.numbers([columns[i] for i in order] if order is not None else columns)

    return Source(path, rows, ids, members, columns=columns, width=len(columns), scores=scores)


def _array_sources(arrays: Arrays) -> list[Source]:
    name = arrays.find(_SCORES) if arrays.names != ("",) else None
    name = name or arrays.find(_TOP1) or _only(arrays)
    if name is None:
        raise InputError(
            f"{arrays.path}: holds the arrays {', '.join(arrays.names)}; call the one of predictions `scores` or `top1`"
        )
    (shape, kind), ids = arrays.form(name), _array_ids(arrays)
    if 0 in shape:
        raise InputError(f"{arrays.path}: holds an empty array, of shape {shape}")
    top1 = kind.kind in "iuU" or len(shape) == 1 or name.lower() == "top1"
    if len(shape) not in ((1, 2) if top1 else (2, 3)):
        raise InputError(
            str(arrays.path),
            f"{kind} of shape {shape}",
            (
                "(examples,) or (members, examples) for top-1 classes, and for scores, which are floats, "
                "(examples, classes) or (members, examples, classes)"
            ),
        )
    read: Callable[[], np.ndarray] = functools.partial(
        arrays.read, name
    )  # again for every pass: what many files hold is never held at once
    if len(shape) == (1 if top1 else 2):
        return [_array_source(str(arrays.path), read, shape, kind, ids, top1)]
    read = functools.cache(read)
    return [
        _array_source(f"{arrays.path}, member {k}", functools.partial(_nth, read, k), shape, kind, ids, top1)
        for k in range(shape[0])
    ]


def _nth(read: Callable[[], np.ndarray], member: int) -> np.ndarray:
    return read()[member]


def _array_source(
    where: str,
    read: Callable[[], np.ndarray],
    shape: tuple[int, ...],
    kind: np.dtype,
    ids: np.ndarray | None,
    top1: bool,
) -> Source:
    def scores(order: Columns) -> Iterator[np.ndarray]:
        held = read()
        rows = max(1, _SCORES_AT_ONCE // shape[-1])
        for start in range(0, len(held), rows):
            block = held[start : start + rows]
            yield block if order is None else block[:, order]

    if top1:
        classes = _classes(read(), where)
        return Source(where, len(classes), ids, top1=classes)
    if kind.kind != "f":
        raise InputError(where, f"scores of type {kind}", "floats")
    return Source(where, shape[-2], ids, width=shape[-1], scores=scores)


def _classes(values: np.ndarray, where: object) -> np.ndarray:
    """Integers or text; whole floats become integers."""
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.floor(values)).all():
        return values.astype(np.int64)
    if values.dtype.kind not in "iuU":
        raise InputError(where, f"classes of type {values.dtype}", "whole numbers or text")
    return np.asarray(values)
