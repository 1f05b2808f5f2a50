"""Recall distortion: slopes of the recall balances; made by hand because its charts and tests join the variants."""

from collections.abc import Iterator

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_distortion import BY, StudyDistortion
from tfaudit.audits.distortion.declaration import DISTORTION
from tfaudit.audits.distortion.slope_tables import level_table, p_table, variance_table
from tfaudit.audits.distortion.slope_tests import slope_tests
from tfaudit.audits.distortion.slopes import balance_frame, pooled_frame
from tfaudit.charts.renderer import can_draw
from tfaudit.outlets.columns import Column, P
from tfaudit.outlets.grid import Grid, crosstab
from tfaudit.outlets.sections.audit import Shown, joint_table
from tfaudit.outlets.sections.section import Figure, Section
from tfaudit.study.variants import Pruned

VARIANCE = Column("variance", ".4f")


def distortion_section(study_audit: StudyAudit) -> Section | None:
    """Return the slopes of the recall balances of every variant whose members have the numbers of dense members."""
    found = StudyDistortion.of(study_audit)
    if not found.results:
        return None
    table = DISTORTION.table
    spread = [Shown(result, title) for title, result in found.titled.items()]
    return Section.of(
        DISTORTION,
        [*_figures(found)],
        (
            Grid.declared(table.title, table, found.rows()),
            *(crosstab(*question) for question in slope_questions(found)),
            joint_table(DISTORTION.tables["spread"], spread),
        ),
        found.notes,
        findings=found.findings,
    )


def _figures(found: StudyDistortion) -> Iterator[Figure]:
    if not can_draw():
        return
    from tfaudit.audits.distortion.chart import balance_chart
    from tfaudit.audits.distortion.slope_chart import interval_chart, slope_chart, tradeoff_chart

    means = found.named(found.intervals)
    if found.slopes.groupby([*BY]).size().max() > 1:
        description = "A box per variant and a dot per model."
        chart = slope_chart(found.named(found.slopes), means)
        yield Figure("slopes", chart, description, "Slopes, as published: not corrected")
        if means["alpha"].notna().any():
            description = "Corrected slope with its interval over examples and members."
            yield Figure("slope-intervals", interval_chart(means), description, "Corrected slopes")
    description = "Mean accuracy and mean slope of every variant with standard errors."
    chart = tradeoff_chart(level_table(found.slopes))
    yield Figure("accuracy-slope", chart, description, "Accuracy and slope")
    description = "A point per class and member: normalised recall balance after against before."
    chart = balance_chart(balance_frame(found.titled), pooled_frame(found.titled))
    yield Figure("balances", chart, description, "Balances after and before")


def slope_questions(found: StudyDistortion) -> tuple[tuple[str, pd.DataFrame, Column], ...]:
    """Answer the questions of [R] 7 for pruned variants: does the slope grow with the level, do methods differ?

    Returns:
        For each question, its wording, a table of answers, and the format of their numbers.
    """
    slopes = found.slopes
    pruned = slopes[slopes["level"].map(lambda level: not isinstance(level, str))]
    if pruned.empty:
        return ()
    study = found.data.study
    keys = found.data.compressed_keys
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
