"""Evidence in files that their rows are those of the labels: labels of their own, and columns that both have."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.errors import InputError
from tfaudit.readers.classes import class_indices
from tfaudit.readers.column_plan import CLUSTER, GROUP, LEFT_OUT, NO_SCORE, ColumnPlan
from tfaudit.readers.sources import Labels
from tfaudit.readers.tables import TEXT, WHOLE_NUMBERS, TableFile


def require_same_labels(
    truth: Labels,
    true: np.ndarray,
    plan: ColumnPlan,
    file: TableFile | ArrayFile,
    own: Mapping[str, np.ndarray],
    names: Sequence[str],
) -> None:
    """Raise an `InputError` if a file's own labels contradict the labels.

    Labels of other names agree if each stands for one class, and no two for the same.

    Args:
        truth: the labels.
        true: their class numbers, `(N,)`.
        plan: plan of the file.
        file: the file.
        own: the file's labels in the order of the examples, `(N,)`, by column.
        names: names of the classes.
    """
    for column, labels in own.items():
        try:
            wrong = class_indices(labels, names, plan.where) != true
        except InputError:
            wrong = _is_inconsistent(labels, true)
        if wrong.any():
            row = int(wrong.argmax())
            got = (
                f"labels in column {column!r} that differ from those of {truth.path} in {wrong.sum():,} of "
                f"{len(true):,} rows, first in row {row}: {labels[row]} for {names[true[row]]}"
            )
            expected = f"the same order of rows, or {_ids_that_help(truth, plan, file)}"
            if truth.ids is not None:
                expected = f"the labels of {truth.path}"
            raise InputError(plan.where, got, expected)


def refuse_labels(truth: Labels, true: np.ndarray, plan: ColumnPlan, top1: np.ndarray) -> None:
    """Raise an `InputError` if predictions `(N,)` under a usual name of labels are the labels in every row."""
    if plan.doubtful is not None and (top1 == true).all():
        got = f"column {plan.doubtful!r}, which holds the labels of {truth.path} in every row"
        expected = f"predictions; --label-column {plan.doubtful}, and the columns beside it, if they are scores"
        raise InputError(plan.where, got, expected)


def require_same_order(truth: Labels, plan: ColumnPlan, file: TableFile | ArrayFile) -> None:
    """Raise an `InputError` if a column that both files have shows that rows without ids are in different orders."""
    column = _reordered_column(truth, plan, file)
    if column is not None:
        got = f"the values of column {column!r} in another order than in {truth.path}"
        raise InputError(plan.where, got, f"the same order of rows, or --id {_word(column)}")


def _is_inconsistent(own: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return the rows whose label usually stands for another class, or whose class for another label."""
    pairs = pd.DataFrame({"own": pd.factorize(own)[0], "true": true})
    usual = pairs.groupby("own")["true"].agg(lambda classes: classes.mode()[0])
    back = pairs.groupby("true")["own"].agg(lambda labels: labels.mode()[0])
    wrong = (pairs["own"].map(usual) != pairs["true"]) | (pairs["true"].map(back) != pairs["own"])
    return wrong.to_numpy()


def _ids_that_help(truth: Labels, plan: ColumnPlan, file: TableFile | ArrayFile) -> str:
    column = _reordered_column(truth, plan, file)
    if column is None:
        return "a column of example ids in both files (--id)"
    return f"--id {_word(column)}, the ids that both files have"


def _reordered_column(truth: Labels, plan: ColumnPlan, file: TableFile | ArrayFile) -> str | None:
    """Return a column of text or whole numbers with the same distinct values in both files, but in another order."""
    if not isinstance(file, TableFile) or not isinstance(truth.file, TableFile):
        return None
    further = {*truth.plan.columns(LEFT_OUT, CLUSTER)}
    for name in plan.columns(LEFT_OUT, NO_SCORE, GROUP, CLUSTER):
        if name in further and {file.kinds[name], truth.file.kinds[name]} <= {TEXT, WHOLE_NUMBERS}:
            here, there = file.cells(name), truth.file.cells(name)
            if _is_permuted(here, there):
                return name
    return None


def _is_permuted(values: np.ndarray, others: np.ndarray) -> bool:
    if values.shape != others.shape or (values == others).all():
        return False
    distinct = np.unique(values)
    return len(distinct) == len(values) and bool((np.sort(others) == distinct).all())


def _word(column: str) -> str:
    """Return a name as a word of a shell."""
    return f"'{column}'" if " " in column else column
