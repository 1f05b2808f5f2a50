"""Compressed models against one baseline model, for the terminal."""

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tfaudit.audits.doubts import OUTPUTS
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.audits.ties import joined_notes
from tfaudit.outlets.columns import Column, P, column, signed
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.pair_headlines import accuracy_sentence, classes_sentence, predictions_sentence
from tfaudit.outlets.phrases import retraining

SHOWN = 8  # classes printed per model

FLIPS = ("negative_flips", "positive_flips", "wrong_to_other_wrong", "btc", "agreement")

MEGABYTES = Column("", ".3g", "MB", 1e-6)

LEGEND = """
right stays right: % of right predictions that stay right; same: % of examples with the same prediction"""

CLASSES = """
p: McNemar's exact test of the class alone; corrected: Holm's correction for all classes"""


def pair_tables(
    pairs: Mapping[str, PairComparison],
    *,
    sizes: Mapping[str, int] = MappingProxyType({}),
    notes: Sequence[str] = (),
    twins: Mapping[str, PairComparison] = MappingProxyType({}),
) -> RenderableType:
    """Return what every model changes in sentences, a table of all models, and the classes that changed most.

    Doubts come first.

    Args:
        pairs: comparisons of each compressed model with the same baseline, by name of the compressed model.
        sizes: bytes of the model files by name, with the baseline under "baseline"; unknown by default.
        notes: notes to print before those of the comparisons; none by default.
        twins: comparisons of each retrained baseline with the baseline, by name; none by default.
    """
    first = next(iter(pairs.values())).summary()
    doubts = dict.fromkeys(
        f"{name}: {doubt}" if doubt.name == OUTPUTS else str(doubt)
        for name, pair in pairs.items()
        for doubt in pair.doubts
    )
    parts: list[RenderableType] = [Text(f"{doubt}\n", "bold red") for doubt in doubts]
    for name, pair in pairs.items():
        sentences = (accuracy_sentence(pair), predictions_sentence(pair), classes_sentence(pair))
        parts.append(Text(f"{name}: {' '.join(sentences)}\n".replace("\u00a0", " ")))
    if twins:
        changed = [twin.summary()["flips"] for twin in twins.values()]
        parts.append(Text(f"{retraining(changed, first['examples'])}\n"))
    parts += [
        Text(f"{first['examples']:,} examples of {first['tested']:,} classes\n"),
        _overall_table({**{f"twin {name}": twin for name, twin in twins.items()}, **pairs}, sizes),
        Text(LEGEND),
    ]
    tables = {name: rows for name, pair in pairs.items() if len(rows := _changed_most(pair))}
    for name, rows in tables.items():
        summary = pairs[name].summary()
        alone = (
            f"\n{name}: p ≤ {pairs[name].alpha:g} in {summary['significant']:,} of {summary['tested']:,} classes, "
            f"uncorrected; chance alone: {summary['expected_by_chance']:.2g}\n"
        )
        parts += [Text(alone), _class_table(rows)]
    if tables:
        parts.append(Text(CLASSES))
    if all_notes := dict.fromkeys((*notes, *joined_notes(pairs))):
        parts.append(Text("\n" + "\n".join(all_notes)))
    return Group(*parts)


def _overall_table(pairs: Mapping[str, PairComparison], sizes: Mapping[str, int]) -> Table:
    """Return one line per model: accuracy, flips, agreement with the baseline, and size if known."""
    first = next(iter(pairs.values()))
    flips = [column(name).heading for name in FLIPS]
    size = ["MB"] if sizes else []
    headings = ["model", "top-1", f"change, pp ({first.level})", *flips, *size]
    blank = [""] * (1 + len(FLIPS))
    accuracy = _text("accuracy_before", first.summary())
    rows = [["baseline", accuracy, *blank, *_size(sizes, "baseline")]]
    for name, pair in pairs.items():
        summary = pair.summary()
        accuracy = _text("accuracy_after", summary)
        flips = [_text(column_name, summary) for column_name in FLIPS]
        rows.append([name, accuracy, _change(summary, 2), *flips, *_size(sizes, name)])
    return _table(headings, rows)


def _changed_most(pair: PairComparison) -> pd.DataFrame:
    """Return the classes with p < 1 that changed most, sorted by p, then by size of the change."""
    rows = pair.frame().query("change_p < 1")
    order = np.lexsort([-rows["change_pp"].abs(), rows["change_p"]])
    return rows.iloc[order[:SHOWN]]


def _class_table(rows: pd.DataFrame) -> Table:
    flips = [column(name).heading for name in ("lost", "won")]
    headings = ["class", "examples", "recall", "change, pp", *flips, "p", "corrected"]
    cells = [
        [
            row["class"],
            _text("examples", row),
            _text("recall_before", row),
            _change(row, 1),
            _text("lost", row),
            _text("won", row),
            P.text(row["change_p"]),
            P.text(row["change_p_holm"]),
        ]
        for row in rows.to_dict("records")
    ]
    return _table(headings, cells)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    broken = (" wrong", " correct", " stays", " right")
    lines = [
        functools.reduce(lambda text, end: text.replace(end, f"\n{end[1:]}"), broken, heading)
        for heading in headings
    ]
    return Grid.of_rows(lines, rows).in_terminal(least=8, most=24)


def _text(name: str, row: Mapping[Any, Any]) -> str:
    return column(name).text(row[name])


def _change(row: Mapping[Any, Any], digits: int) -> str:
    """Return the change with its confidence interval."""
    change, low, high = (
        signed(row[name], digits) for name in ("change_pp", "change_low_pp", "change_high_pp")
    )
    return f"{change} ({low}, {high})"


def _size(sizes: Mapping[str, int], name: str) -> list[str]:
    """Return the cell for a model's size, or no cell if no size is known."""
    return [MEGABYTES.text(sizes[name]) if name in sizes else ""] if sizes else []
