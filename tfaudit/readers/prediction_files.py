"""Predictions of any framework, read from CSV, Parquet, NPY and NPZ files: data, never code.

A file of predictions holds scores (logits or probabilities) or top-1 classes, of one member or of several:

| file | scores | top-1 classes | ids |
|---|---|---|---|
| NPY | floats `(N, C)`, `(K, N, C)` | integers or text `(N,)`, `(K, N)` | none |
| NPZ | the same, named `scores`, `logits` or `probabilities` | named `top1` or `predictions` | `ids` |
| CSV, Parquet | a column per class, with its name or number | column `prediction` | column `example` or `id` |

A table may hold several members, distinguished by a column `member`; if it has a column `prediction`, further columns
are ignored. Raw integer scores of a quantized model are read with the scale of its output. What each column is read as
is the file's `ColumnPlan`, in `Predictions.read_as`. Predictions are joined by example id: either every file has ids,
or none has and all are of one length. A file's own labels must be the labels.
"""

import dataclasses
import functools
import itertools
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, Notice, listed, path_of, require_type
from tfaudit.predictions import Predictions
from tfaudit.readers.classes import (
    class_indices,
    class_names,
    column_order,
    known_classes,
    listed_classes,
)
from tfaudit.readers.column_plan import (
    GROUP,
    ID,
    LABEL,
    PREDICTION,
    ColumnPlan,
    StatedColumns,
    columns_of,
    labels_by_name,
    plan_groups,
    plan_predictions,
)
from tfaudit.readers.raw_scores import OutputScale, stated_scale
from tfaudit.readers.row_order import (
    refuse_labels,
    require_same_labels,
    require_same_order,
)
from tfaudit.readers.score_columns import KnownClasses
from tfaudit.readers.sources import (
    Labels,
    PredictionSource,
    open_file,
    open_table,
    read_labels,
    read_sources,
)
from tfaudit.readers.tables import TableFile
from tfaudit.stats.ranking import RankedClasses, rank_scores, stated_kind


def read_predictions(
    labels: str | Path,
    files: str | Path | Sequence[str | Path],
    *,
    classes: str | Path | None = None,
    id_name: str | None = None,
    k: int = 5,
    scores_are: str = "auto",
    label_column: str | None = None,
    prediction_column: str | None = None,
    cluster: str | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Predictions:
    r"""Read the predictions of one population.

    Args:
        labels: file of the true classes.
        files: file or files of the predictions, with one member or several each; members are numbered in this order.
        classes: file of the class names, one per line or a JSON list, in the order of the class numbers.
        id_name: column of example ids in tables; `example`, `example_id` or `id` by default.
        k: number of best classes to keep of scores.
        scores_are: kind of the scores, "probabilities", "logits", or "auto", as in `Predictions.from_scores`. An NPZ
            array named probabilities, probs or softmax is known to hold probabilities.
        label_column: column, or array, of the labels; by default one with a usual name.
        prediction_column: column, or array, of the predictions, or a pattern such as `prob_*` that matches the columns
            of scores; by default those with usual names.
        cluster: column, or array, of the file of labels that names the cluster of each example, such as its film;
            `cluster` by default, if there is one. Intervals are then over clusters.
        scale: scale of a quantized model's output, for files of its raw integer scores `(N, C)`, which stand for
            `scale * (raw - zero_point)`. An NPZ file may hold it itself, as an array `scale`.
        zero_point: zero point of the same output, 0 by default; `zero_point` in an NPZ file.

    Raises:
        InputError: files that cannot be read or do not fit each other; the error names the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     labels, answers = Path(folder, "labels.csv"), Path(folder, "predictions.csv")
        ...     _ = labels.write_text("id,label\na,cat\nb,dog\nc,dog\n")
        ...     _ = answers.write_text("id,prediction\nc,dog\na,cat\nb,cat\n")
        ...     predictions = read_predictions(labels, [answers])
        >>> predictions.class_names, predictions.top1
        (('cat', 'dog'), array([[0, 0, 1]]))
    """
    several = [files] if isinstance(files, str | os.PathLike) else files
    require_type("a path, or a list of paths", Iterable, files=several)
    source = PredictionFiles(
        labels=path_of("labels", labels),
        classes=None if classes is None else path_of("classes", classes),
        id_name=id_name,
        scores_are=scores_are,
        label_column=label_column,
        prediction_column=prediction_column,
        cluster=cluster,
        scale=stated_scale(scale, zero_point),
    )
    paths = [path_of("files", file) for file in several]
    return read_populations(source, {"": paths}, k=k)[""]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictionFiles:
    """The file of the true classes, and how it and files of predictions are read; fields as in `read_predictions`."""

    labels: Path
    classes: Path | None = None
    id_name: str | None = None
    scores_are: str = "auto"
    label_column: str | None = None
    prediction_column: str | None = None
    cluster: str | None = None
    scale: OutputScale | None = None

    @property
    def stated(self) -> StatedColumns:
        """The columns that the user names."""
        return StatedColumns(self.id_name, self.label_column, self.cluster, self.prediction_column)

    @functools.cached_property
    def in_list(self) -> KnownClasses:
        """The classes in the class list."""
        return listed_classes(self.classes)

    @functools.cached_property
    def truth(self) -> Labels:
        """The true classes, with the ids and clusters of the examples."""
        return read_labels(self.labels, self.stated, self.in_list.names)


def read_populations(
    source: PredictionFiles, populations: Mapping[str, Sequence[Path]], *, k: int = 5
) -> dict[str, Predictions]:
    """Read the predictions of several populations on the same examples; `populations` holds the files by name.

    `k` and the errors are as in `read_predictions`.
    """
    labels = source.labels
    probabilities = stated_kind(source.scores_are)
    truth = source.truth
    if not len(truth.values):
        raise InputError(str(labels), "no labels", "at least one")
    if truth.ids is not None:
        _require_distinct(truth.ids, str(labels))
    known = known_classes(source.in_list, truth)
    by_population = {
        name: [
            one
            for path in files
            for one in read_sources(path, source.stated, known, probabilities, source.scale)
        ]
        for name, files in populations.items()
    }
    sources = [*itertools.chain.from_iterable(by_population.values())]
    _require_raw(source.scale, sources)
    for notice in dict.fromkeys(one.plan.notice for one in sources if one.plan.notice):
        warnings.warn(Notice(notice), stacklevel=3)
    names = class_names(known, truth, sources)
    true = class_indices(truth.values, names, str(labels))
    top1 = {s.where: class_indices(s.top1, names, s.where) for s in sources if s.top1 is not None}
    widths = [one.width for one in sources if one.width is not None]
    listed = names is not None or widths != []
    if names is None:
        numbered = {str(labels): true, **top1}
        largest = max(int(classes.max()) for classes in numbered.values())
        names = tuple(map(str, range([*widths, 1 + largest][0])))
        for where, numbers in numbered.items():
            class_indices(numbers, names, where)  # refuses classes beyond the scores
    return {
        name: _population(truth, true, members, top1, names, k, probabilities, listed=listed)
        for name, members in by_population.items()
    }


def _require_raw(scale: OutputScale | None, sources: Sequence[PredictionSource]) -> None:
    """Raise an `InputError` for a scale that no file needs."""
    if scale is not None and not any(one.is_raw for one in sources):
        expected = "a file of raw integer scores (N, classes)"
        raise InputError("scale", f"{scale.scale:g} for files of floats or classes", expected)


def plan_of_file(
    path: Path, stated: StatedColumns, classes: Path | None = None, labels: Path | None = None
) -> ColumnPlan:
    """Return what each column, or array, of a file of predictions is read as.

    Args:
        path: the file.
        stated: columns, or arrays, that the user names.
        classes: file of the class names, as in `read_predictions`.
        labels: file of the true classes; by default the file itself, if it has labels.

    Raises:
        InputError: as in `read_predictions`.
    """
    file = open_file(path)
    columns = columns_of(file)
    if stated.label in columns or labels_by_name(columns):
        labels = labels or path
    known = listed_classes(classes)
    if labels is not None:
        known = known_classes(known, read_labels(labels, stated, known.names))
    return plan_predictions(file, stated, known)


def read_groups(path: Path, source: PredictionFiles) -> pd.DataFrame:
    """Read group columns, such as writer or attribute, in the order of the N labels, without the column of ids.

    Args:
        path: CSV or Parquet file; rows of other examples are ignored.
        source: the true classes and the columns of their files.

    Raises:
        InputError: a file that cannot be read, a missing example, ids in only one of the two files, or labels of its
            own that show another order of rows.
    """
    truth = source.truth
    table = open_table(path)
    plan = plan_groups(table, source.stated)
    if truth.ids is None:
        require_same_order(truth, plan, table)
    rows = _table_rows(table, plan, truth.ids, len(truth.values), str(source.labels))
    names, true = np.unique(truth.values.astype(str), return_inverse=True)
    columns = (*plan.columns(LABEL), *labels_by_name(plan.columns(GROUP)))
    own = {column: table.cells(column)[rows] for column in columns}
    labels = {column: cells for column, cells in own.items() if {*cells} == {*names}}
    require_same_labels(truth, true, plan, table, labels, names.tolist())
    return _groups(table, plan, rows)


def read_columns(
    path: Path, ids: np.ndarray | None, examples: int, reference: str, *, id_name: str | None = None
) -> pd.DataFrame:
    """Read the columns of a table in the order of the N `examples` of the file `reference`; otherwise as `read_groups`.

    `ids` are those of the examples, None without any; `id_name` is the column of ids, as for `read_predictions`.
    """
    table = open_table(path)
    plan = plan_groups(table, StatedColumns(id_name))
    return _groups(table, plan, _table_rows(table, plan, ids, examples, reference))


def _table_rows(
    table: TableFile, plan: ColumnPlan, ids: np.ndarray | None, examples: int, reference: str
) -> np.ndarray:
    """Return the row of each example, `(N,)`."""
    name = plan.column(ID)
    own = None if name is None else table.text(name)
    counts = (examples, table.rows)
    return _matching_rows(ids, own, plan.where, reference=reference, counts=counts)


def _groups(table: TableFile, plan: ColumnPlan, rows: np.ndarray) -> pd.DataFrame:
    return table.frame(plan.columns(GROUP)).iloc[rows].reset_index(drop=True)


def _population(
    truth: Labels,
    true: np.ndarray,
    sources: Sequence[PredictionSource],
    top1: Mapping[str, np.ndarray],
    names: tuple[str, ...],
    k: int,
    probabilities: bool | None,
    *,
    listed: bool,
) -> Predictions:
    if not sources:
        raise InputError("files", "none", "at least one file of predictions")
    ranked: list[RankedClasses] = []
    members: list[str | int | None] = []
    for source in sources:
        _require_same_rows(truth, source)
        if (source.top1 is None) != (sources[0].top1 is None):
            kinds = ("scores", "top-1 classes")[:: 1 if source.top1 is None else -1]
            raise InputError(source.where, kinds[0], f"{kinds[1]}, as in {sources[0].where}")
        if source.top1 is None:
            known = source.probabilities if probabilities is None else probabilities
            classes = _ranked(source, names, k, known)
        else:
            classes = RankedClasses(top1[source.where][:, None])
        for member, rows in _members(source):
            if member is not None and member in members:
                got = f"member {member!r}, as in another file"
                raise InputError(source.where, got, "each member in one file")
            rows = rows[_member_rows(truth, source, rows, member)]
            own = {name: values[rows] for name, values in source.labels.items()}
            require_same_labels(truth, true, source.plan, source.file, own, names)
            ranked.append(classes.take(rows))
            members.append(member)
            refuse_labels(truth, true, source.plan, ranked[-1].classes[:, 0])
    return Predictions.from_ranked(
        true,
        ranked,
        class_names=names,
        listed=listed,
        example_ids=truth.ids,
        members=None if None in members else members,
        clusters=truth.clusters,
        read_as=_read_as(truth, sources),
    )


def _require_same_rows(truth: Labels, source: PredictionSource) -> None:
    """Raise an `InputError` if a file's predictions are the labels, or its arrays or columns show other rows."""
    read = source.plan.column(PREDICTION)
    if read == truth.plan.column(LABEL) and source.file.path.samefile(truth.path):
        got = f"{f'column {read!r}' if read else 'the array'}, which holds the labels"
        raise InputError(source.where, got, "predictions, in another column or another file")
    for noun, values in {"ids": source.ids, **source.labels}.items():
        if values is not None and len(values) != source.rows:
            expected = f"{source.rows}, one per example"
            raise InputError(source.where, f"{len(values)} {noun}", expected)
    if truth.ids is None and source.ids is None:
        require_same_order(truth, source.plan, source.file)


def _read_as(truth: Labels, sources: Sequence[PredictionSource]) -> list[str]:
    """Return what files were read as, one line per plan."""
    paths: dict[str, list[str]] = {}
    for source in sources:
        text = f"{source.plan.text} ({source.content})"
        paths.setdefault(text, []).append(source.plan.where)
    lines = (f"{listed([*dict.fromkeys(where)], 2)}: {text}" for text, where in paths.items())
    return [str(truth.plan), *lines]


def _ranked(
    source: PredictionSource, names: tuple[str, ...], k: int, probabilities: bool | None
) -> RankedClasses:
    try:
        scores = source.scores(column_order(source, names))
        ranked = rank_scores(scores, k=k, probabilities=probabilities)
    except InputError as problem:
        if problem.argument != "scores":  # the error names the file already
            raise
        raise InputError(source.where, problem.got, problem.expected) from None
    return RankedClasses(ranked.classes, np.asarray(ranked.probabilities, np.float32), ranked.ties)


def _members(source: PredictionSource) -> list[tuple[str | int | None, np.ndarray]]:
    """Return the names of a source's members and their rows."""
    if source.members is None:
        return [(None, np.arange(source.rows))]
    codes, names = pd.factorize(source.members)
    return [
        (int(name) if name.isdecimal() else str(name), np.flatnonzero(codes == i))
        for i, name in enumerate(names)
    ]


def _member_rows(
    truth: Labels, source: PredictionSource, rows: np.ndarray, member: object
) -> np.ndarray:
    """Return the position of each example among the rows of a member."""
    where = source.where if member is None else f"{source.where}, member {member}"
    ids = None if source.ids is None else source.ids[rows]
    positions = _matching_rows(
        truth.ids, ids, where, reference=str(truth.path), counts=(len(truth.values), len(rows))
    )
    if ids is not None and len(rows) > len(positions):
        unknown = ids[np.delete(np.arange(len(rows)), positions)]
        problem = f"{len(unknown)} unknown examples: {listed(unknown.tolist(), 3)}"
        raise InputError(where, problem, f"examples of {truth.path}")
    return positions


def _matching_rows(
    wanted: np.ndarray | None,
    ids: np.ndarray | None,
    where: str,
    *,
    reference: str,
    counts: tuple[int, int],
) -> np.ndarray:
    """Return the row of a file that belongs to each example, `(N,)`; rows of other examples are ignored.

    `wanted` are the ids of the examples in the file `reference`, `ids` those in the file `where`; both are None if
    there are no ids. Then `counts`, N and the number of rows, must agree.

    Example:
        >>> _matching_rows(np.array(["a", "b"]), np.array(["b", "c", "a"]), "p.csv", reference="l.csv", counts=(2, 3))
        array([2, 0])
    """
    if (wanted is None) != (ids is None):
        having, lacking = (reference, where) if ids is None else (where, reference)
        raise InputError(lacking, "no example ids", f"ids, as in {having}, or ids in neither file")
    if wanted is None or ids is None:
        if counts[0] != counts[1]:
            raise InputError(where, f"{counts[1]} examples", f"{counts[0]}, as in {reference}")
        return np.arange(counts[0])
    _require_distinct(ids, where)
    positions = pd.Index(ids).get_indexer(pd.Index(wanted))
    if (positions < 0).any():
        missing = wanted[positions < 0].tolist()
        problem = f"no rows for {len(missing)} examples: {listed(missing, 3)}"
        raise InputError(where, problem, f"a row for every example of {reference}")
    return positions


def _require_distinct(ids: np.ndarray, where: str) -> None:
    repeated = ids[pd.Index(ids).duplicated()]
    if len(repeated):
        names = listed(np.unique(repeated).tolist(), 3)
        raise InputError(where, f"{len(repeated)} repeated ids: {names}", "distinct ids")
