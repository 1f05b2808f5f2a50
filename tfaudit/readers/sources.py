"""The content of files of labels and of predictions, before it is joined by example."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.errors import InputError, listed
from tfaudit.readers.tables import TableFile
from tfaudit.runtime.names import clean_names, clean_texts
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.stats.one_hot import without_one_hot
from tfaudit.stats.ranking import scores_of_both

_IDS = ("example", "example_id", "id", "ids", "example_ids")
_LABELS = ("label", "labels", "target", "targets")
_TOP1 = (
    "class",
    "classes",
    "pred",
    "preds",
    "prediction",
    "predictions",
    "predicted",
    "top1",
    "answer",
    "answers",
)
_PROBABILITIES = ("probabilities", "probs", "softmax")
_SCORES = ("scores", "logits", *_PROBABILITIES)
_ONE_SCORE = ("score", "logit", "probability", *_SCORES)
_MEMBERS = ("member", "members")
_BLOCK_VALUES = 2**22

Columns = Sequence[int] | None
Scores = Callable[[Columns], Iterable[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Labels:
    """The true classes."""

    path: Path  # path of the file
    values: np.ndarray  # classes, (N,) integers, or text as the file has it
    ids: np.ndarray | None  # ids of the examples, (N,) text
    clusters: np.ndarray | None = None  # clusters of the examples, (N,)


@dataclasses.dataclass(frozen=True)
class PredictionSource:
    """The predictions of one member, or of several members in one table: either `top1` or `scores`."""

    where: str  # file and member, as text for errors
    rows: int  # number of rows
    ids: np.ndarray | None = None  # ids of the examples, (rows,) text
    members: np.ndarray | None = None  # (rows,) names of the members; None for a single one
    top1: np.ndarray | None = None  # best classes, (rows,) integers, or text as the file has it
    # Class names of the scores' columns; None if the file has none.
    columns: tuple[str, ...] | None = None
    width: int | None = None  # number of classes of the scores; None for top-1 classes
    # Whether the file says that its scores are probabilities; None if it does not say.
    probabilities: bool | None = None
    # takes the order of the columns, and yields the scores in blocks (n, width)
    scores: Scores = lambda order: ()


def read_labels(
    path: Path,
    id_name: str | None = None,
    column: str | None = None,
    cluster: str | None = None,
) -> Labels:
    """Read a file of labels, NPY, NPZ, CSV or Parquet; `id_name` is the column of ids in a table, as for `id_column`.

    `column` is the column, or array, of the labels; by default one with a usual name. Arrays may be one-hot. `cluster`
    is that of the clusters of examples; `cluster` by default, if there is one.

    Raises:
        InputError: the file cannot be read, or holds no column or array of labels.
    """
    file = _open(path)
    cluster = _named(file, cluster) or file.find((CLUSTER,))
    if isinstance(file, TableFile):
        column = _named(file, column) or file.find(_LABELS)
        if column is None:
            expected = "a column `label`, or a column named with --label-column"
            raise InputError(str(path), f"columns {listed(file.columns)}", expected)
        clusters = None if cluster is None else file.text(cluster)
        return Labels(path, file.text(column), _table_ids(file, id_name), clusters)
    name = _named(file, column) or file.find(_LABELS) or _only(file)
    if name is None:
        raise InputError(str(path), f"arrays {listed(file.names)}", "an array `labels`")
    values = without_one_hot(file.read(name))
    if values.ndim == 2 and values.dtype.kind in "iufb" and np.isin(values, (0, 1)).all():
        got = f"labels {values.shape} of several classes"
        raise InputError(str(path), got, "one class per example")
    if values.ndim != 1:
        raise InputError(str(path), f"labels {values.shape}", "labels (examples,)")
    clusters = None if cluster is None else file.read(cluster)
    return Labels(path, _classes(values, str(path)), _array_ids(file), clusters)


def read_sources(
    path: Path,
    id_name: str | None = None,
    column: str | None = None,
    probabilities: bool | None = None,
) -> list[PredictionSource]:
    """Read a file of predictions, classes or scores, as `read_labels` reads labels; scores are read on request.

    `column` is the column, or array, of the predictions. A single score per example is the score of class 1 of two;
    `probabilities` says whether such scores are probabilities or logits. By default they are probabilities if all lie
    in [0, 1].
    """
    file = _open(path)
    if isinstance(file, TableFile):
        return [_table_source(file, id_name, _named(file, column), probabilities)]
    return _array_sources(file, _named(file, column), probabilities)


def _named(file: TableFile | ArrayFile, name: str | None) -> str | None:
    """Return the name that a user chose, which must exist; None without a choice, or for an array without a name."""
    if name is None:
        return None
    kind, names = (
        ("columns", file.columns) if isinstance(file, TableFile) else ("arrays", file.names)
    )
    if tuple(names) == ("",):
        return None
    if name not in names:
        raise InputError(str(file.path), f"{kind} {listed(names)}", f"one that is called {name!r}")
    return name


def id_column(table: TableFile, id_name: str | None) -> str | None:
    """Return the column of ids: `id_name`, which must exist, else `example`, `example_id` or `id`, else None."""
    if id_name is not None and id_name not in table.columns:
        got = f"columns {listed(table.columns)}"
        raise InputError(str(table.path), got, f"a column {id_name!r}")
    return id_name or table.find(_IDS)


def open_table(path: Path) -> TableFile:
    """Open a table of further columns of the examples, or of raters' answers; refuse all but CSV and Parquet."""
    return _open(path, (".csv", ".parquet"))  # type: ignore[return-value]


def _open(
    path: Path, suffixes: Sequence[str] = (".csv", ".parquet", ".npy", ".npz")
) -> TableFile | ArrayFile:
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        kind = "an HDF5 file" if suffix in (".h5", ".hdf5") else "a file of unknown type"
        raise InputError(str(path), kind, f"a file {', '.join(suffixes)}")
    return (TableFile if suffix in (".csv", ".parquet") else ArrayFile)(path)


def _table_ids(table: TableFile, id_name: str | None) -> np.ndarray | None:
    name = id_column(table, id_name)
    return None if name is None else table.text(name)


def _array_ids(arrays: ArrayFile) -> np.ndarray | None:
    name = arrays.find(_IDS)
    if not name:
        return None
    ids = arrays.read(name)
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        got = f"ids {ids.dtype} {ids.shape}"
        raise InputError(str(arrays.path), got, "ids (examples,), integers or text")
    return clean_texts(ids.astype(str), str(arrays.path))


def _only(arrays: ArrayFile) -> str | None:
    """Return the name of the only array besides ids; None if there are several."""
    others = [name for name in arrays.names if name.lower() not in (*_IDS, CLUSTER)]
    return others[0] if len(others) == 1 else None


def _table_source(
    table: TableFile, id_name: str | None, column: str | None, probabilities: bool | None
) -> PredictionSource:
    path = str(table.path)
    rows = table.rows
    if not rows:
        raise InputError(path, "no rows", "a row per example")
    ids = _table_ids(table, id_name)
    member = table.find(_MEMBERS)
    members = None if member is None else table.text(member)
    if top1 := column or table.find(_TOP1):
        texts = table.text(top1)
        # A column found by its name, such as `class`, holds no scores.
        numbers = _fractions(texts) if column else None
        if numbers is not None:
            return _binary_source(path, numbers, ids, probabilities, members)
        return PredictionSource(path, rows, ids, members, top1=texts)
    facts = (id_column(table, id_name), member)
    columns = [name for name in table.columns if name not in facts and name.lower() not in _LABELS]
    if len(columns) == 1 and columns[0].lower() in _ONE_SCORE:
        values = np.concatenate(list(table.numbers(columns)))[:, 0]
        return _binary_source(path, values, ids, probabilities, members)
    if "" in columns:
        got = f"column {table.columns.index('')} without a name"
        expected = "a name for every column; a column of ids is called `example`"
        raise InputError(path, got, expected)
    if len(columns) < 2:
        expected = "a column `prediction`, or scores in a column per class"
        raise InputError(path, f"columns {listed(table.columns)}", expected)

    def scores(order: Columns) -> Iterator[np.ndarray]:
        return table.numbers(columns if order is None else [columns[i] for i in order])

    names = clean_names(columns, path)
    return PredictionSource(
        path, rows, ids, members, columns=names, width=len(names), scores=scores
    )


def _fractions(values: np.ndarray) -> np.ndarray | None:
    """Return numbers, perhaps stored as text, if at least one is a fraction; None for anything else."""
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
    return numbers if np.isfinite(numbers).all() and (numbers != np.floor(numbers)).any() else None


def _array_sources(
    arrays: ArrayFile, chosen: str | None, probabilities: bool | None
) -> list[PredictionSource]:
    path = str(arrays.path)
    name = _name_of_predictions(arrays, chosen)
    shape, dtype = arrays.shape_and_dtype(name)
    ids = _array_ids(arrays)
    if 0 in shape:
        raise InputError(path, f"an empty array {shape}", "at least one prediction")
    if dtype.kind == "f" and name.lower() not in _TOP1:
        scores = _one_score(arrays, name, shape)
        if scores is not None:
            rows = _by_member(path, scores, scores.ndim == 1)
            return [_binary_source(where, row, ids, probabilities) for where, row in rows.items()]
    if dtype.kind == "i" and len(shape) > 1 and (arrays.read(name) < 0).any():
        got = f"{dtype} {shape} with numbers below 0"
        expected = "classes from 0, or floats: scores of a quantized model less its zero point, times its scale"
        raise InputError(path, got, expected)
    top1 = dtype.kind in "iuU" or len(shape) == 1 or name.lower() == "top1"
    if len(shape) not in ((1, 2) if top1 else (2, 3)):
        floats = "floats (examples, classes) or (members, examples, classes)"
        expected = f"top-1 classes (examples,) or (members, examples), or {floats}"
        raise InputError(path, f"{dtype} {shape}", expected)
    single = len(shape) == (1 if top1 else 2)
    if not top1:
        return _score_sources(arrays, name, ids, single)
    rows = _by_member(path, arrays.read(name), single)
    return [
        PredictionSource(where, len(row), ids, top1=_classes(row, where))
        for where, row in rows.items()
    ]


def _score_sources(
    arrays: ArrayFile, name: str, ids: np.ndarray | None, single: bool
) -> list[PredictionSource]:
    """Return the scores of one member, or of each; every pass reads them again, so that few are in memory at once."""
    shape, dtype = arrays.shape_and_dtype(name)
    read = functools.partial(arrays.read, name)
    cached = functools.cache(read)
    members = [lambda k=k: cached()[k] for k in range(shape[0])]
    passes = _by_member(str(arrays.path), read if single else members, single)
    if dtype.kind != "f":
        raise InputError(next(iter(passes)), f"scores of dtype {dtype}", "floats")
    return [
        PredictionSource(
            where,
            shape[-2],
            ids,
            width=shape[-1],
            probabilities=name.lower() in _PROBABILITIES or None,
            scores=_blocks(array),
        )
        for where, array in passes.items()
    ]


def _by_member(path: str, values: Any, single: bool) -> dict[str, Any]:
    """Return the values by the place that errors name: the file, or each of its members."""
    if single:
        return {path: values}
    return {f"{path}, member {k}": row for k, row in enumerate(values)}


def _blocks(read: Callable[[], np.ndarray]) -> Scores:
    """Return a function that yields an array of scores in blocks, with the columns in the order it is given."""

    def scores(order: Columns) -> Iterator[np.ndarray]:
        array = read()
        rows = max(1, _BLOCK_VALUES // array.shape[-1])
        for start in range(0, len(array), rows):
            block = array[start : start + rows]
            yield block if order is None else block[:, order]

    return scores


def _binary_source(
    path: str,
    scores: np.ndarray,
    ids: np.ndarray | None,
    probabilities: bool | None,
    members: np.ndarray | None = None,
) -> PredictionSource:
    """Return the scores of two classes from the scores of class 1."""
    both, probabilities = scores_of_both(scores, probabilities)
    blocks = _blocks(lambda: both)
    return PredictionSource(
        path, len(scores), ids, members, width=2, probabilities=probabilities, scores=blocks
    )


def _name_of_predictions(arrays: ArrayFile, chosen: str | None) -> str:
    """Return the name of the array with the predictions: the chosen one, scores, top-1 classes, or the only one."""
    if chosen is None and arrays.names != ("",):
        chosen = arrays.find(_SCORES)
    name = chosen or arrays.find(_TOP1) or _only(arrays)
    if name is None:
        expected = "predictions in an array `scores` or `top1`"
        raise InputError(str(arrays.path), f"arrays {listed(arrays.names)}", expected)
    return name


def _one_score(arrays: ArrayFile, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return `(N,)` or `(K, N)` scores of one class, the second of two; None for an array of anything else."""
    if len(shape) in (2, 3):
        return arrays.read(name)[..., 0] if shape[-1] == 1 else None
    return _fractions(arrays.read(name)) if len(shape) == 1 else None


def _classes(values: np.ndarray, where: str) -> np.ndarray:
    """Return integers or text; whole floats become integers."""
    if values.dtype.kind == "f" and not (values % 1).any() and np.isfinite(values).all():
        return values.astype(np.int64)
    if values.dtype.kind not in "iuU":
        raise InputError(where, f"classes of dtype {values.dtype}", "whole numbers or text")
    return clean_texts(np.asarray(values), where)
