"""Which columns of numbers are the scores of which classes: by their names, their numbers, or their sums."""

import collections
import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from tfaudit.errors import InputError, quoted
from tfaudit.readers.tables import NUMBERS, TableFile
from tfaudit.stats.class_numbers import numbered_name
from tfaudit.stats.ranking import are_probabilities, sum_to_one

ONE_SCORE = frozenset(
    {"score", "scores", "logit", "logits", "probability", "probabilities", "probs", "softmax"}
)
"""Names of a column with one score per example, that of class 1 of two."""

_SCORE_WORDS = re.compile(r"prob|logit|score|pred|output|softmax|conf|class|likelihood|posterior")
_SHORT_SCORE_WORDS = frozenset({"c", "p", "y", "out", "cls"})
"""Words beside the number of a class."""

_RANK_WORDS = frozenset(
    {"index", "indices", "idx", "rank", "top", "label", "labels", "name", "class", "classes"}
)
"""Words of numbered columns that hold the best classes of an example: then those beside them hold their scores."""

_OTHER_WORDS = frozenset(
    {
        *("id", "index", "row", "rank", "fold", "seed", "count", "length", "size", "weight", "age"),
        *(
            "distance",
            "distances",
            "dist",
            "cost",
            "nll",
            "loss",
            "epoch",
            "step",
            "iteration",
            "lr",
            "time",
            "latency",
            "seconds",
            "ms",
        ),
        *("score", "confidence", "entropy", "margin", "uncertainty", "max", "min", "mean", "std"),
        *("correct", "error", "acc", "accuracy"),
    }
)
"""Words of columns that are rarely the score of one class among several."""


@dataclasses.dataclass(frozen=True)
class KnownClasses:
    """What is known of the classes before predictions are read.

    Attributes:
        where: file that shows it.
        names: names in a class list, or of labels that are text; empty if classes are numbers.
        complete: whether `names` are all classes: those of a class list.
        numbers: the labels that occur, if they are numbers, ascending.
        examples: number of labels.
    """

    where: str = ""
    names: tuple[str, ...] = ()
    complete: bool = False
    numbers: tuple[int, ...] = ()
    examples: int = 0

    @property
    def most(self) -> int:
        """The largest label that is a number; -1 without any."""
        return self.numbers[-1] if self.numbers else -1

    @property
    def labels(self) -> str:
        """The labels in words."""
        if self.names:
            return f"classes {quoted(self.names)}"
        return f"labels {self.numbers[0]} to {self.most}" if self.numbers else "unknown labels"


@dataclasses.dataclass(frozen=True)
class ScoreColumns:
    """The class of each column of scores, in the order of numbered classes, and why other numbers are no scores."""

    classes: dict[str, str]
    reason: str = ""


def score_columns(
    table: TableFile, columns: Sequence[str], known: KnownClasses, *, stated: bool = False
) -> ScoreColumns:
    """Return which of some columns of numbers are scores; a single one is the score of class 1 of two.

    Columns are scores if they are named after all classes, perhaps with the same letters around, or numbered alike,
    from 0 or as the labels are. Further numbers may be a class without examples: rows of probabilities, which
    sum to 1, prove what they are.

    Args:
        table: the file.
        columns: columns that have no other role, and are not text.
        known: what the labels and a class list show.
        stated: whether the user says that these columns are the scores.

    Raises:
        InputError: nothing proves which columns are scores.
    """
    named = _named_schemes(columns, known.names)
    if named:
        return _by_name(table, columns, _only_scheme(table, named), known, stated=stated)
    if len(columns) == 1:
        return _one_score(table, columns[0], known, stated=stated)
    numbered = _numbered_schemes(columns)
    if likely := [scheme for scheme in numbered if stated or scheme.is_of_scores]:
        scheme = _only_scheme(table, _without_ranks(table, likely))
        return _by_number(table, columns, scheme, known, stated=stated)
    if known.names or stated:
        return ScoreColumns({name: name for name in columns})  # an error names other classes
    all_numbered = len(numbered) == 1 and len(numbered[0].columns) == len(columns)
    if (
        all_numbered
        and not numbered[0].words & _OTHER_WORDS
        and len(columns) in (known.most, known.most + 1)
    ):  # labels from 1, or from 0
        return _by_number(table, columns, numbered[0], known, stated=stated)
    _require_scores(table, columns, known)
    return ScoreColumns({name: name for name in columns})


@dataclasses.dataclass(frozen=True)
class _Scheme:
    """Columns whose names differ only by the class, between a prefix and a suffix; `columns` holds them by class."""

    prefix: str
    suffix: str
    columns: dict[str, str]

    def class_of(self, column: str) -> str:
        """Return the class in the name of a column; empty if its prefix or suffix is different."""
        alike = column.startswith(self.prefix) and column.endswith(self.suffix)
        return column[len(self.prefix) : len(column) - len(self.suffix)] if alike else ""

    @property
    def pattern(self) -> str:
        """Pattern that matches the columns."""
        return f"{self.prefix}*{self.suffix}"

    @property
    def words(self) -> set[str]:
        """Words of the prefix and the suffix."""
        return set(re.findall("[a-z]+", f"{self.prefix} {self.suffix}".lower()))

    def names_classes(self, table: TableFile) -> bool:
        """Return whether the columns seem to hold the best classes of an example, by their words and whole numbers."""
        whole = all(table.kinds[column] != NUMBERS for column in self.columns.values())
        return whole and bool(self.words & _RANK_WORDS)

    @property
    def is_of_scores(self) -> bool:
        """Whether a word says that the columns hold scores, or there is none beside the number."""
        words = self.words
        return not words or bool(words & _SHORT_SCORE_WORDS) or any(map(_SCORE_WORDS.search, words))


def _named_schemes(columns: Collection[str], names: Sequence[str]) -> list[_Scheme]:
    """Return the schemes by which columns are named after all classes; the names alone if these are columns."""
    if not names:
        return []
    known = set(columns)
    if known.issuperset(names):
        return [_Scheme("", "", {name: name for name in names})]
    if len(names) == 1:
        return []  # too little to tell a suffix from the rest of a word
    ends = [
        (column[: match.start()], column[match.end() :])
        for column in columns
        for match in re.finditer(re.escape(names[0]), column)
    ]
    schemes = [
        _Scheme(prefix, suffix, {name: f"{prefix}{name}{suffix}" for name in names})
        for prefix, suffix in ends
    ]
    return [scheme for scheme in schemes if known.issuperset(scheme.columns.values())]


def _numbered_schemes(columns: Sequence[str]) -> list[_Scheme]:
    """Return the schemes by which two or more columns are numbered, with their columns in the order of the numbers."""
    by_ends: dict[tuple[str, str], dict[int, str]] = collections.defaultdict(dict)
    for column in columns:
        prefix, number, suffix = numbered_name(column)
        if number is not None:
            by_ends[prefix, suffix].setdefault(number, column)
    return [
        _Scheme(*ends, {str(number): by_number[number] for number in sorted(by_number)})
        for ends, by_number in by_ends.items()
        if len(by_number) > 1
    ]


def _without_ranks(table: TableFile, schemes: Sequence[_Scheme]) -> Sequence[_Scheme]:
    """Return the schemes but those of the best classes of an example; all if there are no others."""
    return [scheme for scheme in schemes if not scheme.names_classes(table)] or schemes


def _only_scheme(table: TableFile, schemes: Sequence[_Scheme]) -> _Scheme:
    if len(schemes) > 1:
        patterns = [scheme.pattern for scheme in schemes]
        expected = f"one of them, stated with --prediction-column {patterns[0]!r}"
        raise InputError(
            str(table.path), f"several columns per class, {quoted(patterns)}", expected
        )
    return schemes[0]


def _by_name(
    table: TableFile, columns: Sequence[str], scheme: _Scheme, known: KnownClasses, *, stated: bool
) -> ScoreColumns:
    """Return the columns that are named after all known classes, and those of further classes."""
    classes = {column: name for name, column in scheme.columns.items()}
    others = [column for column in columns if column not in classes]
    if known.complete:
        return ScoreColumns(classes, f"no class of {known.where}")
    further = {column: name for column in others if (name := scheme.class_of(column))}
    if stated:
        return ScoreColumns({**classes, **dict(zip(others, others, strict=True)), **further})
    return _settled(table, classes, further, others, known)


def _by_number(
    table: TableFile, columns: Sequence[str], scheme: _Scheme, known: KnownClasses, *, stated: bool
) -> ScoreColumns:
    """Return numbered columns as the scores of the classes with these numbers, or in their order if names are known."""
    numbers = [*map(int, scheme.columns)]
    shift = numbers[0] if known.names and numbers[0] == 1 else 0
    as_labels = (
        len(known.numbers) > 1 and {*known.numbers} <= {*numbers} and known.most == numbers[-1]
    )
    if numbers != [*range(shift, shift + len(numbers))] and not as_labels:
        got = (
            f"columns {scheme.pattern!r} numbered {numbers[0]} to {numbers[-1]} for {known.labels}"
        )
        expected = (
            "all numbers from 0, or --classes FILE with the classes in the order of the numbers"
        )
        raise InputError(str(table.path), got, expected)
    if not stated:
        _refuse_ranks(table, scheme)
    classes = {column: str(int(number) - shift) for number, column in scheme.columns.items()}
    others = [column for column in columns if column not in classes]
    if stated and others:
        got = f"columns {quoted([*classes, *others])}"
        raise InputError(
            "prediction_column", got, f"a pattern that matches only {scheme.pattern!r}"
        )
    return _settled(table, classes, {}, others, known)


def _refuse_ranks(table: TableFile, scheme: _Scheme) -> None:
    """Raise an `InputError` for the best scores of each example, which fall or stand beside the best classes."""
    columns = [*scheme.columns.values()]
    beside = [
        f" beside {other.pattern!r}"
        for other in _numbered_schemes(table.columns)
        if [*other.columns] == [*scheme.columns] and other != scheme and other.names_classes(table)
    ]
    if not beside and len(columns) > 2 and _fall(table.numbers(columns)):
        beside = [" that fall from the first to the last in every row"]
    if beside:
        stated = f"--prediction-column {scheme.pattern!r} states that each is the score of the class with its number"
        expected = f"the scores of all classes, not the best ones; {stated}"
        raise InputError(str(table.path), f"columns {scheme.pattern!r}{beside[0]}", expected)


def _fall(blocks: Iterable[np.ndarray]) -> bool:
    """Return whether the numbers fall in every row, and rows differ, unlike those of a model that always says one."""
    return all((np.diff(block) <= 0).all() and np.ptp(block, 0).any() for block in blocks)


def _settled(
    table: TableFile,
    classes: dict[str, str],
    further: dict[str, str],
    others: Sequence[str],
    known: KnownClasses,
) -> ScoreColumns:
    """Return the columns of scores, once it is known whether further columns of numbers are classes, too.

    Args:
        table: the file.
        classes: columns that are scores.
        further: columns that may be classes without examples, by their names.
        others: these, and columns that are named unlike classes.
        known: what is known of the classes.
    """
    if not others:
        return ScoreColumns(classes)
    for scores in ({**classes, **further}, classes):
        if sum_to_one(table.numbers([*scores])):
            return ScoreColumns(scores, "rows sum to 1 without it")
    # Numbered columns that are not as many as the labels may be features beside one score.
    are_features = known.numbers and [*classes.values()][-1] != str(known.most)
    is_doubtful = further or are_features or ONE_SCORE.intersection(others)
    if is_doubtful or sum_to_one(table.numbers([*classes, *others])):
        got = f"columns {quoted(others)} beside the scores of {quoted(classes.values())}"
        expected = (
            f"only classes of {known.where}, or --classes FILE: columns of other names are then left out; "
            "--prediction-column states the columns of scores"
        )
        raise InputError(str(table.path), got, expected)
    return ScoreColumns(classes, "named unlike the scores")


def _one_score(table: TableFile, column: str, known: KnownClasses, *, stated: bool) -> ScoreColumns:
    is_named = column.lower() in ONE_SCORE and len(known.names) <= 2 and known.most <= 1
    if is_named and not stated:
        _refuse_confidence(table, column)
    if stated or is_named:
        return ScoreColumns({column: "1"})
    got = f"one column of numbers, {column!r}, for {known.labels}"
    expected = (
        "a column `prediction`, or scores in a column per class; --prediction-column states that it holds predictions, "
        "or the scores of class 1 of two"
    )
    raise InputError(str(table.path), got, expected)


def _refuse_confidence(table: TableFile, column: str) -> None:
    """Raise an `InputError` for probabilities that are never below .5, perhaps those of the predicted class."""
    blocks = [*table.numbers([column])]
    if all((block >= 0.5).all() for block in blocks) and all(
        are_probabilities(block.min(), block.max()) for block in blocks
    ):
        expected = (
            "a column of predicted classes, if it holds their probabilities; --prediction-column "
            f"{column} states that it holds those of class 1"
        )
        raise InputError(str(table.path), f"no value below .5 in column {column!r}", expected)


def _require_scores(table: TableFile, columns: Sequence[str], known: KnownClasses) -> None:
    """Raise an `InputError` unless columns of any names are the scores of classes that labels call by number.

    Two columns may be one score and anything else, as may numbers in [0, 1] that do not sum to 1.
    """
    if len(columns) <= known.most or sum_to_one(table.numbers(columns)):
        return  # if they are too few, an error names the labels beyond them
    words = {word for column in columns for word in re.findall("[a-z]+", column.lower())}
    are_alike = len({table.kinds[column] for column in columns}) == 1 and not words & _OTHER_WORDS
    if len(columns) == known.most + 1 > 2 and are_alike:
        blocks = table.numbers(columns)
        if not all(are_probabilities(block.min(), block.max()) for block in blocks):
            return
    got = f"columns of numbers {quoted(columns)} for {known.labels}"
    expected = (
        "one column of scores per class; --classes FILE names the classes, and other columns are left out; "
        "--prediction-column states a column of predictions, or of scores of class 1"
    )
    raise InputError(str(table.path), got, expected)
