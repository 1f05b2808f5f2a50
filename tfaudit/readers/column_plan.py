"""The plan of a file: what each column, or array, is read as. It is made once, and every reader follows it."""

import dataclasses
import fnmatch
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tfaudit.datasets.array_files import ArrayFile
from tfaudit.errors import InputError, listed, quoted
from tfaudit.readers.raw_scores import SCALES, ZERO_POINTS
from tfaudit.readers.score_columns import KnownClasses, score_columns
from tfaudit.readers.tables import TEXT, WHOLE_NUMBERS, TableFile
from tfaudit.stats.group_codes import CLUSTER as CLUSTER_NAME
from tfaudit.stats.ranking import are_probabilities

ID, LABEL, CLUSTER, MEMBER = "id", "label", "cluster", "member"
PREDICTION, SCORE, GROUP = "prediction", "score", "group"
SCALE, ZERO_POINT = "scale", "zero point"
NO_SCORE, LEFT_OUT = "no score", "left out"
"""Roles of columns; numbers that might have been scores are no scores, what else is not read is left out."""

_IDS = ("example", "exampleid", "exampleids", "id", "ids")
_LABELS = ("label", "labels", "target", "targets")
_ALSO_LABELS = (
    *("ytrue", "truth", "groundtruth", "actual", "gold"),
    *("truelabel", "trueclass", "labeltrue", "labelvalue"),
)
_PREDICTIONS = (
    *("pred", "preds", "prediction", "predictions", "predicted", "predict", "top1", "guess"),
    *("ypred", "yhat", "predictedlabel", "predictedclass", "predlabel", "predclass", "labelpred"),
)
_PERHAPS_PREDICTIONS = ("class", "classes", "answer", "answers")
"""Names of predictions that other people give to labels."""

PROBABILITIES = ("probabilities", "probs", "softmax")
_SCORE_ARRAYS = ("scores", "logits", *PROBABILITIES)
_INDEX = re.compile(r"index|level_0|Unnamed: \d+(\.\d+)*")
"""Names that pandas gives to the index of a frame."""

_ARGUMENTS = {
    ID: "id_name",
    LABEL: "label_column",
    CLUSTER: "cluster",
    PREDICTION: "prediction_column",
}


@dataclasses.dataclass(frozen=True)
class StatedColumns:
    """Columns, or arrays, that the user names: they are nothing else in any file. None for those with a usual name.

    `prediction` may be a pattern that matches the columns of scores, such as `prob_*`.

    Raises:
        InputError: a column with two roles; only labels in one file may be called as predictions in others.
    """

    id: str | None = None
    label: str | None = None
    cluster: str | None = None
    prediction: str | None = None

    def __post_init__(self) -> None:
        roles: dict[str, str] = {}
        for role in _ARGUMENTS:
            name = getattr(self, role)
            if name is not None and roles.setdefault(name, role) != role != PREDICTION:
                raise InputError(
                    _ARGUMENTS[role], repr(name), f"another column than the {roles[name]}"
                )
        if self.prediction is not None and roles[self.prediction] in (ID, CLUSTER):
            expected = f"another column than the {roles[self.prediction]}"
            raise InputError(_ARGUMENTS[PREDICTION], repr(self.prediction), expected)


@dataclasses.dataclass(frozen=True)
class Role:
    """What a column is read as: one of the roles, with the class of a score or the reason why it is not read."""

    kind: str
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class ColumnPlan:
    """The role of each column, or array, of a file; `""` is the array of an NPY file.

    Example:
        >>> plan = ColumnPlan("a.csv", {"file": Role(ID), "p0": Role(SCORE, "0"), "age": Role(NO_SCORE, "no class")})
        >>> plan.column(ID), plan.scores, str(plan)
        ('file', {'p0': '0'}, "a.csv: id 'file'; score of class 0 'p0'; no score 'age' (no class)")
    """

    where: str
    roles: Mapping[str, Role]

    def column(self, kind: str) -> str | None:
        """Return the column of a role, None without one."""
        return next(iter(self.columns(kind)), None)

    def columns(self, *kinds: str) -> list[str]:
        """Return the columns of some roles."""
        return [name for name, role in self.roles.items() if role.kind in kinds]

    @property
    def scores(self) -> dict[str, str]:
        """The class of each column of scores, in the order of classes that are numbers."""
        scores = {name: self.roles[name].detail for name in self.columns(SCORE)}
        if not all(label.isdecimal() for label in scores.values()):
            return scores
        return dict(sorted(scores.items(), key=lambda score: int(score[1])))

    @property
    def doubtful(self) -> str | None:
        """A column of predictions that has a usual name of labels, such as `class`, beside others; None without any."""
        name = self.column(PREDICTION)
        doubt = name is not None and _plain(name) in _PERHAPS_PREDICTIONS and self.columns(LEFT_OUT)
        return name if doubt else None

    @property
    def notice(self) -> str | None:
        """A sentence on numbers that are no scores; None without any."""
        names = self.columns(NO_SCORE)
        if not names:
            return None
        return f"{self.where}: {quoted(names, 5)} left out ({self.roles[names[0]].detail})"

    @property
    def text(self) -> str:
        """The roles in words."""
        parts = [
            f"{kind} {quoted(names, 5) if names != [''] else 'the array'}"
            for kind in (ID, LABEL, CLUSTER, MEMBER, PREDICTION, SCALE, ZERO_POINT, GROUP)
            if (names := self.columns(kind))
        ]
        if self.scores:
            scores = [f"{label} {name!r}" for name, label in self.scores.items()]
            parts.append(f"score of class {listed(scores)}")
        for kind in (NO_SCORE, LEFT_OUT):
            for detail in dict.fromkeys(self.roles[name].detail for name in self.columns(kind)):
                names = [name for name, role in self.roles.items() if role == Role(kind, detail)]
                parts.append(f"{kind} {quoted(names, 5)} ({detail})")
        return "; ".join(parts)

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def plan_labels(file: TableFile | ArrayFile, stated: StatedColumns) -> ColumnPlan:
    """Return the plan of a file of labels: everything beside ids, labels and clusters is left out.

    Raises:
        InputError: no column of labels, several that could be, or no column of a stated name.
    """
    draft = _Draft(file, {ID: stated.id, LABEL: stated.label, CLUSTER: stated.cluster})
    draft.give([stated.prediction], LEFT_OUT, "predictions")
    draft.give_usual(ID, _IDS)
    draft.give_usual(CLUSTER, (CLUSTER_NAME,))
    draft.give_usual(LABEL, _LABELS, _ALSO_LABELS)
    if isinstance(file, ArrayFile) and len(draft.rest) == 1 and draft.column(LABEL) is None:
        draft.give(draft.rest, LABEL)
    if draft.column(LABEL) is None and stated.prediction in draft.names:
        got = f"{draft.noun} {stated.prediction!r}, stated as the predictions"
        expected = f"labels; --label-column {stated.prediction} if it holds them in this file"
        raise InputError(draft.where, got, expected)
    if draft.column(LABEL) is None:
        name = "label" if isinstance(file, TableFile) else "labels"
        expected = f"{draft.article} `{name}`, or {draft.article} named with --label-column"
        raise InputError(draft.where, draft.listed(draft.rest or [*draft.names]), expected)
    draft.give(draft.rest, LEFT_OUT, "beside the labels")
    return draft.plan()


def plan_groups(table: TableFile, stated: StatedColumns) -> ColumnPlan:
    """Return the plan of a table of groups, such as writers: all columns but ids, labels, predictions and an index.

    Raises:
        InputError: no column of the stated name of ids.
    """
    draft = _Draft(table, {ID: stated.id})
    draft.give([stated.label], LABEL)
    draft.give([stated.prediction], LEFT_OUT, "predictions")
    draft.give_usual(ID, _IDS)
    _leave_out_index(draft, table)
    draft.give(draft.rest, GROUP)
    return draft.plan()


def plan_predictions(
    file: TableFile | ArrayFile, stated: StatedColumns, known: KnownClasses
) -> ColumnPlan:
    """Return the plan of a file of predictions; `known` tells which columns may be scores.

    Raises:
        InputError: it is unknown which columns hold predictions; the error says what to state.
    """
    if isinstance(file, ArrayFile):
        return _plan_arrays(file, stated)
    pattern = stated.prediction or ""
    is_pattern = pattern not in file.columns and bool(fnmatch.filter(file.columns, pattern))
    draft = _Draft(file, {ID: stated.id, PREDICTION: None if is_pattern else stated.prediction})
    draft.give([stated.label], LABEL)
    draft.give([stated.cluster], CLUSTER)
    draft.classes = set(known.names) if {*known.names} <= {*file.columns} else set()
    draft.give_usual(ID, _IDS)
    draft.give_usual(MEMBER, ("member", "members"))
    if is_pattern:
        draft.give_usual(LABEL, _LABELS, _ALSO_LABELS)
        _give_scores(draft, file, fnmatch.filter(draft.rest, pattern), known, stated=True)
        draft.give(draft.rest, LEFT_OUT, f"unlike {pattern!r}")
        return draft.plan()
    draft.give_usual(PREDICTION, _PREDICTIONS)
    draft.give_usual(LABEL, _LABELS, _ALSO_LABELS)
    _leave_out_index(draft, file)
    _give_doubtful(draft, [name for name in draft.rest if file.is_numeric(name)], stated)
    prediction = draft.column(PREDICTION)
    if prediction is None:
        _give_scores(draft, file, draft.rest, known, stated=False)
    else:
        _settle_fractions(draft, file.text(prediction), prediction, stated)
        draft.give(draft.rest, LEFT_OUT, f"beside {prediction!r}")
    return draft.plan()


def _leave_out_index(draft: "_Draft", table: TableFile) -> None:
    """Leave out the columns that pandas wrote as the index of a frame."""
    for name in draft.rest:
        distinct = _INDEX.fullmatch(name) and table.kinds[name] == WHOLE_NUMBERS
        if name in table.index or (distinct and len(np.unique(table.cells(name))) == table.rows):
            draft.give([name], LEFT_OUT, "index")


def _give_doubtful(draft: "_Draft", numbers: Sequence[str], stated: StatedColumns) -> None:
    """Take a column such as `class` for predictions if nothing else in the file can be; otherwise ask."""
    doubtful = [name for name in draft.rest if _plain(name) in _PERHAPS_PREDICTIONS]
    if not doubtful or draft.column(PREDICTION) is not None or doubtful[0] in draft.classes:
        return
    if {*numbers, *doubtful} == {doubtful[0]} and draft.column(LABEL) in (None, stated.label):
        draft.give(doubtful, PREDICTION)
        return
    name = doubtful[0]
    got = f"{draft.noun} {name!r}, which may hold labels or predictions"
    expected = (
        f"--label-column {name} if they are labels, --prediction-column {name} if predictions"
    )
    raise InputError(draft.where, got, expected)


def _settle_fractions(
    draft: "_Draft", values: np.ndarray, column: str, stated: StatedColumns
) -> None:
    """Read fractions in a column of predictions as scores of class 1 if the user named it; otherwise ask."""
    numbers = fractions(values)
    if numbers is None:
        return
    if column == stated.prediction:
        draft.roles[column] = Role(SCORE, "1")
    elif are_probabilities(numbers.min(), numbers.max()):
        expected = f"classes, or --prediction-column {column} for the probability of class 1 of two"
        raise InputError(draft.where, f"fractions in {draft.noun} {column!r}", expected)


def _give_scores(
    draft: "_Draft", table: TableFile, columns: Sequence[str], known: KnownClasses, *, stated: bool
) -> None:
    """Give the columns of scores their classes, and say of the others why they are no scores."""
    numbers = [name for name in columns if table.is_numeric(name) or name in draft.classes]
    others = [name for name in columns if not (table.is_numeric(name) or name in draft.classes)]
    if not known.names:
        for name in others:
            _refuse_broken_numbers(table, name)
    if not numbers:
        expected = "a column `prediction`, or scores in a column per class"
        raise InputError(draft.where, draft.listed(table.columns), expected)
    scores = score_columns(table, numbers, known, stated=stated)
    for name, label in scores.classes.items():
        draft.give([name], SCORE, label)
    draft.give(numbers, NO_SCORE, scores.reason)
    for name in others:
        draft.give([name], LEFT_OUT, table.kinds[name])


def _refuse_broken_numbers(table: TableFile, column: str) -> None:
    """Raise an `InputError` for a column of numbers that is taken for text because of a few other cells."""
    if table.kinds[column] != TEXT:
        return
    cells = pd.Series(table.cells(column))
    text = pd.to_numeric(cells, errors="coerce").isna() & (cells != "")
    if 0 < text.sum() < len(cells) / 2:
        row = int(text.argmax())
        got = f"{cells[row]!r} in row {row} of column {column!r}"
        raise InputError(str(table.path), got, "numbers in a column of numbers")


def fractions(values: np.ndarray) -> np.ndarray | None:
    """Return numbers, perhaps stored as text, if at least one is a fraction; None for anything else.

    Example:
        >>> fractions(np.array(["0.5", "1"])), fractions(np.array(["0", "1"]))
        (array([0.5, 1. ]), None)
    """
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
    is_fraction = np.isfinite(numbers).all() and (numbers != np.floor(numbers)).any()
    return numbers if is_fraction else None


def columns_of(file: TableFile | ArrayFile) -> Sequence[str]:
    """Return the names of the columns of a table, or of the arrays of a file."""
    return file.columns if isinstance(file, TableFile) else file.names


def labels_by_name(columns: Sequence[str]) -> list[str]:
    """Return the columns whose names are usual for labels."""
    return [name for name in columns if _plain(name) in (*_LABELS, *_ALSO_LABELS)]


def is_id(name: str) -> bool:
    """Return whether a column has a usual name of example ids."""
    return _plain(name) in _IDS


def _plain(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return re.sub("[^a-z0-9]", "", name.lower())


def _plan_arrays(file: ArrayFile, stated: StatedColumns) -> ColumnPlan:
    draft = _Draft(file, {ID: stated.id, PREDICTION: stated.prediction})
    draft.give([stated.label], LABEL)
    draft.give([stated.cluster], CLUSTER)
    draft.give_usual(ID, _IDS)
    draft.give_usual(SCALE, SCALES)
    if draft.column(SCALE) is not None:
        draft.give_usual(ZERO_POINT, ZERO_POINTS)
    if draft.column(PREDICTION) is None:
        draft.give([name for name in draft.rest if _plain(name) in _SCORE_ARRAYS][:1], PREDICTION)
    draft.give_usual(PREDICTION, _PREDICTIONS)
    draft.give_usual(LABEL, _LABELS, _ALSO_LABELS)
    if draft.column(PREDICTION) is None and len(draft.rest) == 1:
        draft.give(draft.rest, PREDICTION)
    _give_doubtful(draft, draft.rest, stated)
    prediction = draft.column(PREDICTION)
    if prediction is None:
        expected = (
            "predictions in an array `scores` or `top1`, or one named with --prediction-column"
        )
        raise InputError(draft.where, draft.listed([*draft.names]), expected)
    shape, dtype = file.shape_and_dtype(prediction)
    if len(shape) == 1 and dtype.kind == "f" and _plain(prediction) in _PREDICTIONS:
        _settle_fractions(draft, file.read(prediction), prediction, stated)
    draft.give(draft.rest, LEFT_OUT, "beside the predictions")
    return draft.plan()


class _Draft:
    """A plan in the making: a column keeps the first role that it is given."""

    def __init__(self, file: TableFile | ArrayFile, required: Mapping[str, str | None]) -> None:
        """Give columns that the user names their roles; one that is missing raises `InputError`."""
        is_table = isinstance(file, TableFile)
        self.where = str(file.path)
        self.noun = "column" if is_table else "array"
        self.article = "a column" if is_table else "an array"
        self.names = dict.fromkeys(columns_of(file))
        self.roles: dict[str, Role] = {}
        self.classes: set[str] = set()  # columns named as classes, one of which may be called `id`
        for kind, name in required.items():
            is_optional = name is None or "" in self.names or (kind == ID and not is_table)
            if not is_optional and name not in self.names:
                expected = f"one that is called {name!r}"
                raise InputError(self.where, self.listed([*self.names]), expected)
            self.give([name], kind)

    @property
    def rest(self) -> list[str]:
        """The columns without a role."""
        return [name for name in self.names if name not in self.roles]

    def listed(self, names: Sequence[str]) -> str:
        """Return names of columns in words."""
        return f"{self.noun}s {listed(names)}"

    def column(self, kind: str) -> str | None:
        """Return the column of a role, None without one."""
        return next((name for name, role in self.roles.items() if role.kind == kind), None)

    def give(self, names: Sequence[str | None], kind: str, detail: str = "") -> None:
        """Give a role to those of the columns that exist and have none."""
        for name in names:
            if name is not None and name in self.names and name not in self.roles:
                self.roles[name] = Role(kind, detail)

    def give_usual(self, kind: str, *usual: Sequence[str]) -> None:
        """Give a role to the column that has a usual name, of the first names that occur; refuse several."""
        if self.column(kind) is not None:
            return
        for plain in usual:
            matches = [
                name for name in self.rest if _plain(name) in plain and name not in self.classes
            ]
            if len(matches) > 1:
                flag = {ID: "--id", LABEL: "--label-column", PREDICTION: "--prediction-column"}
                stated = f", stated with {flag[kind]}" if kind in flag else ""
                got = f"{self.noun}s {quoted(matches)}"
                raise InputError(self.where, got, f"only one of them{stated}")
            if matches:
                self.give(matches, kind)
                return

    def plan(self) -> ColumnPlan:
        """Return the plan, in the order of the file."""
        return ColumnPlan(self.where, {name: self.roles[name] for name in self.names})
