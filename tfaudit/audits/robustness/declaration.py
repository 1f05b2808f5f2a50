"""How the audit presents itself to readers: question, source, charts, tables and findings."""

import pandas as pd

from tfaudit.audits.declaration import Declaration, Table


def _smallest_p_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the 40 cells with the smallest p; ties go to the largest change."""
    tested = rows.dropna(subset=["change_p"]).assign(size=lambda rows: -rows["change_pp"].abs())
    return tested.sort_values(["change_p", "size"], kind="stable").head(40)


ROBUSTNESS = Declaration(
    name="robustness",
    title="Robustness",
    question="Does compression hurt more in fog, noise and blur?",
    method=(
        "Accuracy on corrupted images, or on images from elsewhere, before and after "
        "compression, against the change on clean images; and which corruptions and classes "
        "pay."
    ),
    source="[F] 4 and D, [HD]",
    tables={
        "means": Table(
            columns=(
                "title",
                "verdict",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "accuracy_before",
                "accuracy_after",
                "clean_change_pp",
                "excess_pp",
                "excess_low_pp",
                "excess_high_pp",
                "excess_p",
                "mce",
                "mce_low",
                "mce_high",
                "relative_mce",
            ),
            catalogue="robustness",
            title=(
                "Means over severities and corruptions, top-1, "
                "with {result.level} confidence intervals"
            ),
            rows=lambda result: pd.DataFrame([result.summary()]),
        ),
        "corruptions": Table(
            columns=(
                "corruption",
                "title",
                "verdict",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "rank",
                "accuracy_before",
                "accuracy_after",
                "relative_change",
                "lost",
                "won",
                "test",
                "change_p",
                "change_p_holm",
                "published_p",
                "excess_pp",
                "excess_low_pp",
                "excess_high_pp",
                "excess_p_holm",
            ),
            catalogue="corruptions",
            title="Corruptions, means over severities, with {result.level} confidence intervals",
            rows=lambda result: result.frame().assign(
                rank=lambda rows: "top-" + rows["k"].astype(str)
            ),
            folded=True,
        ),
        "severities": Table(
            columns=(
                "corruption",
                "severity",
                "title",
                "verdict",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "change_p_holm",
                "accuracy_before",
                "accuracy_after",
                "relative_change",
                "change_p",
            ),
            catalogue="corruptions",
            rows=lambda result: result.severity_frame(),
        ),
        "cells": Table(
            columns=(
                "class",
                "corruption",
                "title",
                "verdict",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "change_p_holm",
                "recall_before",
                "recall_after",
                "relative_pp",
                "clean_relative_pp",
                "relative_verdict",
                "change_p",
                "examples",
                "relative_p",
                "relative_p_holm",
                "published_p",
            ),
            report=13,
            catalogue="cells",
            title="Classes by corruption, the smallest p first",
            rows=lambda result: result.class_frame(),
            report_rows=_smallest_p_first,
            folded=True,
        ),
        "flips": Table(
            columns=(
                "corruption",
                "severity",
                "title",
                "flips",
                "pies",
                "pie_share",
                "flip_pie_share",
                "ratio",
                "pie_flip_share",
                "test",
                "p",
                "p_holm",
            ),
            catalogue="flips",
            title=(
                "PIEs among the images whose majority prediction differs between baseline and variant "
                "under corruption"
            ),
            rows=lambda result: result.flip_frame(),
            folded=True,
        ),
    },
)
