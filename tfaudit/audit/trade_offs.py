"""What every compressed model costs and gives: accuracy and unfairness per member, [P] 4.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

__all__ = ["UNFAIRNESS", "trade_offs"]

UNFAIRNESS: dict[str, Callable[[np.ndarray], float]] = {
    "range": lambda recalls: recalls.max() - recalls.min(),
    "mean-min": lambda recalls: recalls.mean() - recalls.min(),
}
"""Measures of unfairness of the recalls of the classes, by name."""


def trade_offs(
    populations: Mapping[str, Predictions],
    descriptions: pd.DataFrame,
    *,
    unfairness: str | Callable[[np.ndarray], float] = "range",
) -> pd.DataFrame:
    """Tabulates accuracy and unfairness of every member, for `operating_points`.

    Columns: `variant`, `member`, the columns of the descriptions, `accuracy` and `unfairness`.

    Args:
        populations: predictions by key of the variant.
        descriptions: facts about the variants, indexed by key: `sparsity`, `bytes`, `technique`, ...
        unfairness: "range", largest minus smallest recall of a class ([P] 4.2); "mean-min", mean minus smallest
            ([P] fig. 4b); or a function of the recalls `(C,)` of the classes that have examples.

    Raises:
        InputError: an unknown name, repeated keys in the descriptions.

    Example:
        >>> answers = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 0], [0, 0, 0, 0]])
        >>> trade_offs({"int8": answers}, pd.DataFrame({"bytes": [9000]}, index=["int8"]))
          variant  member  bytes  accuracy  unfairness
        0    int8       0   9000      0.75         0.5
        1    int8       1   9000      0.50         1.0
    """
    if isinstance(unfairness, str) and unfairness not in UNFAIRNESS:
        raise InputError(f"unfairness: {unfairness!r}, allowed are {', '.join(UNFAIRNESS)} or a function of recalls")
    if descriptions.index.has_duplicates:
        repeated = descriptions.index[descriptions.index.duplicated()][0]
        raise InputError(f"descriptions: {repeated!r} occurs twice in the index; each variant has one row")
    measure = UNFAIRNESS[unfairness] if isinstance(unfairness, str) else unfairness
    facts = descriptions.reindex(list(populations)) if set(populations) - set(descriptions.index) else descriptions
    rows = []
    for key, population in populations.items():
        recalls = population.recall()
        recalls = recalls[:, np.isfinite(recalls).all(0)]
        for member, accuracy, recall in zip(population.members, population.accuracy(), recalls, strict=True):
            measured = {"accuracy": accuracy, "unfairness": float(measure(recall))}
            rows.append({"variant": key, "member": member, **facts.loc[key], **measured})
    return pd.DataFrame(rows)
