"""Compressed models against one baseline model, for the terminal."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.audits.ties import count_text, joined_notes
from tfaudit.outlets.columns import Column, P, column, signed
from tfaudit.outlets.pair_headlines import accuracy_sentence, classes_sentence, predictions_sentence

SHOWN = 8  # classes printed per model

FLIPS = ("negative_flips", "positive_flips", "wrong_to_other_wrong", "btc", "agreement")

MEGABYTES = Column("", ".3g", "MB", 1e-6)

LEGEND = """
BTC: % of right predictions that stay right; same: % of images with the same prediction;
p: McNemar's exact test; Holm: after Holm's correction for the number of classes"""


def pair_tables(
    pairs: Mapping[str, PairComparison],
    *,
    alpha: float,
    sizes: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
    twins: Mapping[str, PairComparison] = MappingProxyType({}),
) -> RenderableType:
    """Return one table of all models, and for each model what it changes and the classes that changed most.

    Args:
        pairs: by name of the compressed model, each against the same baseline.
        alpha: level of the tests.
        sizes: bytes of the model files by name, the baseline's as "baseline", if known.
        notes: printed before the notes of the comparisons.
        twins: the baseline trained again, by name, each against the baseline.
    """
    summaries = {name: pair.summary() for name, pair in pairs.items()}
    first = next(iter(summaries.values()))
    parts: list[RenderableType] = [
        Text(f"{first['examples']:,} images of {first['tested']:,} classes\n"),
        _overall_table(
            summaries, {name: twin.summary() for name, twin in twins.items()}, alpha, sizes
        ),
        Text(LEGEND),
    ]
    if twins:
        parts.append(Text(_noise_floor(twins)))
    for name, pair in pairs.items():
        summary = summaries[name]
        expected = f"{summary['expected_by_chance']:.2g} expected by chance"
        significant = f"p <= {alpha:g} in {summary['significant']:,} of {summary['tested']:,} classes, {expected}"
        sentences = (accuracy_sentence(pair), predictions_sentence(pair), classes_sentence(pair))
        parts.append(
            Text(
                f"\n{name}: {' '.join(sentences)} Uncorrected: {significant}.".replace(
                    "\u00a0", " "
                )
            )
        )
        rows = _changed_most(pair)
        if len(rows):
            parts += [Text(), _class_table(rows)]
    all_notes = dict.fromkeys((*notes, *joined_notes(pairs)))
    if all_notes:
        parts.append(Text("\n" + "\n".join(all_notes)))
    return Group(*parts)


def _noise_floor(twins: Mapping[str, PairComparison]) -> str:
    """Return how many predictions training again changes."""
    changed = [twin.summary()["flips"] for twin in twins.values()]
    between = (
        f" ({count_text(min(changed))} to {count_text(max(changed))})" if len(changed) > 1 else ""
    )
    return f"Training the baseline again changes {sum(changed) / len(changed):,.0f} predictions{between}."


def _overall_table(
    summaries: Mapping[str, Mapping[str, Any]],
    twins: Mapping[str, Mapping[str, Any]],
    alpha: float,
    sizes: Mapping[str, int] | None,
) -> Table:
    """Return one line per model: accuracy, flips, agreement with the baseline, and size if known."""
    change = f"change, pp ({100 * (1 - alpha):g} %)"
    flips = [column(name).heading for name in FLIPS]
    table = _table("model", "top-1", change, *flips, *(["MB"] if sizes else []))
    first = next(iter(summaries.values()))
    blank = [""] * (1 + len(flips))
    table.add_row(
        "baseline", _text("accuracy_before", first), *blank, *_megabytes(sizes, "baseline")
    )
    known = {**{f"twin {name}": twin for name, twin in twins.items()}, **summaries}
    for name, summary in known.items():
        flips = [_text(column_name, summary) for column_name in FLIPS]
        accuracy = _text("accuracy_after", summary)
        table.add_row(Text(name), accuracy, _change(summary, 2), *flips, *_megabytes(sizes, name))
    return table


def _changed_most(pair: PairComparison) -> pd.DataFrame:
    """Return the classes with p < 1 that changed most: of smallest p, then of largest change."""
    rows = (
        pair.frame().query("change_p < 1").assign(size=lambda changed: -changed["change_pp"].abs())
    )
    return rows.sort_values(["change_p", "size"], kind="stable").head(SHOWN)


def _class_table(rows: pd.DataFrame) -> Table:
    flips = [column(name).heading for name in ("lost", "won")]
    table = _table("class", "images", "recall", "change, pp", *flips, "p", "Holm")
    for row in rows.to_dict("records"):
        examples, recall, *flips = (
            _text(name, row) for name in ("examples", "recall_before", "lost", "won")
        )
        p = (P.text(row[name]) for name in ("change_p", "change_p_holm"))
        table.add_row(Text(row["class"]), examples, recall, _change(row, 1), *flips, *p)
    return table


def _table(name: str, *headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    # Only names may wrap: on a narrow terminal they are shortened, and no figure is.
    table.add_column(name, overflow="ellipsis", min_width=8, max_width=24)
    for heading in headings:
        lines = heading.replace(" wrong", "\nwrong").replace(" correct", "\ncorrect")
        table.add_column(lines, justify="right", no_wrap=True)
    return table


def _text(name: str, row: Mapping[Any, Any]) -> str:
    return column(name).text(row[name])


def _change(row: Mapping[Any, Any], digits: int) -> str:
    """Return the change with its confidence interval."""
    change, low, high = (
        signed(row[name], digits) for name in ("change_pp", "change_low_pp", "change_high_pp")
    )
    return f"{change} ({low}, {high})"


def _megabytes(sizes: Mapping[str, int] | None, name: str) -> list[str]:
    return [MEGABYTES.text(sizes[name]) if name in sizes else ""] if sizes else []
