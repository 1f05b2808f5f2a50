"""How the audit presents itself to readers: question, source, charts, tables and findings."""

import functools
from typing import Any

import pandas as pd

from tfaudit.audits.declaration import Chart, Declaration, Table


def _smallest_p_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the 40 cells with the smallest p; ties go to the largest change."""
    tested = rows.dropna(subset=["change_p"]).assign(size=lambda rows: -rows["change_pp"].abs())
    return tested.sort_values(["change_p", "size"], kind="stable").head(40)


def _relative_chart(result: Any, k: int) -> Any:
    return result.chart(k)


def _has_rank(result: Any, k: int) -> bool:
    return k in set(result.first.overall["k"])


def _class_chart(result: Any) -> Any:
    from tfaudit.audits.robustness.class_chart import class_corruption_chart

    return class_corruption_chart(result.class_frame())


_CELL = (
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
)
"""Columns of a class under a corruption, after the names."""

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
    corruption_strip=lambda result: result.corruption_strip,
    charts=(
        *(
            Chart(
                name=f"relative-top{k}",
                title=f"Relative change, top-{k}",
                description=(
                    f"Change of top-{k} accuracy per corruption, relative to the baseline's, with intervals."
                ),
                draw=functools.partial(_relative_chart, k=k),
                shown=functools.partial(_has_rank, k=k),
            )
            for k in (1, 5)
        ),
        Chart(
            name="severity",
            title="Accuracy over severity",
            description="Accuracy over severity, a panel per corruption, a line per variant.",
            draw=lambda result: result.severity_chart(),
            shown=lambda result: (result.first.severities["severity"] > 0).any(),
        ),
        Chart(
            name="classes",
            title="classes by corruption",
            description=(
                "Change of recall by class and corruption; a dot where recall is lost or gained after Holm."
            ),
            each=lambda result: result.heat_maps(),
            draw=lambda heat_map: heat_map(),
        ),
    ),
    findings=lambda title, result: result.findings,
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
            rows=lambda result: result.joint(lambda one: pd.DataFrame([one.summary()])),
        ),
        "relative": Table(
            title="Relative change of accuracy, % of the baseline's ([F] table 3)",
            rows=lambda result: result.by_corruption(relative=True),
            numbers="+.2f",
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
        "by severity": Table(
            title="Top-1 accuracy by severity, %",
            rows=lambda result: result.by_severity(),
            numbers=".2f",
            folded=True,
        ),
        "cells": Table(
            columns=("class", "corruption", "title", *_CELL),
            report=13,
            catalogue="cells",
            title="Classes by corruption, the smallest p first",
            rows=lambda result: result.joint(lambda one: one.class_frame()),
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
            rows=lambda result: result.joint(lambda one: one.flip_frame()),
            folded=True,
        ),
        "absolute": Table(
            title="Accuracy over levels, % ([F] tables 3 and 8)",
            rows=lambda result: result.by_corruption(relative=False),
            numbers=".2f",
            folded=True,
        ),
    },
)

OF_ONE_VARIANT = Declaration(
    name="robustness",
    title="Classes under corruption",
    question="Which classes pay under corruption?",
    charts=(
        Chart(
            description=(
                "A field per class and corruption: the change of recall in percentage points; a dot where recall is "
                "lost or gained after Holm."
            ),
            draw=_class_chart,
            shown=lambda result: result.classes["change_pp"].notna().any(),
        ),
    ),
    tables={
        "cells": Table(
            columns=("class", "corruption", *_CELL),
            catalogue="cells",
            title="Classes by corruption",
            rows=lambda result: result.class_frame().sort_values("change_p", kind="stable"),
        ),
        "severities": Table(
            columns=(
                "corruption",
                "severity",
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
            title="Severities",
            catalogue="corruptions",
            rows=lambda result: result.severity_frame(),
        ),
    },
)
"""How one variant is shown, below all."""
