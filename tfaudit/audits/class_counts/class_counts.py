"""Training images and recall before compression of every class: [P] figure 6."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError


@dataclasses.dataclass(frozen=True)
class ClassCounts(Result):
    """The number of training images of each class, and how well uncompressed models know it.

    Attributes:
        table: one row per class; see `frame`.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per class: `class`, `train_examples`, `train_share`, `recall_before` (means over members)."""
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return Spearman's correlation of images and recall with its p-value; NaN if either does not vary."""
        known = self.table.dropna()
        correlation = float("nan")
        p = float("nan")
        if (
            len(known) > 2
            and min(known["train_examples"].nunique(), known["recall_before"].nunique()) > 1
        ):
            correlation, p = map(
                float, stats.spearmanr(known["train_examples"], known["recall_before"])
            )
        return {"classes": len(self.table), "rank_correlation": correlation, "p": p}

    def chart(self) -> Drawing:
        """Draw the training images of every class, coloured by its recall before compression."""
        from tfaudit.audits.class_counts.chart import counts_chart

        return counts_chart(self.table)


def class_counts(train_examples: pd.Series, recall_before: pd.Series) -> ClassCounts:
    """Join the training images and the recalls of the classes.

    Args:
        train_examples: counts by class.
        recall_before: mean recalls of the uncompressed models, shares, by class in the order of the result.

    Raises:
        InputError: different classes.

    Example:
        >>> class_counts(pd.Series({"cat": 30, "dog": 10}), pd.Series({"dog": 0.5, "cat": 0.75})).frame()
          class  train_examples  train_share  recall_before
        0   dog              10         0.25           0.50
        1   cat              30         0.75           0.75
    """
    if sorted(train_examples.index) != sorted(recall_before.index):
        raise InputError(
            "train_examples",
            f"{len(train_examples)} classes",
            f"the {len(recall_before)} with recalls",
        )
    counts = train_examples.loc[recall_before.index].to_numpy(np.int64)
    columns = {
        "class": recall_before.index,
        "train_examples": counts,
        "train_share": counts / max(counts.sum(), 1),
    }
    return ClassCounts(pd.DataFrame({**columns, "recall_before": recall_before.to_numpy(float)}))
