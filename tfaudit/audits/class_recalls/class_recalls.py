"""Recall of every class over levels of compression: [P] figures 3a, 5 and 7."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require

BASELINE = 0.0
"""Level of the uncompressed models."""


@dataclasses.dataclass(frozen=True)
class ClassRecalls(Result):
    """Mean recalls of C classes at the levels of every method.

    Attributes:
        table: one row per method, level and class; see `frame`.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per method, level and class; level 0 is uncompressed.

        Columns: `method`, `level`, `class`, `recall_before`, `recall` (means over the members, shares), `change_pp`.
        """
        change = 100 * (self.table["recall"] - self.table["recall_before"])
        return self.table.drop(columns="class_index").assign(change_pp=change)

    def summary(self) -> dict[str, Any]:
        """Return rank correlations of recalls before and at the highest level of each method, and the lowest of them.

        [P] finds that the ranks of classes hardly change; `rank_correlation` is Spearman's.
        """
        told = {}
        for method, rows in self.table.groupby("method", sort=False):
            last = rows[rows["level"] == rows["level"].max()]
            told[str(method)] = float(last["recall"].corr(last["recall_before"], method="spearman"))
        lowest = self.table.iloc[int(self.table["recall"].argmin())]
        return {
            "methods": len(told),
            "levels": int(self.table.loc[self.table["level"] != BASELINE, "level"].nunique()),
            "rank_correlation": told,
            **{f"lowest_{name}": lowest[name] for name in ("class", "method", "level", "recall")},
        }

    def chart(self) -> Drawing:
        """Draw recall over sparsity, a line per class, coloured by its recall before compression."""
        from tfaudit.audits.class_recalls.chart import recalls_chart

        return recalls_chart(self.table)


def class_recalls(recalls: pd.DataFrame, before: pd.Series) -> ClassRecalls:
    """Join the recalls of every class at every level of compression.

    Args:
        recalls: one row per variant; columns `method`, `level` (a number above 0, such as the sparsity) and one per
            class, named by its index: mean recall, a share, NaN for a class without examples.
        before: mean recalls of the uncompressed models, shares, with the same index, which sets the order of the
            classes. Names come from `before.attrs["class_names"]` if present, otherwise from the index; the name of the
            index is not used.

    Raises:
        InputError: no rows, different classes, or a level that is not above 0.

    Example:
        >>> rows = pd.DataFrame({"method": "magnitude", "level": [0.5, 0.9], 0: [0.9, 0.8], 1: [0.7, 0.2]})
        >>> class_recalls(rows, pd.Series([0.9, 0.8])).frame().tail(2).round(2)
              method  level class  recall_before  recall  change_pp
        4  magnitude    0.9     0            0.9     0.8      -10.0
        5  magnitude    0.9     1            0.8     0.2      -60.0
    """
    if recalls.empty:
        raise InputError("recalls", "no rows", "one row per variant")
    if missing := {"method", "level", *before.index} - set(recalls):
        raise InputError(
            "recalls",
            f"no column {', '.join(map(str, missing))}",
            "method, level and one per class",
        )
    require(
        bool((recalls["level"] > BASELINE).all()),
        "level",
        float(recalls["level"].min()),
        "numbers above 0",
    )
    names = dict(
        zip(before.index, before.attrs.get("class_names", map(str, before.index)), strict=True)
    )
    dense = pd.DataFrame(
        [{"method": method, "level": BASELINE, **before} for method in recalls["method"].unique()]
    )
    table = pd.concat([dense, recalls[["method", "level", *before.index]]], ignore_index=True)
    table = (
        table.groupby(["method", "level"], sort=False).mean().reset_index()
    )  # variants at the same level
    table = table.melt(["method", "level"], var_name="class_index", value_name="recall")
    table["class_index"] = table["class_index"].astype(np.int64)
    table["class"] = table["class_index"].map(names)
    table["recall_before"] = table["class_index"].map(before).astype(float)
    table = table.sort_values(["method", "level", "class_index"], kind="stable", ignore_index=True)
    return ClassRecalls(
        table[["method", "level", "class_index", "class", "recall_before", "recall"]]
    )
