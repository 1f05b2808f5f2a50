"""Predictions from files of any framework: CSV, Parquet, NPY and NPZ; data, never code.

A file of predictions holds scores (logits or probabilities) or top-1 classes, of one member or of several:

| file | scores | top-1 classes | ids |
|---|---|---|---|
| NPY | floats `(N, C)`, `(K, N, C)` | integers or text `(N,)`, `(K, N)` | none |
| NPZ | the same, called `scores`, `logits` or `probabilities` | called `top1` or `predictions` | `ids` |
| CSV, Parquet | a column per class, called as the class or 0 to C-1 | column `prediction` | column `example` or `id` |

A table may hold many members, told apart by a column `member`; beside a column `prediction` further ones are left
out. Example ids are joined, never assumed aligned: either every file has them, or none and all have the same length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.readers.classes import class_names, column_order, indices
from tfaudit.readers.joining import places, require_distinct, some
from tfaudit.readers.sources import Labels, Source, id_column, read_labels, read_sources
from tfaudit.readers.tables import Table
from tfaudit.stats.ranking import RankedClasses, rank_scores

__all__ = ["read_beside", "read_groups", "read_populations", "read_predictions", "read_table"]


def read_predictions(
    labels: Path, files: Sequence[Path], *, classes: Path | None = None, id_name: str | None = None, k: int = 5
) -> Predictions:
    r"""Reads one population.

    Args:
        labels: file of the true classes.
        files: of the predictions, one or several members each; members are numbered in this order.
        classes: text file with a name a line, or a JSON list; class i is the i-th.
        id_name: the column of example ids in tables; `example`, `example_id` or `id` by default.
        k: how many ranks to keep of scores.

    Raises:
        InputError: files that cannot be read, or do not fit each other; names the file and what is wrong.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     labels, answers = Path(folder, "labels.csv"), Path(folder, "answers.csv")
        ...     _ = labels.write_text("id,label\na,cat\nb,dog\nc,dog\n")
        ...     _ = answers.write_text("id,prediction\nc,dog\na,cat\nb,cat\n")
        ...     predictions = read_predictions(labels, [answers])
        >>> predictions.class_names, predictions.top1
        (('cat', 'dog'), array([[0, 0, 1]]))
    """
    return read_populations(labels, {"": files}, classes=classes, id_name=id_name, k=k)[""]


def read_populations(
    labels: Path,
    populations: Mapping[str, Sequence[Path]],
    *,
    classes: Path | None = None,
    id_name: str | None = None,
    k: int = 5,
) -> dict[str, Predictions]:
    """Reads several populations that answer the same examples; see `read_predictions`.

    Raises:
        InputError: files that cannot be read, or do not fit each other; names the file and what is wrong.
    """
    truth = read_labels(labels, id_name)
    if not len(truth.values):
        raise InputError(f"{labels}: holds no labels")
    if truth.ids is not None:
        require_distinct(truth.ids, str(labels))
    sources = {name: [s for path in files for s in read_sources(path, id_name)] for name, files in populations.items()}
    everything = [source for members in sources.values() for source in members]
    names = class_names(classes, truth, everything)
    true = indices(truth.values, names, str(labels))
    top1 = {source.where: indices(source.top1, names, source.where) for source in everything if source.top1 is not None}
    if names is None:
        widths = [source.width for source in everything if source.width is not None]
        names = tuple(
            map(str, range(widths[0] if widths else 1 + max(found.max() for found in (true, *top1.values()))))
        )
        for where, found in {str(labels): true, **top1}.items():
            indices(found, names, where)  # refuses classes beyond the scores
    return {name: _population(truth, true, members, top1, names, k) for name, members in sources.items()}


def read_groups(path: Path, labels: Path, *, id_name: str | None = None) -> pd.DataFrame:
    """Reads the columns beside the predictions, such as writer or attribute, in the order of the labels.

    Args:
        path: CSV or Parquet; rows of further examples are left out.
        labels: file of the true classes.
        id_name: the column of ids; looked for by default.

    Returns:
        N rows.

    Raises:
        InputError: a file that cannot be read, an example that is missing, or ids in one of the two alone.
    """
    truth = read_labels(labels, id_name)
    return read_beside(path, truth.ids, len(truth.values), str(labels), id_name=id_name)


def read_beside(
    path: Path, ids: np.ndarray | None, examples: int, wanted_in: str, *, id_name: str | None = None
) -> pd.DataFrame:
    """Reads columns beside examples that are known already, in their order.

    Args:
        path: CSV or Parquet; rows of further examples are left out.
        ids: `(N,)` of the examples, or None: the rows are in their order.
        examples: N.
        wanted_in: where the examples are, for errors.
        id_name: the column of ids; looked for by default.

    Returns:
        N rows, without the column of ids.

    Raises:
        InputError: as `read_groups`.
    """
    table = read_table(path)
    name = id_column(table, id_name)
    found = None if name is None else table.text(name)
    frame = table.frame()
    rows = places(ids, found, str(path), wanted_in=wanted_in, rows=(examples, len(frame)))
    return frame.drop(columns=[] if name is None else name).iloc[rows].reset_index(drop=True)


def read_table(path: Path) -> Table:
    """A table of columns beside the predictions, or of answers to a survey.

    Raises:
        InputError: neither CSV nor Parquet, or a file that cannot be read.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(path, "of unknown kind", "tables, .csv or .parquet")
    return Table(path)


def _population(
    truth: Labels,
    true: np.ndarray,
    sources: Sequence[Source],
    top1: Mapping[str, np.ndarray],
    names: tuple[str, ...],
    k: int,
) -> Predictions:
    if not sources:
        raise InputError("files: none are given")
    ranked, members = [], []
    for source in sources:
        if (source.top1 is None) != (sources[0].top1 is None):
            first, here = ("scores", "top-1 classes")[:: 1 if source.top1 is not None else -1]
            raise InputError(
                f"{source.where}: holds {here}, but {sources[0].where} {first}; a population needs one kind"
            )
        answers = _ranked(source, names, k) if source.top1 is None else RankedClasses(top1[source.where][:, None])
        for member, rows in _members(source):
            order = rows[_places(truth, source, rows, member)]
            ranked.append(answers.take(order))
            members.append(member)
    return Predictions.from_ranked(
        true,
        ranked,
        class_names=names,
        example_ids=truth.ids,
        members=None if None in members else _distinct(members, sources),
    )


def _ranked(source: Source, names: tuple[str, ...], k: int) -> RankedClasses:
    try:
        classes, probabilities = rank_scores(source.scores(column_order(source, names)), k=k)
    except InputError as problem:
        if problem.argument != "scores":  # the file names itself
            raise
        raise InputError(source.where, problem.got, problem.expected) from None
    return RankedClasses(classes, probabilities.astype(np.float32))


def _members(source: Source) -> list[tuple[str | int | None, np.ndarray]]:
    """Names of a source's members and their rows."""
    if source.members is None:
        return [(None, np.arange(source.rows))]
    codes, names = pd.factorize(source.members)
    return [(int(name) if name.isdecimal() else str(name), np.flatnonzero(codes == i)) for i, name in enumerate(names)]


def _places(truth: Labels, source: Source, rows: np.ndarray, member: object) -> np.ndarray:
    """The row, among those of one member, of each example."""
    where = source.where if member is None else f"{source.where}, member {member}"
    ids = None if source.ids is None else source.ids[rows]
    found = places(truth.ids, ids, where, wanted_in=str(truth.path), rows=(len(truth.values), len(rows)))
    if ids is not None and len(rows) > len(found):
        strangers = ids[np.delete(np.arange(len(rows)), found)]
        raise InputError(f"{where}: {len(strangers)} examples are not in {truth.path}: {some(strangers)}")
    return found


def _distinct(members: list[str | int | None], sources: Sequence[Source]) -> list[str | int | None]:
    """Members of several tables, each in one of them."""
    twice = [member for member in members if members.count(member) > 1]
    if twice:
        raise InputError(
            f"{sources[-1].where}: member {twice[0]!r} is in another file, too; a member is one set of answers"
        )
    return members
