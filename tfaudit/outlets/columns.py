"""The catalogue of columns: heading, unit, format and help of every column that reports, terminal and viewer show."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.ties import count_text
from tfaudit.audits.verdict.study_verdict import GZIPPED
from tfaudit.datasets.corruptions.registry import corruption_title

LEAST_P = 0.0001
"""Smallest p-value that is shown; smaller ones are shown as below it, never as 0."""

ROUNDING = 1e-9
"""Numbers that are nearer to 0 are shown as 0: no figure means so little, but errors of rounding are as small."""

VERDICTS = "The verdict on every variant"
"""Part of the catalogue whose columns the verdict has in a page, a terminal and Markdown, in this order."""

FIRST, ANSWERS = 8, ("verdict", "chosen")
"""How many columns of a grid come first, and which of them always do."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """The content of one cell of a table.

    Attributes:
        text: figure or name.
        beside: text on the same line if there is room, such as the recalls of a class.
        below: text on the next line or in brackets, such as the interval of a figure.
    """

    text: str
    beside: str = ""
    below: str = ""

    def __str__(self) -> str:
        """Return the whole content in one line."""
        return " ".join(filter(None, [self.text, self.beside, self.below and f"({self.below})"]))


@dataclasses.dataclass(frozen=True)
class Column:
    """How a column of a frame is shown.

    Attributes:
        heading: heading without the unit.
        form: format specification of numbers; integers without one have thousands separators.
        unit: "%" for shares, "pp" for percentage points, "bytes", ...; empty for text and for numbers without a unit.
        scale: factor from the frame's values to the unit.
        help: what the column means, in a few words.
        words: function that returns the text for a name in the column; None if names are shown as they are.
        cell: function that returns the content of a cell that shows several figures of a row; None if it shows one.
    """

    heading: str
    form: str = ""
    unit: str = ""
    scale: float = 1
    help: str = ""
    words: Callable[[str], str] | None = None
    cell: Callable[[Mapping[Hashable, Any]], Cell] | None = None

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return bool(self.form or self.unit)

    @property
    def is_p(self) -> bool:
        """Whether the column holds p-values."""
        return (
            re.search(r"\bp\b", self.heading) is not None and not self.unit and self.form == ".2g"
        )

    @property
    def title(self) -> str:
        """Heading with its unit.

        Example:
            >>> column("recall_before").title
            'recall before, %'
        """
        return f"{self.heading}, {self.unit}" if self.unit else self.heading

    @property
    def grid_heading(self) -> str:
        """Heading in a data grid, whose cells show percent and bytes with their unit."""
        return self.heading if self.unit == "%" or self.grid_format == "bytes" else self.title

    @property
    def grid_format(self) -> str | None:
        """Format of numbers in their unit, as Streamlit's `NumberColumn` takes it; None means its default.

        Example:
            >>> column("recall_before").grid_format, column("difference_pp").grid_format
            ('%.1f %%', '%+.2f')
        """
        if self.unit == "bytes":
            return "bytes"
        percent = " %%" if self.unit == "%" else ""
        return f"%{self.form}{percent}" if self.form and "," not in self.form else None

    def text(self, value: object) -> str:
        """Return the text of a cell: a dash for an unknown value, a true minus sign, "yes" or "no" for a truth value.

        Example:
            >>> column("difference_pp").text(-5.125), column("p").text(float("nan"))
            ('−5.12', '–')
        """
        if pd.isna(value):  # type: ignore[call-overload]
            return "–"
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, str):
            return self.words(value) if self.words else value
        if isinstance(value, (int, np.integer)) and self.scale == 1 and not self.is_p:
            return f"{value:,}".replace("-", "−")
        if not self.form:
            is_count = isinstance(value, float) and self.scale == 1
            return count_text(value).replace("-", "−") if is_count else str(value)  # type: ignore[arg-type]
        number: float = self.scale * value  # type: ignore[operator]
        if self.is_p and 0 <= number < LEAST_P:
            return "< .0001"
        return _without_exponent(number, self.form).replace("-", "−")


def _without_exponent(number: float, form: str) -> str:
    """Return a formatted number without an exponent: 1,100 rather than 1.1e+03, 0.000012 rather than 1.2e-05.

    Example:
        >>> _without_exponent(1.33e-15, ".3g"), _without_exponent(1.2e-5, ".3g")
        ('0', '0.000012')
    """
    text = format(0.0 if abs(number) < ROUNDING else number, form)
    if "e" not in text:
        return text
    sign = "+" if form.startswith("+") else ""
    return format(number, f"{sign},.0f") if abs(number) >= 1 else format(Decimal(text), f"{sign}f")


def p_text(p: float) -> str:
    """Return a p-value as it follows "p" in a sentence; it is never 0.

    Example:
        >>> p_text(0.0571).replace("\u00a0", " "), p_text(0).replace("\u00a0", " ")
        ('= 0.057', '< .0001')
    """
    text = P.text(p)
    return text.replace(" ", "\u00a0") if text.startswith("<") else f"=\u00a0{text}"


def first_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that a grid shows before a reader asks for all: at most eight, including the verdict.

    Example:
        >>> first_columns([*"abcdefghi", "verdict", "j"])
        ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'verdict']
    """
    answers = [name for name in names[FIRST:] if name in ANSWERS]
    return [*names[: FIRST - len(answers)], *answers]


@dataclasses.dataclass(frozen=True)
class TextColumn:
    """A column as text.

    Attributes:
        heading: heading with the unit.
        help: meaning of the heading; may be empty.
        cells: one per row, mostly text.
        numeric: whether the cells are numbers.
    """

    heading: str
    help: str
    cells: tuple[Any, ...]
    numeric: bool = True


def verdict_columns(*left_out: str, sizes: str = GZIPPED) -> dict[str, Column]:
    """Return the columns of a table of verdicts by name, without the title, the outcome and those left out.

    `sizes` is that of `StudyVerdict`: which bytes the sizes are.
    """
    names = {entry.partition(".")[2]: column for entry, column in COLUMN_GROUPS[VERDICTS].items()}
    names["size_ratio"] = _share(
        f"size, {sizes}", f"Model file {sizes}, relative to the baseline's"
    )
    return {name: column for name, column in names.items() if name not in ("outcome", *left_out)}


def cell_of(name: str, entry: Column, row: Mapping[Hashable, Any]) -> Cell:
    """Return the content of a row's cell in a column."""
    return entry.cell(row) if entry.cell else Cell(entry.text(row[name]))


def column(name: Hashable, table: str = "") -> Column:
    """Return how a column is shown; a column that is not in the catalogue has its name as heading.

    Args:
        name: name of the column in its frame.
        table: prefix of the entries of `COLUMNS` that are tried first, such as "chance"; none by default.

    Example:
        >>> column("low", "chance").help
        'Lower end of the central 95 % expected by chance'
        >>> column("mean_rank").heading
        'mean rank'
    """
    fallback = Column(str(name).replace("_", " "), ".4g")
    return COLUMNS.get(f"{table}.{name}", COLUMNS.get(str(name), fallback))


def text_columns(
    frame: pd.DataFrame,
    names: Sequence[str] = (),
    table: str = "",
    headings: Mapping[str, str] | None = None,
) -> tuple[TextColumn, ...]:
    """Return columns of a frame as text.

    Args:
        frame: data frame whose rows are the rows of the table.
        names: columns to return, in this order; all by default.
        table: prefix of the entries of `COLUMNS` that are tried first, as in `column`; none by default.
        headings: headings that depend on the data, by name of the column, such as a column of groups.

    Example:
        >>> recall, = text_columns(pd.DataFrame({"recall_before": [0.5]}), ["recall_before"])
        >>> recall.heading, recall.cells
        ('recall before, %', ('50.0',))
    """
    shown = []
    for name in names or map(str, frame):
        entry = column(name, table)
        if entry.unit == "bytes":
            entry = in_round_unit(entry, frame[name].max())
        numeric = pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(
            frame[name]
        )
        heading = (headings or {}).get(name, entry.title)
        shown.append(TextColumn(heading, entry.help, tuple(map(entry.text, frame[name])), numeric))
    return tuple(shown)


def in_round_unit(entry: Column, largest: float) -> Column:
    """Return a column of bytes with the unit that keeps the largest value below a thousand."""
    power = 0 if pd.isna(largest) or largest < 1 else min(int(math.log10(largest)) // 3, 3)
    return dataclasses.replace(entry, unit=("B", "kB", "MB", "GB")[power], scale=1000.0**-power)


def _share(heading: str, help: str = "", form: str = ".1f") -> Column:
    return Column(heading, form, "%", 100, help)


def _points(heading: str, help: str = "Percentage points", form: str = "+.2f") -> Column:
    return Column(heading, form, "pp", help=help)


def _number(heading: str, form: str, help: str = "") -> Column:
    return Column(heading, form, help=help)


def _text(heading: str, help: str = "") -> Column:
    return Column(heading, help=help)


def _interval(
    low: str, high: str, of: str, form: str = "+.2f", unit: str = "", scale: float = 1
) -> dict[str, Column]:
    """Return the columns for the two ends of an interval."""
    ends = ((low, "from", "Lower"), (high, "to", "Upper"))
    return {
        name: Column(heading, form, unit, scale, f"{end} end of the {of}")
        for name, heading, end in ends
    }


def _pair(before: str, after: str, entry: Column) -> dict[str, Column]:
    """Return the columns of a quantity before and after compression; the second has the heading "after"."""
    return {before: entry, after: dataclasses.replace(entry, heading="after")}


_count = functools.partial(_number, form=",.0f")
_p = functools.partial(_number, form=".2g")
P = _p("p")
"""A p-value."""

_HOLM, _BH = "Holm's correction", "Benjamini and Hochberg's correction"


def _holm(over: str = "") -> Column:
    return _p("p, corrected", help=f"p after {_HOLM}{over and f' over {over}'}")


def _change(name: str, heading: str, help: str) -> dict[str, Column]:
    """Return the columns of a change, its interval and its p-values, whose names share a prefix."""
    of = f" of the {heading}" if heading == "centred change" else ""
    interval = f"confidence interval{of} over examples and members"
    return {
        f"{name}_pp": _points(heading, help),
        **_interval(f"{name}_low_pp", f"{name}_high_pp", interval),
        f"{name}_p": _p("p", help="p-value of no such change, uncorrected"),
        f"{name}_p_holm": _holm(),
        f"{name}_p_bh": _p("p, corrected (BH)", help=f"p after {_BH}"),
    }


def with_minus_signs(text: str) -> str:
    """Return a sentence with true minus signs before its numbers.

    Example:
        >>> with_minus_signs("fixed-point int8 changes by -0.5")
        'fixed-point int8 changes by −0.5'
    """
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def prose(text: str) -> str:
    """Return a sentence for a page: without backticks, with true minus signs, each "%" on the line of its number.

    Example:
        >>> prose("`int8` changes by -3 %.").replace("\u00a0", " ")
        'int8 changes by −3 %.'
    """
    return with_minus_signs(text.replace("`", "")).replace(" %", "\u00a0%")


def signed(points: float, digits: int = 1) -> str:
    """Return percentage points with their sign; 0 has none.

    Example:
        >>> signed(-0.26), signed(0.02), signed(float("nan"))
        ('−0.3', '0.0', '–')
    """
    if math.isnan(points):
        return "–"
    rounded = round(points, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def _change_cell(row: Mapping[Hashable, Any]) -> Cell:
    low = signed(row["change_low_pp"])
    high = signed(row["change_high_pp"])
    return Cell(signed(row["change_pp"]), below="" if "–" in (low, high) else f"{low} to {high}")


def _changed_cell(row: Mapping[Hashable, Any]) -> Cell:
    shares = [row["changed_share"], row.get("retrained_share", np.nan)]
    text = "–" if pd.isna(shares[0]) else f"{100 * shares[0]:.1f}"
    if pd.isna(row.get("examples", np.nan)) or pd.isna(shares[0]):
        return Cell(text)
    count, again = (share * row["examples"] for share in shares)
    beside = f" of {row['examples']:,}" if pd.isna(again) else f"; retraining {again:,.0f}"
    return Cell(text, below=f"{count:,.0f}{beside}")


def _worst_cell(row: Mapping[Hashable, Any]) -> Cell:
    if pd.isna(row["worst_class"]) or not row["worst_class"]:
        return Cell("–")
    counts = [(row.get("collapsed"), "collapsed"), (row.get("lost"), "lost recall")]
    below = ", ".join(f"{count:.0f} {name}" for count, name in counts if pd.notna(count) and count)
    recalls = f"{100 * row['worst_before']:.1f} → {100 * row['worst_after']:.1f} %"
    return Cell(str(row["worst_class"]), recalls, below)


COLUMN_GROUPS: dict[str, dict[str, Column]] = {}
"""The catalogue: columns by name, under the title of their part."""

COLUMN_GROUPS["Columns whose heading is their name"] = {
    **{
        name: _text(name)
        for name in ("member", "class", "group", "individual", "attribute", "value")
    },
    "corruption": Column("corruption", words=corruption_title),
    **{name: _text(name) for name in ("test", "kind", "population", "chosen", "term", "rater")},
    **{name: _count(name) for name in ("severity", "parameters", "observed", "individuals")},
    **{name: _count(name) for name in ("answers", "raters", "votes")},
}
COLUMN_GROUPS["What a row is about"] = {
    "title": _text("variant", "Variant of the model"),
    "members": _count("members", help="Models of the variant"),
    "condition": Column("condition", help="Corruption and severity", words=corruption_title),
    "rank": _text("accuracy", "The true class counts as right among the first k predictions"),
    "k": _count("k", help="The true class counts as right among the first k predictions"),
    "examples": _count("examples"),
    "direction": _text(
        "direction",
        "Whether the class or group changes for the worse or the better than average, corrected",
    ),
}
COLUMN_GROUPS["Size and cost"] = {
    "costs.bytes": Column("size", ",.4g", "bytes", help="Model file, mean over members"),
    "costs.gzipped_bytes": Column(
        "gzipped", ",.4g", "bytes", help="Gzipped model file, mean over members"
    ),
    "sparsity": _share("sparsity", "Zeros among the prunable weights"),
    "bytes": Column("size", ".3g", "bytes", help="Model file, mean over members"),
    "gzipped_bytes": Column(
        "gzipped", ".3g", "bytes", help="Gzipped model file, mean over members"
    ),
    "zeros": _count("zeros", help="Zeros among the weights of kernels"),
    "flops": Column("Mflops", ",.4g", scale=1e-6, help="Operations for one example, in millions"),
    "effective_flops": Column(
        "effective Mflops", ",.4g", scale=1e-6, help="Operations without those on zero weights"
    ),
    "latency_1_ms": Column(
        "latency", ".3g", "ms", help="Median for one example, one thread, on this machine"
    ),
    "latency_1_ratio": _number(
        "of dense", ".2f", "Median ratio to the dense model, measured alternately"
    ),
    "latency_32_ms": Column(
        "latency of 32", ".3g", "ms", help="Median for 32 examples, one thread, on this machine"
    ),
    "size": _share("size", "Model file, gzipped if that is known, relative to the baseline's"),
    "time": _share(
        "latency", "Latency of one example, relative to the baseline's, on this machine"
    ),
}
COLUMN_GROUPS["Accuracy and recall"] = {
    "accuracy": _share("accuracy", "Mean top-1 accuracy over members", ".2f"),
    **_pair("accuracy_before", "accuracy_after", _share("accuracy before", form=".2f")),
    "top1": _share("top-1", "Mean accuracy", ".2f"),
    "top1_change": _share(
        "relative change", "Change of mean top-1 accuracy, relative to the baseline's", "+.2f"
    ),
    "top5": _share("top-5", "Mean accuracy of five guesses", ".2f"),
    **_pair("recall_before", "recall_after", _share("recall before", "Mean over the members")),
    "precision_before": _share(
        "precision before", "Share of the predictions of this class that are right"
    ),
    "precision_after": _share(
        "precision after", "Share of the predictions of this class that are right"
    ),
    "precision_pp": _points("change of precision"),
    **_interval(
        "precision_low_pp", "precision_high_pp", "confidence interval of the change of precision"
    ),
    "precision_p": _p("p of precision", help="p of no change of precision, uncorrected"),
    "difference_pp": _points("change"),
    **_interval("low_pp", "high_pp", "confidence interval of the change"),
    "relative_change": _share(
        "relative change", "Change as a share of the accuracy before", "+.2f"
    ),
    "p": _p("p"),
    "p_holm": _holm(),
    "p_bh": _p("p, corrected (BH)", help=f"p after {_BH}"),
}
COLUMN_GROUPS[VERDICTS] = {
    "verdicts.outcome": _text(
        "verdict",
        "Outcome of the gate: pass, fail, cannot judge, or passes uncorrected, without the correction for all variants",
    ),
    "verdicts.reason": Column("why", cell=lambda row: Cell(with_minus_signs(row["reason"]))),
    "verdicts.top1": _share("top-1", "Mean accuracy"),
    "verdicts.change_pp": Column(
        "change",
        "+.1f",
        "pp",
        help="Change of mean top-1 accuracy, with its interval",
        cell=_change_cell,
    ),
    "verdicts.worst_class": Column(
        "worst class",
        help="The class that lost most: mean recall before and after",
        cell=_worst_cell,
    ),
    "verdicts.changed_share": dataclasses.replace(
        _share(
            "changed",
            "Predictions that change, the mean over pairs of members, beside those that training the baseline again "
            "changes",
        ),
        cell=_changed_cell,
    ),
    "verdicts.size_ratio": _share(
        "size, gzipped", "Model file gzipped, relative to the baseline's"
    ),
}
COLUMN_GROUPS["Remedies"] = {
    "remedies.title": _text("remedy", "The compressed variant that was trained with it"),
    "remedies.measure": _text(
        "measure", "What is compared, in per cent of the examples; more is better for the first two"
    ),
    "remedies.members": Column("pairs", help="Models of both that were made from one dense model"),
    "remedies.control": _share("control", "Mean of the models trained without the remedy"),
    "remedies.remedy": _share("with it", "Mean of the models trained with the remedy"),
    "remedies.difference_pp": _points(
        "difference", "Value with the remedy minus value without it, percentage points"
    ),
    "remedies.p_holm": _holm("all rows"),
    "remedies.verdict": _text("verdict", "Whether the remedy helps, after the correction"),
}
COLUMN_GROUPS["Candidates of a search"] = {
    "candidates.title": _text("candidate", "Kind of the file, and what was pruned before"),
    "candidates.outcome": _text("verdict", "Outcome of the gate on the selection part"),
    "candidates.judged": _text("judged", "Outcome of the verdict; empty if it was not judged"),
    "candidates.judged_examples": _count("on examples", help="Number of examples that judged it"),
    "candidates.bytes": Column("size", ",.4g", "bytes", help="Size of the file"),
    "candidates.size_ratio": _share("of the model", "Size as a share of the model's file"),
    "candidates.top1": _share("top-1", "Accuracy", ".2f"),
    "candidates.change_pp": _points("change", "Change of accuracy"),
    **_interval(
        "candidates.change_low_pp", "candidates.change_high_pp", "confidence interval over examples"
    ),
    "candidates.worst_class": _text("worst class", "The class that loses most"),
    **_pair("candidates.worst_before", "candidates.worst_after", _share("its recall before")),
    "candidates.reason": _text("why"),
}
COLUMN_GROUPS["The table of a study, [F] table 2"] = {
    "significant": _count("classes", help="Classes with p ≤ alpha, uncorrected as in [F]"),
    "expected_by_chance": _number(
        "expected",
        ".2g",
        "Number expected by chance: the mean when members are reassigned at random",
    ),
    "significant_holm": _count("classes, corrected", help=f"Classes significant after {_HOLM}"),
    "significant_bh": _count("classes, corrected (BH)", help=f"Classes significant after {_BH}"),
    "harmed": _count(
        "of these worse", help="Uncorrected: classes that lose more than the model as a whole"
    ),
    "favoured": _count(
        "of these better", help="Uncorrected: classes that lose less than the model as a whole"
    ),
    "changed_predictions": _number(
        "changed", ",.0f", "Predictions that differ between two models, mean over members"
    ),
    "pies": _count(
        "changed examples",
        help="PIEs: examples whose prediction changes, of populations the majority prediction",
    ),
    "pies_undecided": _count(
        "undecided", help="Examples whose majority predictions tie, so that they may have changed"
    ),
    "tied": _number(
        "ties",
        ",.0f",
        "Predictions in which classes share the best score exactly, mean over members",
    ),
    "argmax_top1": _share(
        "top-1 by argmax", "Mean accuracy where ties go to the class of the lowest number", ".2f"
    ),
    "pies_by_chance": _count(
        "changed by chance", help="Mean number when members are reassigned at random"
    ),
    "pies_p": _p(
        "p of changed examples",
        help="Probability of as many by chance; permutation test over members",
    ),
}
COLUMN_GROUPS[
    "Classes under compression: what they lost, and whether that is more than the average"
] = {
    "lowest_recall": _share("lowest", "Recall of the compressed member that knows the class least"),
    "collapsed": _text("collapsed", "Mean recall is halved, or a member's recall is near 0"),
    **_change("change", "change", "Recall or accuracy after minus before, percentage points"),
    "verdict": _text(
        "verdict", "Whether recall or accuracy was lost or gained, corrected for the number of rows"
    ),
    **_change(
        "relative",
        "against average",
        "Change of recall minus the change of accuracy, percentage points",
    ),
    "relative_verdict": _text(
        "against average", "Whether the class or group loses more than all examples do"
    ),
    **_change(
        "published",
        "centred change",
        "Change of recall minus accuracy as published, [F] 2.2, percentage points",
    ),
    **_interval(
        "published_low_pp",
        "published_high_pp",
        "published interval, which takes the examples as fixed",
    ),
    **{
        f"published_{name}": _number(name, ".3g", "Welch's test as published, [F] 2.2")
        for name in ("t", "df")
    },
    "published_direction": _text(
        "direction", "Worse or better than average by the published test, [F] 2.2"
    ),
}
COLUMN_GROUPS["One model against one, and what training again changes"] = {
    "changed": _count(
        "changed", help="Examples for which the two models predict different classes"
    ),
    "pairs.title": _text("model"),
    "pairs.pies": _count("changed", help="Examples whose prediction changes"),
    "pairs.accuracy_before": _share("top-1 before", form=".2f"),
    **_pair("pairs.recall_before", "pairs.recall_after", _share("recall before")),
    "pairs.change_p": _p("p", help="McNemar's exact test"),
    "p_mid": _p("mid-p", help="McNemar's mid-p, less conservative than the exact test"),
    "pairs.expected_by_chance": _number(
        "expected by chance", ".2g", "Classes with p ≤ alpha where only chance changes examples"
    ),
    **dict.fromkeys(
        ("negative_flips", "lost"),
        _count("newly wrong", help="Negative flips: right before, wrong after"),
    ),
    **dict.fromkeys(
        ("positive_flips", "won"),
        _count("newly correct", help="Positive flips: wrong before, right after"),
    ),
    "wrong_to_other_wrong": _count("other wrong", help="Wrong before, wrong in another way after"),
    "btc": _share(
        "right stays right",
        "Share of the right predictions that stay right: backward trust compatibility (BTC)",
    ),
    "bec": _share(
        "wrong stays wrong",
        "Share of the wrong predictions that stay wrong: backward error compatibility (BEC)",
    ),
    "agreement": _share("same", "Examples with the same prediction before and after"),
    "example": _text("example"),
    "label": _text("true class"),
    **_pair("before", "after", _text("before")),
    **_pair(
        "probability_before",
        "probability_after",
        _share("probability before", "Probability that the model gives to its own prediction"),
    ),
}
COLUMN_GROUPS["Expected by chance"] = {
    "count": _text("count of"),
    "chance.verdict": _text(
        "verdict", "More than expected by chance, cannot tell, or consistent with chance"
    ),
    "expected": _number("by chance", ",.1f", "Mean count expected by chance"),
    **_interval("chance.low", "chance.high", "central 95 % expected by chance", ",.0f"),
    "chance.p": _p("p", help="Probability of a count at least as large by chance"),
    "permutations": _count("assignments", help="Reassignments of the members to two groups"),
    "chance.kind": _text("drawn", "All possible assignments, or random ones"),
}
COLUMN_GROUPS["Exemplars"] = {
    "baseline_mode": _text("before", "Majority prediction of the baseline"),
    "compressed_mode": _text("after", "Majority prediction of the compressed population"),
    "baseline_share": _share(
        "votes before", "Share of the members that make the majority prediction"
    ),
    "compressed_share": _share("after", "Share of the members that make the majority prediction"),
    "decisiveness": _share(
        "decisiveness",
        "Probability that a member of each side makes its side's majority prediction",
    ),
    "baseline_entropy": Column("entropy before", ".2f", "bits", help="Entropy of the votes"),
    "compressed_entropy": Column("after", ".2f", "bits", help="Entropy of the votes"),
    "share": _share("of all", "Share of all examples"),
    "baseline_mode_right": _count(
        "right before", help="PIEs whose majority prediction is right before compression"
    ),
    "compressed_mode_right": _count(
        "right after", help="PIEs whose majority prediction is right after compression"
    ),
    "difficulty.accuracy": _share("accuracy"),
    **_interval(
        "difficulty.low",
        "difficulty.high",
        "95 % confidence interval over the members",
        ".1f",
        "%",
        100,
    ),
}
COLUMN_GROUPS["What lost examples become"] = {
    "confusions.label": _text("true class", "Predicted right before compression"),
    "confusions.after": _text("becomes", "Majority prediction after compression"),
    "confusions.images": _count("examples", help="Right before, and this class after"),
    "confusions.of_lost": _share("of lost", "Share of the lost examples of the class", ".0f"),
}
COLUMN_GROUPS["Negative flips, shifts, slices, forecast and calibration"] = {
    "negative_share": _share(
        "newly wrong", "Examples right before and wrong after, mean over pairs of models", ".2f"
    ),
    **_interval(
        "negative_low",
        "negative_high",
        "confidence interval over examples and members",
        ".2f",
        "%",
        100,
    ),
    "positive_share": _share(
        "newly correct", "Examples wrong before and right after, mean over pairs of models", ".2f"
    ),
    "retrained_share": _share(
        "retrained", "Examples that one baseline model has right and another wrong", ".2f"
    ),
    "negative_flips.excess_pp": _points(
        "excess", "Lost examples minus those between two baseline models"
    ),
    "negative_flips.excess_p_holm": _p(
        "p of excess, corrected", help=f"p of no excess after {_HOLM} over the classes"
    ),
    "negative_flips.relative_pp": _points(
        "against average", "Rate of the class minus that of all, percentage points"
    ),
    "negative_flips.verdict": _text(
        "against average", "Whether the class loses examples more often than all do"
    ),
    "divergence.agreement": _share(
        "same prediction", "Predictions that compression does not change", ".2f"
    ),
    "kl": _number("divergence", ".2g", "Mean Kullback-Leibler divergence, nats"),
    "shift": _number("shift", ".3g", "Mean square root of the divergence"),
    **_interval("shift_low", "shift_high", "confidence interval over examples and members", ".3g"),
    "divergence.relative_p_holm": _p(
        "p against average, corrected", help=f"p of no difference after {_HOLM} over the classes"
    ),
    "divergence.verdict": _text(
        "against average", "Whether the probabilities of the class move more than those of all"
    ),
    "slice": _count("slice", help="The largest loss on the searched half of the examples first"),
    "description": _text("mostly", "What most of its examples have in common"),
    "slices.examples": _count("examples", help="On the half where slices are tested"),
    "slices.relative_pp": _points(
        "against average", "Change of the slice minus that of all examples, percentage points"
    ),
    "slices.relative_p": _p("p against average", help="One-sided, uncorrected"),
    "slices.relative_p_holm": _p(
        "p against average, corrected",
        help=f"One-sided p of no larger loss than average after weighted {_HOLM} over the slices",
    ),
    "slices.verdict": _text("against average", "Whether the slice loses more than all examples"),
    "searched_pp": _points(
        "change where searched", "On the half where the slice was chosen, which overstates losses"
    ),
    "looked_share": _share("examples looked at", "Those with the smallest margins first", ".0f"),
    "looked": _count("examples"),
    "second": _text("second", "The other class that the baseline finds most probable"),
    "margin": _number("margin", ".3f", "Probability of the class before minus that of the second"),
    "found_share": _share("changes found", "Changed predictions among these examples", ".1f"),
    **_interval(
        "found_low", "found_high", "confidence interval over examples and members", ".1f", "%", 100
    ),
    "calibration.measure": _text("measure", "Means over examples and members"),
    **_pair("calibration.before", "calibration.after", _number("before", ".5f")),
    "calibration.change": _number("change", "+.5f"),
    **_interval(
        "change_low", "change_high", "confidence interval over examples and members", "+.5f"
    ),
    "calibration.verdict": _text(
        "verdict", "Whether the measure or the overconfidence rises, corrected for the rows"
    ),
    **_pair(
        "confidence_before",
        "confidence_after",
        _share("confidence before", "Probability of the predicted class"),
    ),
    **_pair(
        "overconfidence_before_pp",
        "overconfidence_after_pp",
        _points("overconfidence before", "Confidence minus accuracy, percentage points"),
    ),
}
COLUMN_GROUPS["Recall distortion"] = {
    "method": _text("method"),
    "mark": _text(
        "mark",
        "Verdict on the corrected slope, for all levels of a method at once: < classes move closer together, > further "
        "apart, ? cannot tell",
    ),
    "alpha": _number("slope", ".3f", "Mean over the members"),
    "slope_between_dense": _number(
        "retrained", ".3f", "Slope between two baseline models: the same model trained again"
    ),
    "corrected": _number(
        "corrected",
        ".3f",
        "Slope without the attenuation by finite test examples and by members trained apart",
    ),
    **_interval(
        "corrected_low",
        "corrected_high",
        "confidence interval of the corrected slope over examples and members, the same as in the gate",
        ".3f",
    ),
    "slopes.accuracy_before": _share("top-1 before", form=".2f"),
    "variance_before": _number(
        "variance before", ".5f", "Variance of recall over the classes, mean over members"
    ),
    "variance_after": _number(
        "after", ".5f", "Variance of recall over the classes, mean over members"
    ),
    **_pair("rate_before", "rate_after", _share("recall before")),
    "balance_before_pp": _points(
        "above average before", "Recall minus accuracy, percentage points"
    ),
    "balance_after_pp": _points("after", "Recall minus accuracy, percentage points"),
    **_pair(
        "normalised_before",
        "normalised_after",
        _share("normalised before", "Recall minus accuracy, as a share of the accuracy"),
    ),
    "intensification": _number(
        "intensification", ".2f", "Normalised after / before; unstable near 0 before"
    ),
    "study": _text("study"),
    "dataset": _text("data set"),
    "model": _text("model"),
    "studies.level": _number("level", ".4g", "Sparsity, or pruning ratio"),
    "studies.accuracy_before": _share("top-1 before", form=".2f"),
    "alpha_se": _number("error", ".3f", "Standard error of the mean slope"),
    "spread.measure": _text(
        "of", "The slope of a model, or the mean of its ratios over the classes"
    ),
    **{
        f"spread.{name}": _number(heading, ".3f", "Over the models")
        for name, heading in {
            "mean": "mean",
            "sd": "sd",
            "least": "lowest",
            "most": "highest",
        }.items()
    },
}
COLUMN_GROUPS["Groups, individuals, attributes"] = {
    **_pair("individuals.accuracy_before", "individuals.accuracy_after", _share("accuracy before")),
    "individuals.change_pp": _points("change", form="+.1f"),
    "fits.slope": _number("slope", ".3f", "Slope of accuracy after on accuracy before"),
    **_interval("fits.slope_low", "fits.slope_high", "confidence interval of the slope", ".3f"),
    "intercept": _number("intercept", "+.3f"),
    "r": _number("r", ".3f", "Correlation"),
    "name": _text("attribute"),
}
COLUMN_GROUPS["Outcomes of examples and named groups"] = {
    "verdict groups.limit_pp": _points("limit", form=".3g"),
    "verdict groups.outcome": _text("verdict", "Outcome of the gate for this group"),
    **_pair("outcomes.before", "outcomes.after", _share("before", "Mean outcome")),
    **{
        f"outcome examples.{name}": _number(name, form, help)
        for name, form, help in (
            ("before", ".3g", "Outcome, mean over the members"),
            ("after", ".3g", "Outcome, mean over the members"),
            ("change", "+.3g", ""),
            ("retrained", ".3g", "Mean difference of two baseline models on this example"),
        )
    },
}
COLUMN_GROUPS["Gaps and intersections"] = {
    "grouping": _text("grouping", "Classes, a column of groups, or two of these crossed"),
    "groups": _count("groups", help="Groups of 10 examples or more"),
    "worst_group": _text("worst group", "The group of the lowest accuracy after compression"),
    **_pair(
        "worst_before", "worst_after", _share("worst before", "Lowest accuracy of a group", ".2f")
    ),
    **_interval(
        "worst_after_low", "worst_after_high", "interval, for all groups at once", ".2f", "%", 100
    ),
    **_pair(
        "gap_before_pp",
        "gap_after_pp",
        Column("gap before", ".2f", "pp", help="Best minus worst accuracy"),
    ),
    "gap_change_pp": _points("change of gap", "Gap after minus gap before, percentage points"),
    **_interval(
        "gap_change_low_pp", "gap_change_high_pp", "confidence interval over examples and members"
    ),
    "gap_change_p_holm": _p(
        "p, corrected", help=f"p of no change of the gap after {_HOLM} over the groupings"
    ),
    "intersections.verdict": _text("verdict", "Corrected for the number of rows"),
    "share_pie": _share(
        "of changed examples", "Share of the PIEs, the changed examples, that have the attribute"
    ),
    "share_non_pie": _share("of others", "Share of the other examples that have the attribute"),
    "ratio": _number("ratio", ".2f", "Above 1: PIEs have it more often"),
}
COLUMN_GROUPS["Properties of images"] = {
    "measure": _text("accuracy", "Accuracy before, after, or its change"),
    "units": _count("points", help="Examples or individuals that the line is fitted to"),
    "slope": _number("slope", "+.4g", "Accuracy, a share, per unit of the property"),
    **_interval("slope_low", "slope_high", "confidence interval of the slope", "+.4g"),
    "trends.p": _p("p", help="p-value of slope 0"),
    "curvature": _number(
        "curvature", "+.4g", "Coefficient of the squared property, beside the property"
    ),
    **_interval("curvature_low", "curvature_high", "confidence interval of the curvature", "+.4g"),
    "curvature_p": _p("p of curvature", help="p-value of curvature 0"),
}
COLUMN_GROUPS["Robustness"] = {
    "robustness.accuracy_before": _share("before", "Accuracy under corruption", ".2f"),
    "robustness.accuracy_after": _share("after", "Accuracy under corruption", ".2f"),
    "clean_change_pp": _points("clean", "Change on clean images, percentage points"),
    "excess_pp": _points(
        "excess", "Change under corruption minus the change on clean images, percentage points"
    ),
    **_interval("excess_low_pp", "excess_high_pp", "confidence interval of the excess"),
    "excess_p": _p("p of excess"),
    "excess_p_holm": _p(
        "p of excess, corrected",
        help=f"p of no excess after {_HOLM} over the corruptions",
    ),
    "mce": _share("mCE", "Mean corruption error; the baseline's is 100 %"),
    **_interval("mce_low", "mce_high", "confidence interval of mCE", ".1f", "%", 100),
    "relative_mce": _share(
        "relative mCE", "Mean corruption error of the loss from clean to corrupted images"
    ),
    "corruptions.change_p_holm": _holm("the corruptions"),
    "corruptions.published_p": _p(
        "Welch's p", help="Over the members alone, the examples taken as fixed"
    ),
    "cells.relative_pp": _points(
        "against average", "Change minus the change of accuracy, percentage points"
    ),
    "clean_relative_pp": _points("clean", "The same on clean images, percentage points"),
    "cells.change_p_holm": _holm("all cells of the variant"),
    "cells.relative_p_holm": _holm("all cells of the variant"),
    "flips": _count(
        "flips", help="Examples whose majority prediction differs between baseline and variant"
    ),
    "flips.pies": _count("changed examples", help="PIEs: on clean images"),
    "pie_share": _share("of all", "Share of PIEs among all examples", ".2f"),
    "flip_pie_share": _share("of flips", "Share of PIEs among the flips", ".2f"),
    "flips.ratio": _number(
        "ratio", ".2f", "Share among the flips over the share among all examples"
    ),
    "pie_flip_share": _share("changed examples that flip"),
    "flips.p": _p("p", help="p-value of no more PIEs among the flips than among the others"),
}
COLUMN_GROUPS["Operating points"] = {
    "unfairness": Column(
        "unfairness",
        ".1f",
        "pp",
        100,
        "Largest minus smallest recall of a class, mean over members",
    ),
    "gzipped kB": Column("gzipped", ",.3g", "kB", help="Gzipped model file, mean over members"),
    "gate": _text(
        "gate",
        "Under the limits: passes, fails, the data cannot judge, or passes uncorrected, without the correction for all "
        "variants; "
        "the baseline is not judged",
    ),
    "above_floor": _text("above the floor", "Whether the accuracy reaches the floor"),
    "pareto": _text(
        "Pareto set", "No other variant is as good in every objective and better in one"
    ),
    "pareto_share": _share(
        "Pareto set in resamples",
        "Share of resamples of its models in which the variant is in the Pareto set",
        ".0f",
    ),
    "points.behind": _number(
        "behind the best by",
        ".2f",
        "How much less the variant is worth than the best, in points of worth",
    ),
    "points.value": _number("value", ".3f", "Sum of worth times objective, in percentage points"),
}
COLUMN_GROUPS["Factors"] = {
    "factors.term": _text("term", "Term of the formula; × joins terms that depend on each other"),
    "estimate": _number("estimate", "+.4f"),
    "se": _number(
        "HAC error", ".4f", "Standard error, robust to heteroscedasticity and autocorrelation"
    ),
    "t": _number("t", "+.2f"),
    "factors.p": _p("p", help="Two-sided"),
    **_interval("low", "high", "confidence interval of the estimate", "+.4f"),
    "fit": _text("fit"),
    "rows": _count("rows", help="Classes of models"),
    "r_squared": _number(
        "R²", ".3f", "Share of the variance, or of the deviance, that is explained"
    ),
    "r_squared_adjusted": _number("adjusted", ".3f", "R² adjusted for the degrees of freedom"),
    "f": _number("F", ",.4g", "Robust test that all coefficients are 0"),
    "f_p": _p("p of F"),
    **{
        name: _number(
            name.upper(), ",.6g", "Smaller is better; counts the fit and the number of terms"
        )
        for name in ("aic", "bic")
    },
    "log_likelihood": _number("log-likelihood", ",.6g"),
    "omnibus": _number("Omnibus", ",.4g", "D'Agostino and Pearson's test of normal residuals"),
    "omnibus_p": _p("p of Omnibus"),
    "jarque_bera": _number("Jarque-Bera", ",.4g", "Test of normal residuals"),
    "jarque_bera_p": _p("p of Jarque-Bera"),
    "durbin_watson": _number("Durbin-Watson", ".2f", "2 if neighbouring rows are uncorrelated"),
    **{
        name: _number(name, ".3g", "Skew or kurtosis of the residuals")
        for name in ("skew", "kurtosis")
    },
    "condition_number": _number("condition", ",.3g", "Condition number of the design"),
    "cluster_se": _number("error by class", ".4f", "Standard error with the classes as clusters"),
    "cluster_df": _number(
        "df by class",
        ".1f",
        "Degrees of freedom of the error by class; none if there are too few classes",
    ),
    "cluster_p": _p("p by class", help="Two-sided, with the classes as clusters"),
    "cluster_p_one_tailed": _p(
        "p by class, one-tailed",
        help="p-value, one-tailed, of imbalance > 0 and of class entropy < 0",
    ),
    "p_one_tailed": _p(
        "p, one-tailed", help="p-value, one-tailed, of imbalance > 0 and of class entropy < 0"
    ),
}
COLUMN_GROUPS["Human rating"] = {
    "survey.share_pie": _share(
        "of changed examples", "Examples with the attribute, of the PIEs that raters agree on"
    ),
    "survey.share_non_pie": _share(
        "of others", "Examples with the attribute, of the other examples that raters agree on"
    ),
    "survey.p": _p("p", help="Fisher's exact test"),
    "survey.p_holm": _holm("the questions"),
    "survey.kappa": _number("kappa", ".2f", "Fleiss' kappa: agreement of the raters beyond chance"),
    "survey.pies": _count("changed examples", help="PIEs with the attribute"),
    "pies_judged": _count("of", help="PIEs that were judged"),
    "non_pies": _count("others", help="Other examples with the attribute"),
    "non_pies_judged": _count("of others judged", help="Other examples that were judged"),
    "undecided": _count("undecided", help="Examples whose raters are evenly divided"),
    "last": _text("last answer"),
}
COLUMN_GROUPS["Votes on one example or class"] = {
    "votes.name": _text("prediction"),
    "votes.share": _share("of votes", form=".0f"),
    "votes.probability": _share(
        "probability", "Probability of their prediction, mean over the members that make it"
    ),
    **_pair(
        "votes.before",
        "votes.after",
        _share("before", "Share of all predictions for examples of the class"),
    ),
    "votes.change_pp": _points("change"),
    "attributes.difference_pp": _points("difference"),
}

COLUMNS: dict[str, Column] = {
    name: entry for part in COLUMN_GROUPS.values() for name, entry in part.items()
}
"""Columns by name in their frame; "TABLE.NAME" comes before "NAME" where a table shows the same name otherwise."""


def add_part(title: str, entries: Mapping[str, Column]) -> None:
    """Add a part to the catalogue, for tables outside the package."""
    COLUMN_GROUPS[title] = dict(entries)
    COLUMNS.update(entries)
