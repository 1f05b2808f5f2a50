"""What compressed models change against one baseline model, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tfaudit.audit.model_pair import PairComparison

__all__ = ["pair_tables"]

SHOWN = 8
"""Classes printed per model."""

LEGEND = """
BTC: % of right answers that stay right; same: % of images with the same answer;
p: McNemar's exact test; BH: after the correction of Benjamini and Hochberg"""


def pair_tables(
    pairs: Mapping[str, PairComparison],
    *,
    alpha: float,
    sizes: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> RenderableType:
    """Return one table of all models, and for each model its p-values and the classes that changed most.

    Args:
        pairs: by name of the compressed model, each against the same baseline.
        alpha: level of the tests.
        sizes: bytes of the model files by name, the baseline's as "baseline", where they are known.
        notes: what a reader has to know, beside the notes of the comparisons.
    """
    counts = {name: pair.summary() for name, pair in pairs.items()}
    first = next(iter(counts.values()))
    parts: list[RenderableType] = [
        Text(f"{first['examples']:,} images of {first['tested']:,} classes\n"),
        _overall_table(counts, alpha, sizes),
        Text(LEGEND),
    ]
    for name, pair in pairs.items():
        each = counts[name]
        parts.append(
            Text(
                f"\n{name}: p overall {_p(each['p'])}; p <= {alpha:g} in {each['significant']:,} of {each['tested']:,} "
                f"classes (BH: {each['significant_bh']:,})"
            )
        )
        rows = _changed_most(pair)
        if len(rows):
            parts += [Text(), _class_table(rows)]
    known = dict.fromkeys((*notes, *(note for pair in pairs.values() for note in pair.notes)))
    if known:
        parts.append(Text("\n" + "\n".join(known)))
    return Group(*parts)


def _overall_table(
    counts: Mapping[str, Mapping[str, Any]], alpha: float, sizes: Mapping[str, int] | None = None
) -> Table:
    """One line per model: accuracy, what it lost and won, how far it agrees with the baseline, size where known."""
    table = _table("model", "top-1", f"change, points ({100 * (1 - alpha):g} %)", "lost", "won", "other", "BTC", "same")
    if sizes:
        table.add_column("MB", justify="right", no_wrap=True)
    first = next(iter(counts.values()))
    table.add_row("baseline", f"{100 * first['accuracy_before']:.2f}", *[""] * 6, *_megabytes(sizes, "baseline"))
    for name, each in counts.items():
        table.add_row(
            Text(name),
            f"{100 * each['accuracy_after']:.2f}",
            f"{each['difference_pp']:+.2f} ({each['low_pp']:+.2f}, {each['high_pp']:+.2f})",
            f"{each['negative_flips']:,}",
            f"{each['positive_flips']:,}",
            f"{each['wrong_to_other_wrong']:,}",
            f"{100 * each['btc']:.1f}",
            f"{100 * each['agreement']:.1f}",
            *_megabytes(sizes, name),
        )
    return table


def _changed_most(pair: PairComparison) -> pd.DataFrame:
    """The classes that changed beyond what p = 1 explains: smallest p first, of equals the largest change; eight."""
    rows = pair.frame()
    rows = rows[rows["p"] < 1]
    rows = rows.assign(size=-rows["difference_pp"].abs())
    return rows.sort_values(["p", "size"], kind="stable").head(SHOWN)


def _class_table(rows: pd.DataFrame) -> Table:
    """One line per class."""
    table = _table("class", "images", "recall", "change, points", "lost", "won", "p", "BH")
    for row in rows.to_dict("records"):
        table.add_row(
            Text(row["class"]),
            f"{row['examples']:,}",
            f"{100 * row['recall_before']:.1f}",
            f"{row['difference_pp']:+.1f} ({row['low_pp']:+.1f}, {row['high_pp']:+.1f})",
            f"{row['lost']:,}",
            f"{row['won']:,}",
            _p(row["p"]),
            _p(row["p_bh"]),
        )
    return table


def _table(name: str, *figures: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=8, max_width=24)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "<.0001"


def _megabytes(sizes: Mapping[str, int] | None, name: str) -> list[str]:
    return [f"{sizes[name] / 1e6:.3g}"] if sizes else []
