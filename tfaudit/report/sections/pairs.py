"""Single models against the baseline."""

from __future__ import annotations

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.model_pair import PairComparison
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["SAYS", "pairs_section"]

SAYS = (
    "What each compressed model loses and wins on the very same images: McNemar's exact test asks whether chance alone "
    "would part lost and won so far, Tango's interval says how large the change may be."
)

CLASS_LIMIT = 40
"""Rows of a variant's table: the classes that changed, by p."""


def pairs_section(study_audit: StudyAudit) -> Section | None:
    """Where the baseline and variants are one model each: what was lost and won, tested on the same images."""
    found = {
        key: study_audit.model_pair(key) for key in study_audit.data.compressed_keys if study_audit.data.is_single(key)
    }
    if not found:
        return None
    figures = [
        Figure(
            f"pair-{key}",
            pair.chart(),
            "Share of each class's images lost and won, with the change of recall and its interval.",
            study_audit.data.titles[key],
        )
        for key, pair in found.items()
    ]
    tables = [
        _overall(found, study_audit),
        *(_classes(pair, study_audit.data.titles[key]) for key, pair in found.items()),
    ]
    return Section(
        "pairs",
        "One model against one",
        SAYS,
        "[M] [T]",
        tuple(figures),
        tuple(table for table in tables if table),
        tuple(dict.fromkeys(note for pair in found.values() for note in pair.notes)),
    )


def _overall(found: dict[str, PairComparison], study_audit: StudyAudit) -> Table:
    frame = pd.DataFrame([{"title": study_audit.data.titles[key], **pair.summary()} for key, pair in found.items()])
    return Table(
        "All images",
        (
            column(frame, "title", "model"),
            column(frame, "accuracy_before", "top-1 before", ".2f", scale=100, meaning="accuracy, %"),
            column(frame, "accuracy_after", "after", ".2f", scale=100, meaning="accuracy, %"),
            column(frame, "difference_pp", "change", "+.2f", meaning="percentage points"),
            column(frame, "low_pp", "from", "+.2f", meaning=f"lower end of its {study_audit.data.level} interval"),
            column(frame, "high_pp", "to", "+.2f", meaning="upper end"),
            column(frame, "p", "p", ".2g", meaning="McNemar's exact test"),
            column(frame, "negative_flips", "lost", ",d", meaning="right before, wrong after"),
            column(frame, "positive_flips", "won", ",d", meaning="wrong before, right after"),
            column(frame, "wrong_to_other_wrong", "other", ",d", meaning="wrong before, otherwise wrong after"),
            column(frame, "btc", "BTC, %", ".1f", scale=100, meaning="of what was right before, still right"),
            column(frame, "bec", "BEC, %", ".1f", scale=100, meaning="of what was wrong before, still wrong"),
            column(frame, "kappa", "kappa", ".3f", meaning="Cohen's, agreement beyond chance"),
        ),
    )


def _classes(pair: PairComparison, title: str) -> Table | None:
    frame = pair.frame()
    frame = frame[frame["lost"] + frame["won"] > 0].sort_values(["p", "difference_pp"], kind="stable")
    if not len(frame):
        return None
    shown = frame.head(CLASS_LIMIT)
    some = f"the {len(shown)} of smallest p" if len(shown) < len(frame) else f"{len(frame)}"
    return Table(
        f"{title}: classes that changed, {some} of {len(pair.class_names)}",
        (
            column(shown, "class", "class"),
            column(shown, "examples", "images"),
            column(shown, "recall_before", "recall before, %", ".1f", scale=100),
            column(shown, "recall_after", "after, %", ".1f", scale=100),
            column(shown, "low_pp", "change from", "+.1f", meaning="lower end of its interval, points"),
            column(shown, "high_pp", "to", "+.1f", meaning="upper end, points"),
            column(shown, "lost", "lost"),
            column(shown, "won", "won"),
            column(shown, "p", "p", ".2g"),
            column(shown, "p_bh", "p, BH", ".2g", meaning="adjusted after Benjamini and Hochberg"),
        ),
        folded=True,
    )
