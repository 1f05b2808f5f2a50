"""Claims about classes that hold for all variants at once: one correction for variants x classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import CANNOT_TELL, GAINED, LOST
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require_level
from tfaudit.stats.multiplicity import adjust


@dataclasses.dataclass(frozen=True)
class Claims(Result):
    """Changes of every class in every variant, tested together.

    Attributes:
        cells: one row per variant and class; see `cell_frame`.
        alpha: level of the tests.
        notes: caveats for the reader, one sentence each.
    """

    cells: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per variant.

        Columns: `title`, `tested` classes; `uncorrected`, the number with p <= alpha, and `expected_false`, alpha times
        the tested classes, the largest average number if no class changed; `holm_own`, the number after Holm's
        correction for the classes of the variant; `holm_all` and `bh_all`, the numbers after Holm's and after Benjamini
        and Hochberg's correction for the classes of all variants; `lost_all` and `gained_all`, the parts of `holm_all`.
        """
        cells = self.cells
        known = cells[cells["change_p"].notna()]
        tests = {
            "tested": known["change_p"] <= 1,
            "uncorrected": known["change_p"] <= self.alpha,
            "holm_own": known["p_holm_own"] <= self.alpha,
            "holm_all": known["p_holm_all"] <= self.alpha,
            "bh_all": known["p_bh_all"] <= self.alpha,
            "lost_all": known["verdict"] == LOST,
            "gained_all": known["verdict"] == GAINED,
        }
        titles = list(dict.fromkeys(cells["title"]))
        by = pd.DataFrame(tests).groupby(known["title"]).sum().reindex(titles, fill_value=0)
        by.insert(2, "expected_false", self.alpha * by["tested"])
        return by.rename_axis("title").reset_index()

    def cell_frame(self) -> pd.DataFrame:
        """Return one row per variant and class.

        Columns: `title`, `class`, `change_pp` with `change_low_pp`, `change_high_pp`, `change_p`; `p_holm_own`,
        `p_holm_all`, `p_bh_all`; `verdict` (lost recall, gained recall, cannot tell) after Holm's correction for all.
        """
        return self.cells.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables beside `frame`, by title."""
        claimed = self.cells[self.cells["verdict"] != CANNOT_TELL]
        rows = claimed.sort_values("change_p", kind="stable")
        return (
            {"Classes that lost or gained recall, corrected for all variants and classes": rows}
            if len(rows)
            else {}
        )

    def summary(self) -> dict[str, Any]:
        """Return the totals of `frame` over the variants, and the classes with a claim in any variant."""
        rows = self.frame()
        totals = rows.drop(columns="title").sum()
        claimed = self.cells[self.cells["verdict"] == LOST]
        told = {str(name): total for name, total in totals.items()}
        return {
            "variants": len(rows),
            **told,
            "classes_lost_anywhere": int(claimed["class"].nunique()),
        }

    def chart(self) -> Drawing:
        """Draw a heat map of the changes by class and variant; a dot marks claims that hold for all at once."""
        from tfaudit.audits.claims.chart import claims_chart

        return claims_chart(self.cells)


def claims(changes: Mapping[str, pd.DataFrame], *, alpha: float = 0.05) -> Claims:
    """Correct the tests of all classes in all variants together.

    A table of V variants and C classes holds V x C tests. If they are corrected only within each variant, V variants
    without any effect give a false claim with a probability of up to 1 - (1 - alpha)^V.

    Args:
        changes: the frame of a `ClassImpact` or `PairComparison` for each variant, by title.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: no variants, variants of different classes, or a level outside (0, 1).

    Example:
        >>> rows = pd.DataFrame({"class": ["cat", "dog"], "change_pp": [-9.0, 1.0], "change_p": [0.02, 0.5]})
        >>> rows = rows.assign(change_low_pp=-15.0, change_high_pp=3.0)
        >>> claims({"int8": rows, "float16": rows}).frame()[["title", "uncorrected", "holm_own", "holm_all"]]
             title  uncorrected  holm_own  holm_all
        0     int8            1         1         0
        1  float16            1         1         0
    """
    require_level("alpha", alpha)
    if not changes:
        raise InputError("changes", "none", "the results of one variant or more")
    if len({tuple(frame["class"]) for frame in changes.values()}) > 1:
        raise InputError(
            "changes", "variants of different classes", "the same classes in one order"
        )
    names = ["class", "change_pp", "change_low_pp", "change_high_pp", "change_p"]
    parts = [
        frame[names].assign(
            title=title, p_holm_own=adjust(frame["change_p"].to_numpy(float), "holm")
        )
        for title, frame in changes.items()
    ]
    cells = pd.concat(parts, ignore_index=True)
    p = cells["change_p"].to_numpy(float)
    holm = adjust(p, "holm")
    bh = adjust(p, "bh")
    verdict = np.where(holm <= alpha, np.where(cells["change_pp"] < 0, LOST, GAINED), CANNOT_TELL)
    cells = cells.assign(p_holm_all=holm, p_bh_all=bh, verdict=verdict)
    tested = int(np.isfinite(p).sum())
    note = f"{tested:,} tests: corrections are for all of them, of {len(changes)} variants."
    return Claims(
        cells[["title", *names, "p_holm_own", "p_holm_all", "p_bh_all", "verdict"]], alpha, (note,)
    )
