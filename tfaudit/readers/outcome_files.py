"""Outcomes of examples, read from CSV, Parquet, NPY and JSON lines, or from samples of lm-evaluation-harness.

A table or a file of JSON lines has a row per example: a column of outcomes in [0, 1], perhaps ids (`example` or `id`),
members (`member`), clusters, and columns of groups. An NPY file holds `(N,)` or `(K, N)` outcomes. Extensions read what
other programs write, such as the harness.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.errors import InputError, listed, path_of, plural, require_least
from tfaudit.extensions import Registry
from tfaudit.outcomes import Outcomes
from tfaudit.readers.column_plan import is_id
from tfaudit.readers.json_lines import read_json_lines
from tfaudit.readers.tables import TableFile
from tfaudit.stats.group_codes import CLUSTER

MEMBER = "member"

OF_PROGRAMS: Mapping[str, Callable[[Path, str, str | None], pd.DataFrame | None]] = Registry(
    "outcomes", {}
)
"""Readers of what other programs write, by their names: functions of a path, a metric and a filter."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutcomeFiles:
    """How files of outcomes are read.

    Attributes:
        outcome: column of the outcomes, or metric of lm-evaluation-harness, such as `acc`.
        id_name: column of example ids; `example`, `example_id` or `id` by default.
        cluster: column of clusters of examples in the baseline's files; `cluster` by default, if there is one.
        filter: filter of the harness, such as `strict-match`, if its samples have several.
        common: whether to judge only the examples that all files hold.
        texts: columns of texts to show beside the outcomes, such as prompts and answers; the harness's are known.
        tolerance: largest error that is right, if the column holds errors; their sign does not matter.
        errors: whether the outcomes are the errors themselves, as in `Outcomes`, without their sign.
    """

    outcome: str
    id_name: str | None = None
    cluster: str | None = None
    filter: str | None = None
    common: bool = False
    texts: Sequence[str] = ()
    tolerance: float | None = None
    errors: bool = False

    def __post_init__(self) -> None:
        require_least(0, tolerance=self.tolerance)
        if self.errors and self.tolerance is not None:
            expected = "no tolerance, or no limit on the mean error"
            raise InputError("tolerance", f"{self.tolerance:g}", expected)


@dataclasses.dataclass(frozen=True)
class OutcomeSides:
    """Outcomes of a baseline and of compressed populations on the same examples, with the groups of the examples.

    `notes` are facts that a reader needs to know, one sentence each; `texts` hold those of the first member of each
    compressed population by name, of the baseline under "", a row per example.
    """

    baseline: Outcomes
    compressed: dict[str, Outcomes]
    groups: pd.DataFrame
    notes: tuple[str, ...] = ()
    texts: Mapping[str, pd.DataFrame] = dataclasses.field(default_factory=dict)


def read_outcomes(
    files: str | Path | Sequence[str | Path],
    outcome: str,
    *,
    id_name: str | None = None,
    cluster: str | None = None,
    filter: str | None = None,
    tolerance: float | None = None,
    errors: bool = False,
) -> Outcomes:
    r"""Read the outcomes of one population, a file per member or several members in one.

    Args:
        files: the files, or folders of lm-evaluation-harness.
        outcome: column of the outcomes, or metric of the harness.
        id_name: column of example ids; `example`, `example_id` or `id` by default.
        cluster: column of clusters of examples; `cluster` by default, if there is one.
        filter: filter of the harness, if its samples have several.
        tolerance: largest error that is right, if the column holds errors, such as prediction minus truth.
        errors: whether to return these errors themselves, without their sign; False by default.

    Raises:
        InputError: files that cannot be read or do not fit each other; the error names the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "answers.csv")
        ...     _ = path.write_text("id,f1\na,1\nb,0.5\n")
        ...     read_outcomes(path, "f1").values
        array([[1. , 0.5]])
    """
    several = [files] if isinstance(files, str | Path) else files
    paths = [path_of("files", file) for file in several]
    source = OutcomeFiles(
        outcome=outcome,
        id_name=id_name,
        cluster=cluster,
        filter=filter,
        tolerance=tolerance,
        errors=errors,
    )
    return read_sides(source, paths, {}).baseline


def read_sides(
    source: OutcomeFiles, baseline: Sequence[Path], compressed: Mapping[str, Sequence[Path]]
) -> OutcomeSides:
    """Read the outcomes of a baseline and of compressed populations, in the order of the baseline's first file.

    Raises:
        InputError: as `read_outcomes`, or other examples than the baseline's.
    """
    populations = {
        name: [table for path in paths for table in _tables(path, source)]
        for name, paths in {"": baseline, **compressed}.items()
    }
    tables = [*itertools.chain.from_iterable(populations.values())]
    if not populations[""]:
        raise InputError("baseline", "no files", "one file of outcomes or more")
    first = tables[0]
    ids = _common_ids(tables) if source.common else first.ids
    rows = {id(table): _rows(table, ids, first) for table in tables}
    frame = first.frame.iloc[rows[id(first)]].reset_index(drop=True)
    clusters = _clusters(first.where, frame, source.cluster)
    outcomes = {
        name: Outcomes(
            np.stack([table.values[rows[id(table)]] for table in side]),
            example_ids=ids,
            clusters=clusters,
            errors=source.errors,
        )
        for name, side in populations.items()
    }
    groups = frame if clusters is None else frame.drop(columns=str(clusters.name))
    notes = dict.fromkeys(table.note for table in tables if table.note)
    texts = {
        name: side[0].texts.iloc[rows[id(side[0])]].reset_index(drop=True)
        for name, side in populations.items()
    }
    return OutcomeSides(outcomes.pop(""), outcomes, groups, tuple(notes), texts)


def _common_ids(tables: Sequence[_Table]) -> np.ndarray | None:
    """Return the ids of the first table that all tables hold; None without ids."""
    first, *others = (None if table.ids is None else pd.Index(table.ids) for table in tables)
    if first is None:
        return None
    for other in others:
        if other is not None:
            first = first[first.isin(other)]
    return first.to_numpy()


def _clusters(where: str, frame: pd.DataFrame, stated: str | None) -> pd.Series | None:
    """Return the column of clusters; None without one."""
    column = stated or (CLUSTER if CLUSTER in frame else None)
    if column is not None and column not in frame:
        raise InputError(where, f"columns {listed([*map(str, frame)])}", f"a column {column}")
    return None if column is None else frame[column]


@dataclasses.dataclass(frozen=True, eq=False)
class _Table:
    """The outcomes of one member: `(n,)` values and ids, what must agree between files, and further columns."""

    where: str
    values: np.ndarray
    ids: np.ndarray | None
    frame: pd.DataFrame
    seals: pd.DataFrame  # columns that tell whether two files hold the same examples
    texts: pd.DataFrame
    note: str = ""


def _tables(path: Path, source: OutcomeFiles) -> list[_Table]:
    """Return the members in a file."""
    for read in OF_PROGRAMS.values():
        frame = read(path, source.outcome, source.filter)
        if frame is not None:
            source = dataclasses.replace(source, texts=frame.attrs["texts"])
            return [_table(str(path), frame, source, frame.attrs["seals"])]
    if source.filter is not None:
        raise InputError("filter", source.filter, "no filter for files other than the harness'")
    if path.suffix.lower() in (".npy", ".npz"):
        return _of_arrays(path, source)
    if path.suffix.lower() == ".jsonl":
        frame = pd.DataFrame(read_json_lines(path))
    elif path.suffix.lower() in (".csv", ".parquet"):
        frame = TableFile(path).frame()
    else:
        expected = (
            "a file .csv, .parquet, .npy, .npz or .jsonl, or a folder of lm-evaluation-harness"
        )
        raise InputError(str(path), "a file of unknown type", expected)
    if MEMBER not in frame:
        return [_table(str(path), frame, source)]
    parts = frame.groupby(MEMBER, sort=False, dropna=False)
    return [
        _table(f"{path}, member {name}", part.drop(columns=MEMBER).reset_index(drop=True), source)
        for name, part in parts
    ]


def _table(
    where: str, frame: pd.DataFrame, source: OutcomeFiles, seals: Sequence[str] = ()
) -> _Table:
    """Return the member in a frame."""
    for name, flag in ((source.outcome, "outcome"), *((text, "text") for text in source.texts)):
        if name not in frame:
            got = f"columns {listed([*map(str, frame)])}"
            raise InputError(where, got, f"a column {name}, as --{flag} says")
    if not len(frame):
        raise InputError(where, "no rows", "one per example")
    values = _numbers(where, frame[source.outcome], source)
    id_name = source.id_name or next((name for name in map(str, frame) if is_id(name)), None)
    if id_name is not None and id_name not in frame:
        raise InputError(where, f"columns {listed([*map(str, frame)])}", f"a column {id_name}")
    ids = None if id_name is None else frame[id_name].astype(str).to_numpy()
    if ids is not None and len(np.unique(ids)) < len(ids):
        twice = pd.Series(ids)[pd.Series(ids).duplicated()].iloc[0]
        raise InputError(where, f"the id {twice!r} twice", "each example once")
    named = {source.outcome, id_name, *seals, *source.texts}
    groups = frame.drop(columns=[column for column in frame if column in named])
    texts = frame[[*source.texts]].fillna("").astype(str)
    return _Table(where, values, ids, groups, frame[[*seals]], texts, frame.attrs.get("note", ""))


def _numbers(where: str, column: pd.Series, source: OutcomeFiles) -> np.ndarray:
    """Return outcomes as floats; true and false are 1 and 0, and so are errors within a tolerance and beyond it."""
    tolerance = source.tolerance
    words = column.map({"True": 1, "False": 0, "true": 1, "false": 0})
    numbers = pd.to_numeric(words if words.notna().all() else column, errors="coerce")
    values = np.asarray(numbers, np.float64)
    if source.errors or tolerance is not None:
        known, expected = np.isfinite(values), "errors, finite numbers"
    else:
        known, expected = (values >= 0) & (values <= 1), "outcomes in [0, 1], of which 1 is best"
        expected += "; errors need --tolerance, or the gate's --max-mean-error-increase"
    wrong = np.flatnonzero(~known)
    if len(wrong):
        got = f"{column.iloc[wrong[0]]} in column {column.name!r}, row {wrong[0]}"
        raise InputError(where, f"{plural(len(wrong), 'value')} such as {got}", expected)
    if source.errors:
        return np.abs(values)
    return values if tolerance is None else (np.abs(values) <= tolerance).astype(float)


def _of_arrays(path: Path, source: OutcomeFiles) -> list[_Table]:
    """Return the members in a file of arrays."""
    file = ArrayFile(path)
    name = "" if file.names == ("",) else source.outcome
    if name not in file.names:
        raise InputError(str(path), f"arrays {listed([*file.names])}", f"an array {source.outcome}")
    values = np.atleast_2d(file.read(name))
    if values.ndim != 2 or values.dtype.kind not in "fiub" or not values.size:
        got = f"{values.dtype} {values.shape}"
        raise InputError(str(path), got, "outcomes (examples,) or (members, examples)")
    frames = (pd.DataFrame({source.outcome: row}) for row in values)
    return [_table(str(path), frame, source) for frame in frames]


def _rows(table: _Table, ids: np.ndarray | None, first: _Table) -> np.ndarray:
    """Return the rows of a table in the order of ids, or as they are without ids."""
    if (table.ids is None) != (ids is None):
        with_ids, without = (first, table) if table.ids is None else (table, first)
        expected = f"ids, as in {with_ids.where}, or no ids in any file"
        raise InputError(without.where, "no column of ids", expected)
    if table.ids is None or ids is None:
        if len(table.values) != len(first.values):
            got = f"{len(table.values):,} examples without ids"
            raise InputError(table.where, got, f"{len(first.values):,}, as in {first.where}")
        return np.arange(len(table.values))
    known = pd.Index(first.ids if first.ids is not None else ids)
    own = pd.Index(table.ids)
    both = len(own.intersection(known))
    if len(ids) == len(known) and not both == len(own) == len(known):
        got = f"{len(own):,} examples, {both:,} of them among the {len(known):,} of {first.where}"
        expected = "the same examples; --common judges those that all files hold"
        raise InputError(table.where, got, expected)
    position = own.get_indexer(pd.Index(ids))
    for name in table.seals.columns.intersection(first.seals.columns):
        of_table = table.seals[name].to_numpy()[position]
        of_first = first.seals[name].to_numpy()[known.get_indexer(pd.Index(ids))]
        if differ := int((of_table != of_first).sum()):
            got = f"{differ:,} of {len(ids):,} examples with another {name}"
            expected = f"the same questions and prompts as in {first.where}"
            raise InputError(table.where, got, expected)
    return position
