"""Accuracy on PIEs, on the other images and on all, at every level: [F] table 6."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tfaudit.audits.exemplars.exemplars import Exemplars
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError

GROUPS = {"non-PIE": "non_pies", "PIE": "pies", "all": "all"}


@dataclasses.dataclass(frozen=True)
class DifficultyLevels(Result):
    """Difficulty of the exemplars of every variant, for uncompressed and for compressed models.

    Attributes:
        difficulty: one row per variant, population, group and k; see `exemplars`.
        counts: number of PIEs of each variant.
        notes: caveats for the reader, one sentence each.
    """

    difficulty: pd.DataFrame
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return [F] table 6: one row per variant, with mean accuracies of the uncompressed models as shares.

        Columns: `title`, `pies` (their number), and for k = 1, and 5 if stored, `topK_non_pies`, `topK_pies`,
        `topK_all`; `topK_pies` is NaN without PIEs.
        """
        return self._table("baseline")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables beside `frame`, by title."""
        return {"The compressed models on the same images": self._table("compressed")}

    def summary(self) -> dict[str, Any]:
        """Return the variants with the most PIEs, and how much harder their PIEs are than other images."""
        rows = self.frame()
        most = rows.iloc[int(rows["pies"].argmax())]
        gap = 100 * (rows["top1_non_pies"] - rows["top1_pies"])
        return {
            "variants": len(rows),
            "most_pies": most["title"],
            "pies": int(most["pies"]),
            "least_gap_pp": float(gap.min()),
            "largest_gap_pp": float(gap.max()),
        }

    def chart(self) -> Drawing:
        """Draw [F] figure 3: the uncompressed models' accuracy on PIEs, on other images and on all, at every level."""
        from tfaudit.audits.difficulty.chart import difficulty_levels_chart

        return difficulty_levels_chart(self.difficulty)

    def _table(self, population: str) -> pd.DataFrame:
        rows = self.difficulty[self.difficulty["population"] == population]
        rows = rows.assign(column="top" + rows["k"].astype(str) + "_" + rows["group"].map(GROUPS))
        order = [f"top{k}_{group}" for k in sorted(set(rows["k"])) for group in GROUPS.values()]
        wide = rows.pivot(index="title", columns="column", values="accuracy")[order]
        counts = pd.Series(dict(self.counts), name="pies").rename_axis("title").to_frame()
        return counts.join(wide).reset_index()


def difficulty_levels(exemplars: Mapping[str, Exemplars]) -> DifficultyLevels:
    """Join the difficulty of the exemplars of every variant.

    Args:
        exemplars: exemplars of each variant, by title, all against the same baseline.

    Raises:
        InputError: no variants.

    Example:
        >>> from tfaudit import Predictions, exemplars
        >>> before = Predictions.from_top1([0, 1, 1], [0, 1, 1])
        >>> after = Predictions.from_top1([0, 1, 1], [0, 1, 0])
        >>> difficulty_levels({"int8": exemplars(before, after)}).frame()
          title  pies  top1_non_pies  top1_pies  top1_all
        0  int8     1            1.0        1.0       1.0
    """
    if not exemplars:
        raise InputError("exemplars", "none", "the results of one variant or more")
    tables = [result.difficulty.assign(title=title) for title, result in exemplars.items()]
    counts = {title: len(result.index) for title, result in exemplars.items()}
    return DifficultyLevels(pd.concat(tables, ignore_index=True), counts)
