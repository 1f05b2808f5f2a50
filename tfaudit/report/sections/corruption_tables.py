"""The tables of robustness: means, corruptions, cells of class and corruption, exemplars among flips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from tfaudit.audit.corruption.robustness import Robustness
from tfaudit.report.sections.section import Table, column

__all__ = ["cells_table", "corruptions_table", "flips_table", "means_table"]

CELLS = 40
"""Rows of the table of cells: those of the smallest p."""


def means_table(levels: Mapping[str, Robustness], level: str) -> Table:
    """A row per variant: the means over all corruptions.

    Args:
        levels: results by title.
        level: of the intervals, for people.
    """
    rows = pd.DataFrame([{"title": title, **each.summary()} for title, each in levels.items()])
    return Table(
        "Means over severities and corruptions, top-1",
        (
            column(rows, "title", "variant"),
            column(rows, "accuracy_before", "before, %", ".2f", scale=100, meaning="accuracy under corruption"),
            column(rows, "accuracy_after", "after, %", ".2f", scale=100, meaning="accuracy under corruption"),
            column(rows, "difference_pp", "change", "+.2f", meaning="percentage points"),
            column(rows, "low_pp", "from", "+.2f", meaning=f"lower end of its {level} interval"),
            column(rows, "high_pp", "to", "+.2f", meaning="upper end"),
            column(rows, "p", "p", ".2g"),
            column(rows, "clean_difference_pp", "clean", "+.2f", meaning="change on clean images, points"),
            column(rows, "excess_pp", "excess", "+.2f", meaning="change under corruption beyond the clean one, points"),
            column(rows, "excess_low_pp", "from", "+.2f", meaning=f"lower end of its {level} interval"),
            column(rows, "excess_high_pp", "to", "+.2f", meaning="upper end"),
            column(rows, "excess_p", "p", ".2g", meaning="of no excess"),
            column(rows, "mce", "mCE, %", ".1f", scale=100, meaning="mean corruption error; the baseline's is 100"),
            column(rows, "mce_low", "from", ".1f", scale=100, meaning=f"lower end of its {level} interval"),
            column(rows, "mce_high", "to", ".1f", scale=100, meaning="upper end"),
            column(
                rows, "relative_mce", "relative mCE, %", ".1f", scale=100, meaning="of the loss from clean to corrupted"
            ),
        ),
    )


def corruptions_table(levels: Mapping[str, Robustness], level: str) -> Table:
    """A row per variant, k and corruption."""
    rows = pd.concat([each.frame().assign(title=title) for title, each in levels.items()], ignore_index=True)
    rows["rank"] = rows["k"].map(lambda k: f"top-{k}")
    return Table(
        "Corruptions, means over severities",
        (
            column(rows, "corruption", "corruption"),
            column(rows, "title", "variant"),
            column(rows, "rank", "accuracy"),
            column(rows, "accuracy_before", "before, %", ".2f", scale=100),
            column(rows, "accuracy_after", "after, %", ".2f", scale=100),
            column(rows, "difference_pp", "change", "+.2f", meaning="percentage points"),
            column(rows, "low_pp", "from", "+.2f", meaning=f"lower end of its {level} interval"),
            column(rows, "high_pp", "to", "+.2f", meaning="upper end"),
            column(rows, "relative_change", "relative, %", "+.2f", scale=100),
            *((column(rows, name, name, ",.0f") for name in ("lost", "won")) if rows["lost"].notna().any() else ()),
            column(rows, "test", "test"),
            column(rows, "p", "p", ".2g"),
            column(rows, "p_holm", "p, Holm", ".2g", meaning="over the corruptions"),
            column(rows, "p_bh", "p, BH", ".2g", meaning="over the corruptions"),
            column(rows, "excess_pp", "excess", "+.2f", meaning="change beyond that on clean images, points"),
            column(rows, "excess_low_pp", "from", "+.2f", meaning=f"lower end of its {level} interval"),
            column(rows, "excess_high_pp", "to", "+.2f", meaning="upper end"),
            column(rows, "excess_p_holm", "p, Holm", ".2g", meaning="of no excess, over the corruptions"),
        ),
        folded=True,
    )


def cells_table(levels: Mapping[str, Robustness]) -> Iterator[Table]:
    """The classes that compression makes brittle to a corruption: the cells of the smallest p."""
    rows = pd.concat([each.class_frame().assign(title=title) for title, each in levels.items()], ignore_index=True)
    tested = rows.dropna(subset=["p"])
    if tested.empty:
        return
    shown = tested.assign(size=-tested["normalised_pp"].abs()).sort_values(["p", "size"], kind="stable").head(CELLS)
    some = f"the {CELLS} of smallest p of {len(tested):,}" if len(tested) > CELLS else f"{len(tested):,}"
    yield Table(
        f"Classes by corruption, {some}",
        (
            column(shown, "class", "class"),
            column(shown, "corruption", "corruption"),
            column(shown, "title", "variant"),
            column(shown, "recall_before", "recall before, %", ".1f", scale=100),
            column(shown, "recall_after", "after, %", ".1f", scale=100),
            column(shown, "normalised_pp", "normalised", "+.2f", meaning="beyond the change of accuracy, points"),
            column(shown, "clean_normalised_pp", "clean", "+.2f", meaning="the same on clean images"),
            column(shown, "p", "p", ".2g"),
            column(shown, "p_holm", "p, Holm", ".2g", meaning="over all cells of the variant"),
            column(shown, "p_bh", "p, BH", ".2g", meaning="over all cells of the variant"),
        ),
        folded=True,
    )


def flips_table(levels: Mapping[str, Robustness]) -> Iterator[Table]:
    """Are the images that flip under corruption the exemplars of the clean images?"""
    rows = pd.concat([each.flip_frame().assign(title=title) for title, each in levels.items()], ignore_index=True)
    if rows.empty:
        return
    rows["condition"] = rows["corruption"] + rows["severity"].map(lambda severity: f" {severity}" if severity else "")
    yield Table(
        "Exemplars among the images whose modal answer differs between baseline and variant under corruption",
        (
            column(rows, "condition", "condition"),
            column(rows, "title", "variant"),
            column(rows, "flips", "flips", ",d"),
            column(rows, "pies", "PIEs", ",d", meaning="on clean images"),
            column(rows, "pie_share", "of all, %", ".2f", scale=100, meaning="share of PIEs among all images"),
            column(rows, "flip_pie_share", "of flips, %", ".2f", scale=100, meaning="share of PIEs among the flips"),
            column(rows, "ratio", "ratio", ".2f"),
            column(rows, "pie_flip_share", "PIEs that flip, %", ".1f", scale=100),
            column(rows, "test", "test"),
            column(rows, "p", "p", ".2g", meaning="of no more PIEs among the flips than among the others"),
            column(rows, "p_holm", "p, Holm", ".2g"),
        ),
        folded=True,
    )
