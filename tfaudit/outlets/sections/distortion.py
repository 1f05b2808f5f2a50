"""Recall distortion: slopes of the recall balances; made by hand because its charts and tests join the variants."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.distortion.declaration import DISTORTION
from tfaudit.audits.distortion.recall_distortion import Distortion
from tfaudit.audits.distortion.slope_tables import level_table, p_table, variance_table
from tfaudit.audits.distortion.slope_tests import slope_tests
from tfaudit.audits.distortion.slopes import (
    balance_frame,
    corrected_intervals,
    pooled_frame,
    slope_frame,
)
from tfaudit.charts.renderer import can_draw
from tfaudit.errors import listed
from tfaudit.outlets.columns import Column, P
from tfaudit.outlets.grid import Grid, crosstab
from tfaudit.outlets.sections.audit import Shown, joint_table
from tfaudit.outlets.sections.section import Figure, Section, notes_of
from tfaudit.stats.intervals import Mark
from tfaudit.study.variants import Pruned

SAME_SLOPE = 0.05
"""Difference of a slope from 1 that an interval must exclude for a claim that the classes do not drift."""

BY = ("method", "level")
MethodLevel: TypeAlias = tuple[str, float | str]
"""Method and level of a variant: the level is a number for pruning and a name otherwise."""

VARIANCE = Column("variance", ".4f")


def distortion_section(study_audit: StudyAudit) -> Section | None:
    """Return the slopes of the recall balances of every variant whose members have the numbers of dense members."""
    by_key = distortions(study_audit)
    if not by_key:
        return None
    levels = method_levels(study_audit)
    titles = {study_audit.data.titles[key]: levels[key] for key in by_key}
    by_level = {levels[key]: result for key, result in by_key.items()}
    slopes = slope_frame(by_level, by=BY)
    intervals = corrected_intervals(by_level, by=BY, alpha=study_audit.data.alpha)
    table = DISTORTION.tables["slopes"]
    spread = [Shown(by_level[level], title) for title, level in titles.items()]
    return Section.of(
        DISTORTION,
        _figures(by_level, slopes, intervals, titles),
        (
            Grid.declared(table.title, table, slope_rows(titles, by_level, intervals)),
            *(crosstab(*question) for question in slope_questions(study_audit, slopes)),
            joint_table(DISTORTION.tables["spread"], spread),
        ),
        distortion_notes(study_audit, by_key),
        findings=drift_findings(study_audit, by_key),
    )


def distortions(study_audit: StudyAudit) -> dict[str, Distortion]:
    """Return the audit of every variant that has slopes, by key."""
    data = study_audit.data
    keys = filter(data.shares_members, data.compressed_keys)
    results = {key: study_audit.distortion(key) for key in keys}
    return {key: result for key, result in results.items() if pd.notna(result.alpha).any()}


def method_levels(study_audit: StudyAudit) -> dict[str, MethodLevel]:
    """Return the method and the level of every compressed variant, by key."""
    data = study_audit.data
    levels: dict[str, MethodLevel] = {}
    for key in data.compressed_keys:
        variant = data.study.variant(key)
        if isinstance(variant, Pruned):
            levels[key] = variant.pruning_method(*data.study.varied_settings), variant.level
        else:
            levels[key] = variant.family, data.titles[key]
    return levels


def distortion_notes(study_audit: StudyAudit, results: Mapping[str, Distortion]) -> tuple[str, ...]:
    """Return the notes of these audits, and one each on variants that were trained apart, or after pruning."""
    data = study_audit.data
    notes = notes_of(results.values())
    if data.study.training is None:
        return notes
    apart, further = [], []
    for key in data.compressed_keys:
        variant = data.study.variant(key)
        if data.study.parent_of(key) is None:
            apart.append(data.titles[key])
        elif isinstance(variant, Pruned) and variant.treatment != "one_shot":
            further.append(data.titles[key])
    several = any(len(result.members) > 1 for result in results.values())
    free = "The corrected slope is free of this."
    told = []
    if apart:
        told.append(
            f"Members of {listed(apart)} were trained independently and are paired with dense members by number, which "
            "alone pulls the published slope below 1; compare it with “retrained”, the slope between two baseline "
            f"models. {free}"
        )
    if further:
        told.append(
            f"Members of {listed(further)} were trained after pruning, which alone pulls the published slope below 1. "
            f"{free if several else 'That of a single model is pulled, too.'}"
        )
    return (*told, *notes)


def drift_sentences(study_audit: StudyAudit, results: Mapping[str, Distortion]) -> dict[str, str]:
    """Return sentences on whether the recalls of the classes drift apart, by key of the variant.

    A claim holds for all levels of a method at once; the interval is that of the gate. The sentence is about the
    corrected slope, because finite test images and separately trained members pull the uncorrected slope below 1;
    without a corrected slope, the sentence claims nothing.
    """
    titles = study_audit.data.titles
    marks = _marks(study_audit, results)
    return {key: drift_sentence(titles[key], mark) for key, mark in marks.items()}


def drift_findings(study_audit: StudyAudit, results: Mapping[str, Distortion]) -> list[str]:
    """Return a sentence on every variant whose classes are shown to drift, and one on all the others."""
    marks = _marks(study_audit, results)
    sentences = drift_sentences(study_audit, results)
    shown = [
        sentences[key] for key, slope in marks.items() if slope.mark != "?" or slope_is_one(slope)
    ]
    if not shown:
        return ["For no variant do the data show that classes drift apart or move closer together."]
    others = [
        study_audit.data.titles[key]
        for key, slope in marks.items()
        if slope.mark == "?" and not slope_is_one(slope)
    ]
    return [*shown, *([f"For {listed(others)} the data cannot tell."] if others else [])]


def _marks(study_audit: StudyAudit, results: Mapping[str, Distortion]) -> dict[str, Mark]:
    """Return the corrected slopes by key, each with a mark that is corrected for all levels of its method."""
    levels = method_levels(study_audit)
    sizes = Counter(levels[key][0] for key in results)
    alpha = study_audit.data.alpha
    return {
        key: result.mark(levels=sizes[levels[key][0]], alpha=alpha)
        for key, result in results.items()
    }


def slope_is_one(slope: Mark) -> bool:
    """Return whether an interval excludes any slope that differs from 1 by `SAME_SLOPE`; False for NaN."""
    return 1 - SAME_SLOPE < slope.low <= 1 <= slope.high < 1 + SAME_SLOPE


def drift_sentence(title: str, slope: Mark) -> str:
    """Return a sentence on the slope of a variant, which begins with its title.

    Example:
        >>> drift_sentence("int8", Mark("?", 1.2, 1.1, 1.3, 0.95))
        'int8: judged alone, classes drift apart; among all levels this may be chance: slope 1.20 (95 %: 1.10 to 1.30).'
        >>> drift_sentence("int8", Mark("?", 1.654, 0.9, 2.41, 0.95))
        'int8: the data cannot tell whether classes drift apart: slope 1.65 (95 %: 0.90 to 2.41).'
        >>> drift_sentence("float16", Mark("?", 1.0, 0.99, 1.012, 0.95))
        'float16: classes lie as far from the average as before, within 2 %: slope 1.00 (95 %: 0.99 to 1.01).'
        >>> drift_sentence("int8", Mark("<", 0.8, 0.7, 0.9, 0.95))
        'int8: classes lie 0.80 times as far from the average as before (95 %: 0.70 to 0.90).'
    """
    if math.isnan(slope.mean):
        return f"{title}: the data cannot tell whether classes drift apart; there is no corrected slope."
    level = f"{100 * slope.confidence:.3g} %"
    interval = "" if math.isnan(slope.low) else f" ({level}: {slope.low:.2f} to {slope.high:.2f})"
    verb = "drift apart" if slope.mean >= 1 else "move closer together"
    if slope.mark == "?" and not slope.low <= 1 <= slope.high and interval:
        told = f"judged alone, classes {verb}; among all levels this may be chance: slope {slope.mean:.2f}"
    elif slope_is_one(slope):
        beyond = math.ceil(100 * max(1 - slope.low, slope.high - 1))
        told = f"classes lie as far from the average as before, within {beyond} %: slope {slope.mean:.2f}"
    elif slope.mark == "?":
        told = f"the data cannot tell whether classes {verb}: slope {slope.mean:.2f}"
    else:
        told = f"classes lie {slope.mean:.2f} times as far from the average as before"
    text = f"{title}: {told}{interval}."
    return text.replace(" -", " −").replace("(-", "(−")


def _figures(
    by_level: Mapping[MethodLevel, Distortion],
    slopes: pd.DataFrame,
    intervals: pd.DataFrame,
    titles: Mapping[str, MethodLevel],
) -> tuple[Figure, ...]:
    if not can_draw():
        return ()
    from tfaudit.audits.distortion.chart import balance_chart
    from tfaudit.audits.distortion.slope_chart import interval_chart, slope_chart, tradeoff_chart

    figures = []
    if slopes.groupby([*BY]).size().max() > 1:
        by_title = {level: title for title, level in titles.items()}
        levels, means = (
            rows.assign(
                title=[by_title[level] for level in rows[[*BY]].itertuples(index=False, name=None)]
            )
            for rows in (slopes, intervals)
        )
        figures = [
            Figure(
                "slopes",
                slope_chart(levels, means),
                "A box per variant and a dot per model.",
                "Slopes, as published: not corrected",
            ),
        ]
        if means["alpha"].notna().any():
            corrected = Figure(
                "slope-intervals",
                interval_chart(means),
                "Corrected slope with its interval over images and members.",
                "Corrected slopes",
            )
            figures.append(corrected)
    named = {title: by_level[level] for title, level in titles.items()}
    return (
        *figures,
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
    )


def slope_rows(
    levels: Mapping[str, MethodLevel],
    by_level: Mapping[MethodLevel, Distortion],
    intervals: pd.DataFrame,
) -> pd.DataFrame:
    """Return the rows of the table of slopes: a summary per variant, with the interval of its corrected slope.

    Args:
        levels: method and level of each variant to show, by title.
        by_level: audits of these variants, by method and level.
        intervals: intervals of the corrected slopes, from `corrected_intervals`.
    """
    rows = DISTORTION.table.joint({title: by_level[level] for title, level in levels.items()})
    rows[[*BY]] = list(levels.values())
    families = intervals[[*BY, "low", "high", "mark"]]
    families = families.rename(columns={"low": "corrected_low", "high": "corrected_high"})
    return rows.drop(columns=families.columns[len(BY) :]).merge(families, on=[*BY])


def slope_questions(
    study_audit: StudyAudit, slopes: pd.DataFrame
) -> tuple[tuple[str, pd.DataFrame, Column], ...]:
    """Answer the questions of [R] 7 for pruned variants: does the slope grow with the level, do methods differ?

    Args:
        study_audit: the study and its audits.
        slopes: slopes of all variants of the study, by method and level.

    Returns:
        For each question, its wording, a table of answers, and the format of their numbers.
    """
    pruned = slopes[slopes["level"].map(lambda level: not isinstance(level, str))]
    if pruned.empty:
        return ()
    study = study_audit.data.study
    keys = study_audit.data.compressed_keys
    paired = all(study.parent_of(key) for key in keys if isinstance(study.variant(key), Pruned))
    kind = "paired" if paired else "independent"
    questions = []
    if pruned.groupby("method")["level"].nunique().max() > 1:
        rising = slope_tests(pruned, "level", paired=paired, alternative="less")
        title = f"Does the slope grow from one level to the next? p, {kind}, one-sided"
        questions.append((f"{title}, Bonferroni by column ([R] 1-4)", rising, "method"))
    if pruned["method"].nunique() > 1:
        between = slope_tests(pruned, "method", paired=paired, pairs="all")
        title = f"Do methods differ at a level? p, {kind}, two-sided"
        questions.append((f"{title}, Bonferroni by column ([R] table 8)", between, "level"))
    title = "Variance of recall over the classes ([R] table 11)"
    return (
        *(
            (question, p_table(tests, columns=columns), P)
            for question, tests, columns in questions
            if tests["p"].notna().any()
        ),
        (title, variance_table(pruned), VARIANCE),
    )
