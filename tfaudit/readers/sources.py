"""The content of files of labels and of predictions, before it is joined by example."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.errors import InputError, plural
from tfaudit.readers.column_plan import (
    CLUSTER,
    ID,
    LABEL,
    MEMBER,
    PREDICTION,
    PROBABILITIES,
    SCALE,
    SCORE,
    ZERO_POINT,
    ColumnPlan,
    StatedColumns,
    fractions,
    plan_labels,
    plan_predictions,
)
from tfaudit.readers.raw_scores import (
    DequantizedArrays,
    OutputScale,
    require_one_scale,
    scale_in,
)
from tfaudit.readers.score_columns import KnownClasses
from tfaudit.readers.tables import MISSING, WHOLE_NUMBERS, TableFile
from tfaudit.runtime.names import clean_names, clean_texts
from tfaudit.stats.one_hot import without_one_hot
from tfaudit.stats.ranking import scores_of_both

_BLOCK_VALUES = 2**22

Columns = Sequence[int] | None
Scores = Callable[[Columns], Iterable[np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class Labels:
    """The true classes."""

    file: TableFile | ArrayFile
    plan: ColumnPlan  # what the file's columns are read as
    values: np.ndarray  # classes, (N,) integers, or text as the file has it
    ids: np.ndarray | None  # ids of the examples, (N,) text
    clusters: np.ndarray | None = None  # clusters of the examples, (N,)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.file.path


@dataclasses.dataclass(frozen=True, eq=False)
class PredictionSource:
    """The predictions of one member, or of several members in one table: either `top1` or `scores`."""

    where: str  # file and member, as text for errors
    rows: int  # number of rows
    file: TableFile | ArrayFile
    plan: ColumnPlan  # what the file's columns are read as
    ids: np.ndarray | None = None  # ids of the examples, (rows,) text
    # The file's own labels, (rows,) as in `Labels`, by column.
    labels: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    members: np.ndarray | None = None  # (rows,) names of the members; None for a single one
    top1: np.ndarray | None = None  # best classes, (rows,) integers, or text as the file has it
    # Class names of the scores' columns; None if the file has none.
    columns: tuple[str, ...] | None = None
    width: int | None = None  # number of classes of the scores; None for top-1 classes
    # Whether the file says that its scores are probabilities; None if it does not say.
    probabilities: bool | None = None
    is_raw: bool = False  # whether the file holds integers that a scale makes scores
    # takes the order of the columns, and yields the scores in blocks (n, width)
    scores: Scores = lambda order: ()

    @property
    def content(self) -> str:
        """What the predictions are, in words."""
        if self.width is None:
            return "classes"
        kind = {True: "probabilities", False: "logits", None: "scores"}[self.probabilities]
        return f"{kind} of {self.width} classes"


def read_labels(path: Path, stated: StatedColumns, classes: Sequence[str] = ()) -> Labels:
    """Read a file of labels, NPY, NPZ, CSV or Parquet; arrays may be one-hot.

    Args:
        path: the file.
        stated: columns, or arrays, that the user names.
        classes: names in a class list, which may be "NA"; otherwise that is a missing label.

    Raises:
        InputError: the file cannot be read, holds no column or array of labels, or labels are missing.
    """
    file = open_file(path)
    plan = plan_labels(file, stated)
    (values,) = _labels(file, plan).values()
    _require_classes(values, plan, LABEL, classes)
    return Labels(file, plan, values, _ids(file, plan), _clusters(file, plan))


def read_sources(
    path: Path,
    stated: StatedColumns,
    known: KnownClasses,
    probabilities: bool | None = None,
    scale: OutputScale | None = None,
) -> list[PredictionSource]:
    """Read a file of predictions, classes or scores, as `read_labels` reads labels; scores are read on request.

    A single score per example is the score of class 1 of two; `probabilities` says whether such scores are
    probabilities or logits. By default their values decide, as in `scores_of_both`. `scale` is that of raw integer
    scores, which a file of arrays may hold itself.
    """
    file = open_file(path)
    if isinstance(file, TableFile) and not file.rows:
        raise InputError(str(path), "no rows", "a row per example")
    plan = plan_predictions(file, stated, known)
    common: dict[str, Any] = {
        "file": file,
        "plan": plan,
        "ids": _ids(file, plan),
        "labels": _labels(file, plan),
    }
    if isinstance(file, TableFile):
        return [_table_source(file, plan, known, probabilities, scale, common)]
    arrays = _dequantized(file, plan, scale)
    common["is_raw"] = arrays is not file
    return _array_sources(arrays, plan, known, probabilities, common)


def open_table(path: Path) -> TableFile:
    """Open a table of further columns of the examples, or of raters' answers; refuse all but CSV and Parquet."""
    return open_file(path, (".csv", ".parquet"))  # type: ignore[return-value]


def open_file(
    path: Path, suffixes: Sequence[str] = (".csv", ".parquet", ".npy", ".npz")
) -> TableFile | ArrayFile:
    """Open a table or a file of arrays by its suffix; refuse others."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        kind = "an HDF5 file" if suffix in (".h5", ".hdf5") else "a file of unknown type"
        raise InputError(str(path), kind, f"a file {', '.join(suffixes)}")
    return (TableFile if suffix in (".csv", ".parquet") else ArrayFile)(path)


def _ids(file: TableFile | ArrayFile, plan: ColumnPlan) -> np.ndarray | None:
    name = plan.column(ID)
    if name is None:
        return None
    if isinstance(file, TableFile):
        return file.text(name)
    ids = file.read(name)
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        got = f"ids {ids.dtype} {ids.shape}"
        raise InputError(plan.where, got, "ids (examples,), integers or text")
    return clean_texts(ids.astype(str), plan.where)


def _clusters(file: TableFile | ArrayFile, plan: ColumnPlan) -> np.ndarray | None:
    name = plan.column(CLUSTER)
    if name is None:
        return None
    if isinstance(file, TableFile):
        cells = file.cells(name)
        return np.array([cell or None for cell in cells], object)  # one without is its own
    return file.read(name)


def _labels(file: TableFile | ArrayFile, plan: ColumnPlan) -> dict[str, np.ndarray]:
    """Return the labels in a file by column."""
    return {name: _labels_in(file, plan, name) for name in plan.columns(LABEL)}


def _labels_in(file: TableFile | ArrayFile, plan: ColumnPlan, name: str) -> np.ndarray:
    if isinstance(file, TableFile):
        return file.text(name)
    values = without_one_hot(file.read(name))
    if values.ndim == 2 and values.dtype.kind in "iufb" and np.isin(values, (0, 1)).all():
        got = f"labels {values.shape} of several classes"
        raise InputError(plan.where, got, "one class per example")
    if values.ndim != 1:
        raise InputError(plan.where, f"labels {values.shape}", "labels (examples,)")
    return _classes(values, plan.where)


def _require_classes(
    values: np.ndarray, plan: ColumnPlan, role: str, classes: Sequence[str]
) -> None:
    """Raise an `InputError` for missing values, which R and pandas write as words, unless a class list has the word."""
    if values.dtype.kind != "U":
        return
    rows = np.flatnonzero(np.isin(values, sorted(MISSING.difference(classes))))
    if len(rows):
        word = str(values[rows[0]])
        place = (
            f"{plural(len(rows), 'row')} of column {plan.column(role)!r}, first in row {rows[0]}"
        )
        got = f"{word!r}, a missing value, in {place}"
        expected = f"a class in every row; a class list (--classes FILE) that names {word} makes it a class"
        raise InputError(plan.where, got, expected)


def _table_source(
    table: TableFile,
    plan: ColumnPlan,
    known: KnownClasses,
    probabilities: bool | None,
    scale: OutputScale | None,
    common: dict[str, Any],
) -> PredictionSource:
    rows = table.rows
    member = plan.column(MEMBER)
    common["members"] = None if member is None else table.text(member)
    prediction = plan.column(PREDICTION)
    if prediction is not None:
        texts = table.text(prediction)
        _require_classes(texts, plan, PREDICTION, known.names if known.complete else ())
        return PredictionSource(plan.where, rows, **common, top1=texts)
    columns = [*plan.scores]
    raw = scale if all(table.kinds[name] == WHOLE_NUMBERS for name in columns) else None
    common["is_raw"] = raw is not None

    def numbers(wanted: Sequence[str]) -> Iterator[np.ndarray]:
        blocks = table.numbers(wanted)
        return map(raw.scores, blocks) if raw else iter(blocks)

    if len(columns) == 1:
        values = np.concatenate([*numbers(columns)])[:, 0]
        return _binary_source(plan.where, values, probabilities, common)

    def scores(order: Columns) -> Iterator[np.ndarray]:
        return numbers(columns if order is None else [columns[i] for i in order])

    names = clean_names(plan.scores.values(), plan.where)
    return PredictionSource(
        plan.where, rows, **common, columns=names, width=len(names), scores=scores
    )


def _dequantized(arrays: ArrayFile, plan: ColumnPlan, stated: OutputScale | None) -> ArrayFile:
    """Return the arrays, with float scores in place of raw ones: integers that a scale is known for."""
    own = scale_in(arrays, plan.column(SCALE), plan.column(ZERO_POINT))
    scale = require_one_scale(plan.where, own, stated)
    (name,) = plan.columns(PREDICTION, SCORE)
    shape, dtype = arrays.shape_and_dtype(name)
    if scale is None or dtype.kind not in "iu" or name.lower() == "top1":
        return arrays
    return DequantizedArrays(arrays, {name}, scale) if own or len(shape) > 1 else arrays


def _array_sources(
    arrays: ArrayFile,
    plan: ColumnPlan,
    known: KnownClasses,
    probabilities: bool | None,
    common: dict[str, Any],
) -> list[PredictionSource]:
    (name,) = plan.columns(PREDICTION, SCORE)
    shape, dtype = arrays.shape_and_dtype(name)
    if 0 in shape:
        raise InputError(plan.where, f"an empty array {shape}", "at least one prediction")
    scores = _one_score(arrays, name, shape, dtype)
    if scores is not None:
        rows = _by_member(plan.where, scores, scores.ndim == 1)
        return [_binary_source(where, row, probabilities, common) for where, row in rows.items()]
    top1 = dtype.kind in "iuU" or len(shape) == 1 or name.lower() == "top1"
    if len(shape) not in ((1, 2) if top1 else (2, 3)):
        floats = "floats (examples, classes) or (members, examples, classes)"
        expected = f"top-1 classes (examples,) or (members, examples), or {floats}"
        raise InputError(plan.where, f"{dtype} {shape}", expected)
    single = len(shape) == (1 if top1 else 2)
    if not top1:
        return _score_sources(arrays, name, single, common)
    values = arrays.read(name)
    _refuse_raw_scores(values, plan.where, known)
    rows = _by_member(plan.where, values, single)
    return [
        PredictionSource(where, len(row), **common, top1=_classes(row, where))
        for where, row in rows.items()
    ]


def _refuse_raw_scores(values: np.ndarray, where: str, known: KnownClasses) -> None:
    """Raise an `InputError` for integers `(N, C)`: they are scores of a quantized model, not classes `(K, N)`."""
    if values.ndim != 2 or values.dtype.kind not in "iu":
        return
    if (values < 0).any() or known.examples == len(values) != values.shape[1]:
        raw = "for raw scores of a quantized model, state --scale and --zero-point of its output"
        expected = f"classes from 0 of shape (members, {known.examples}), or floats; {raw}"
        raise InputError(where, f"{values.dtype} {values.shape}", expected)


def _score_sources(
    arrays: ArrayFile, name: str, single: bool, common: dict[str, Any]
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
            **common,
            width=shape[-1],
            probabilities=name.lower() in PROBABILITIES or None,
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
    where: str, scores: np.ndarray, probabilities: bool | None, common: dict[str, Any]
) -> PredictionSource:
    """Return the scores of two classes from the scores of class 1."""
    try:
        both, probabilities = scores_of_both(scores, probabilities)
    except InputError as problem:
        raise InputError(where, problem.got, problem.expected) from None
    blocks = _blocks(lambda: both)
    return PredictionSource(
        where, len(scores), **common, width=2, probabilities=probabilities, scores=blocks
    )


def _one_score(
    arrays: ArrayFile, name: str, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray | None:
    """Return `(N,)` or `(K, N)` floats, scores of one class, the second of two; None for an array of anything else."""
    if dtype.kind != "f":
        return None
    if len(shape) == 1:
        return fractions(arrays.read(name))
    is_one = len(shape) in (2, 3) and shape[-1] == 1 and name.lower() != "top1"
    return arrays.read(name)[..., 0] if is_one else None


def _classes(values: np.ndarray, where: str) -> np.ndarray:
    """Return integers or text; whole floats become integers."""
    if values.dtype.kind == "f" and not (values % 1).any() and np.isfinite(values).all():
        return values.astype(np.int64)
    if values.dtype.kind not in "iuU":
        raise InputError(where, f"classes of dtype {values.dtype}", "whole numbers or text")
    return clean_texts(np.asarray(values), where)
