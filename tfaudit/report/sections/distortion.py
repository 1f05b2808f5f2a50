"""Do the classes drift apart?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.distortion.recall_distortion import Distortion
from tfaudit.audit.distortion.slope_tables import level_table, p_table, variance_table
from tfaudit.audit.distortion.slope_tests import slope_tests
from tfaudit.audit.distortion.slopes import balance_frame, pooled_frame, slope_frame, slope_intervals
from tfaudit.charts.distortion import balance_chart
from tfaudit.charts.slopes import interval_chart, slope_chart, tradeoff_chart
from tfaudit.report.sections.section import Figure, Section, Table, column, grid
from tfaudit.study.variants import Pruned

__all__ = ["BY", "SAYS", "distortion_notes", "distortion_section", "distortions", "places", "slope_questions"]

SAYS = (
    "Whether the recalls of the classes drift apart (slope above 1) or together (below 1) when a model is compressed: "
    "the slope of each class's recall balance after compression on the one before."
)

BY = ("method", "level")
Place: TypeAlias = tuple[str, float | str]
"""Method and level of a variant: numbers for pruning, names for all else."""


def distortion_section(study_audit: StudyAudit) -> Section | None:
    """Slopes of the normalised recall balances of every variant whose members carry the numbers of dense ones."""
    by_key, there = distortions(study_audit), places(study_audit)
    if not by_key:
        return None
    found = {there[key]: each for key, each in by_key.items()}
    slopes = slope_frame(found, by=BY)
    intervals = slope_intervals(slopes, alpha=study_audit.data.alpha)
    return Section(
        "distortion",
        "Recall distortion",
        SAYS,
        "[R] 5 and 6",
        _figures(found, slopes, intervals),
        (
            _table(found, intervals, {place: study_audit.data.titles[key] for key, place in there.items()}),
            *(grid(*question) for question in slope_questions(study_audit, slopes)),
        ),
        distortion_notes(study_audit, by_key),
    )


def distortions(study_audit: StudyAudit) -> dict[str, Distortion]:
    """The audit of every variant that has slopes, by key."""
    found = {
        key: study_audit.distortion(key)
        for key in study_audit.data.compressed_keys
        if study_audit.data.shares_members(key)
    }
    return {key: each for key, each in found.items() if each.alpha.size and pd.notna(each.alpha).any()}


def places(study_audit: StudyAudit) -> dict[str, Place]:
    """Where each variant stands among the methods and their levels, by key."""
    found: dict[str, Place] = {}
    for key in study_audit.data.compressed_keys:
        variant = study_audit.data.study.variant(key)
        if isinstance(variant, Pruned):
            found[key] = variant.pruning_method(*study_audit.data.study.varied_settings), variant.level
        else:
            found[key] = variant.family, study_audit.data.titles[key]
    return found


def distortion_notes(study_audit: StudyAudit, found: Mapping[str, Distortion]) -> tuple[str, ...]:
    """What a reader has to know of these audits."""
    return tuple(dict.fromkeys((*_apart(study_audit), *(note for each in found.values() for note in each.notes))))


def _figures(found: Mapping[Place, Distortion], slopes: pd.DataFrame, intervals: pd.DataFrame) -> tuple[Figure, ...]:
    one = len({method for method, _ in found}) == 1
    named = {(level if one else f"{method} {level}"): each for (method, level), each in found.items()}
    figures = [
        Figure("slopes", slope_chart(slopes, intervals), "A box and a dot per model for every variant.", "Slopes"),
        Figure("slope-intervals", interval_chart(intervals), "Mean slope with its interval.", "Mean slopes"),
        Figure(
            "accuracy-slope",
            tradeoff_chart(level_table(slopes)),
            "Mean accuracy and mean slope of every variant with standard errors.",
            "Accuracy and slope",
        ),
        Figure(
            "balances",
            balance_chart(balance_frame(named), pooled_frame(named)),
            "A point per class and member: normalised recall balance after against before.",
            "Balances after and before",
        ),
    ]
    single = slopes.groupby(["method", "level"]).size().max() == 1
    return tuple(figure for figure in figures if not (single and figure.name in ("slopes", "slope-intervals")))


def _table(found: Mapping[Place, Distortion], intervals: pd.DataFrame, titles: Mapping[Place, str]) -> Table:
    rows = pd.DataFrame(
        [
            {"title": titles[place], **dict(zip(BY, place, strict=True)), **each.summary()}
            for place, each in found.items()
        ]
    )
    rows = rows.merge(intervals[[*BY, "low", "high"]], on=[*BY])
    return Table(
        "Slopes and variance of recall",
        (
            column(rows, "title", "variant"),
            column(rows, "members", "members"),
            column(rows, "alpha", "slope", ".3f", meaning="mean over the members"),
            column(rows, "low", "from", ".3f", meaning="interval of the mean; those of a family hold together"),
            column(rows, "high", "to", ".3f", meaning="upper end"),
            column(rows, "slope_between_dense", "two dense", ".3f", meaning="slope of one dense model on another"),
            column(rows, "accuracy_before", "top-1 before, %", ".2f", scale=100),
            column(rows, "accuracy_after", "after, %", ".2f", scale=100),
            column(rows, "variance_before", "variance before", ".5f", meaning="over the classes"),
            column(rows, "variance_after", "after", ".5f", meaning="over the classes"),
        ),
    )


def slope_questions(study_audit: StudyAudit, slopes: pd.DataFrame) -> tuple[tuple[str, pd.DataFrame, str], ...]:
    """[R] 7: does the slope grow with the level, and do methods differ at a level? For pruned variants.

    Args:
        study_audit: of the study.
        slopes: of all its variants, by method and level.

    Returns:
        For each question its words, the answers, and the format of their numbers.
    """
    pruned = slopes[slopes["level"].map(lambda level: not isinstance(level, str))]
    if pruned.empty:
        return ()
    paired = all(
        study_audit.data.study.variant(key).parent
        for key in study_audit.data.compressed_keys
        if isinstance(study_audit.data.study.variant(key), Pruned)
    )
    kind = "paired" if paired else "independent"
    found = []
    if pruned.groupby("method")["level"].nunique().max() > 1:
        rising = slope_tests(pruned, "level", paired=paired, alternative="less")
        if rising["p"].notna().any():
            title = (
                f"Does the slope grow from one level to the next? p, {kind}, one-sided, Bonferroni by column ([R] 1-4)"
            )
            found.append((title, p_table(rising, columns="method"), ".2g"))
    if pruned["method"].nunique() > 1:
        apart = slope_tests(pruned, "method", paired=paired, pairs="all")
        if apart["p"].notna().any():
            title = f"Do methods differ at a level? p, {kind}, two-sided, Bonferroni by column ([R] table 8)"
            found.append((title, p_table(apart, columns="level"), ".2g"))
    found.append(("Variance of recall over the classes ([R] table 11)", variance_table(pruned), ".4f"))
    return tuple(found)


def _apart(study_audit: StudyAudit) -> list[str]:
    """Which variants have no dense parent."""
    names = [
        study_audit.data.titles[key]
        for key in study_audit.data.compressed_keys
        if study_audit.data.study.variant(key).parent is None
    ]
    if not names or study_audit.data.study.training is None:
        return []
    return [
        f"Members of {', '.join(names)} were trained on their own and are paired with dense members by number, which "
        "alone pulls the slope below 1. Compare it with “two dense”, the slope of one dense model on another."
    ]
