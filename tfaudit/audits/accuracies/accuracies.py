"""Distributions of top-1 and top-5 accuracy of every population: [F] table 1."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError

_NEEDED = ("title", "member", "k", "accuracy")


@dataclasses.dataclass(frozen=True)
class Accuracies(Result):
    """Accuracies of the members of every variant.

    Attributes:
        table: one row per member and k, with columns `title`, `member`, `k` and `accuracy`, a share.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per variant and k.

        Columns: `title`, `rank` (such as top-5), `members` (their number), and statistics of their accuracies: `mean`,
        `sd` (NaN for one member), `least`, `median`, `most`.
        """
        by = self.table.groupby(["title", "k"], sort=False)["accuracy"]
        rows = by.agg(
            members="size", mean="mean", sd="std", least="min", median="median", most="max"
        ).reset_index()
        rows.insert(1, "rank", "top-" + rows.pop("k").astype(str))
        return rows

    def summary(self) -> dict[str, Any]:
        """Return the number of variants and of ranks, and the variant whose top-1 accuracies differ most."""
        rows = self.frame()
        spread = rows[rows["rank"] == "top-1"].assign(
            span=lambda part: part["most"] - part["least"]
        )
        widest = spread.iloc[int(spread["span"].argmax())]
        return {
            "variants": int(rows["title"].nunique()),
            "ranks": int(rows["rank"].nunique()),
            "widest": widest["title"],
            "span_pp": float(100 * widest["span"]),
        }

    def chart(self) -> Drawing:
        """Draw [F] table 1: the accuracies of the members of every variant, a panel per rank."""
        from tfaudit.audits.accuracies.chart import accuracies_chart

        return accuracies_chart(self.table)


def accuracies(table: pd.DataFrame) -> Accuracies:
    """Summarise the accuracies of the members of every variant, without ranks beyond the first that are always right.

    Args:
        table: `accuracies` of a `Summary`, with columns `title`, `member`, `k` and `accuracy`.

    Raises:
        InputError: a column is missing, or there are no rows.

    Example:
        >>> rows = pd.DataFrame({"title": "dense", "member": [0, 1], "k": 1, "accuracy": [0.75, 0.25]})
        >>> accuracies(rows).frame()
           title   rank  members  mean        sd  least  median  most
        0  dense  top-1        2   0.5  0.353553   0.25     0.5  0.75
    """
    missing = [name for name in _NEEDED if name not in table]
    if table.empty:
        missing.append("rows")
    if missing:
        raise InputError("table", f"no {', '.join(missing)}", "accuracies of a `Summary`")
    # Five guesses among five classes are always right.
    tells = table.groupby("k")["accuracy"].transform("min") < 1
    shown = table[tells | (table["k"] == table["k"].min())]
    return Accuracies(shown[[*_NEEDED]].reset_index(drop=True))
