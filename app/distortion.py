"""Recall distortion, [R]: slopes with intervals, accuracy against intensification, and the balance of every class."""

import functools
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_question
from tfaudit.app.controls import choose_variant, choose_variants, draw_tabs, variant_labels
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, escape_name
from tfaudit.audit.distortion.recall_distortion import Distortion
from tfaudit.audit.distortion.slope_tables import level_table
from tfaudit.audit.distortion.slopes import pooled_frame, slope_frame, slope_intervals
from tfaudit.charts.distortion import MOST_POINTS, balance_chart
from tfaudit.charts.slopes import interval_chart, slope_chart, tradeoff_chart
from tfaudit.report.sections.distortion import (
    BY,
    CORRECTED,
    distortion_notes,
    distortions,
    method_levels,
    slope_questions,
)

ACCURACIES = ("accuracy_before", "accuracy_after", "variance_before", "variance_after")
SLOPES = ("title", "members", "mark", "alpha", "low", "high", "slope_between_dense", *CORRECTED, *ACCURACIES)
BALANCES = ("balance_before_pp", "balance_after_pp", "normalised_before", "normalised_after", "intensification")
CLASSES = ("class", "examples", "rate_before", "rate_after", *BALANCES)

PANELS = 4  # panels of the scatter matrix in a row
Results = Mapping[str, Distortion]  # recall distortion by key of the variant


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    results = distortions(study_audit)
    if not results:
        st.info(
            "No compressed member has the number of a dense member, so none can be compared with its parent; "
            "`tfaudit run` resumes where it stopped."
        )
        return
    show_question(AUDITS["distortion"])
    views = {"Slopes": _slopes, "Scatter matrix": _matrix, "Classes": _classes, "Questions": _questions}
    draw_tabs({name: functools.partial(draw, study_audit, results) for name, draw in views.items()}, "distortion")
    show_notes(distortion_notes(study_audit, results))


def _slopes(study_audit: StudyAudit, results: Results) -> None:
    slopes, intervals = _tables(study_audit, results)
    keys = choose_variants(study_audit, list(results))
    if not keys:
        return
    levels = method_levels(study_audit)
    chosen = [levels[key] for key in keys]
    slopes, intervals = (
        rows[pd.MultiIndex.from_frame(rows[list(BY)]).isin(chosen)].reset_index(drop=True)
        for rows in (slopes, intervals)
    )
    if slopes.groupby(list(BY)).size().max() > 1:
        left, right = st.columns(2)
        with left:
            st.subheader("Slopes")
            show_chart(slope_chart(slopes, intervals), "slopes", "A box per variant, a dot per model.")
            st.subheader("Mean slopes")
            show_chart(interval_chart(intervals), "slope-intervals", "Mean slope of every variant with its interval.")
    else:
        st.caption("No chosen variant has two members with slopes, which boxes and intervals need.")
        right = st.container()
    with right:
        st.subheader("Accuracy against intensification")
        text = "Mean accuracy and mean slope of every variant with standard errors."
        show_chart(tradeoff_chart(level_table(slopes)), "accuracy-slope", text)
    titles = study_audit.data.titles
    rows = pd.DataFrame(
        [{"title": titles[key], **dict(zip(BY, levels[key], strict=True)), **results[key].summary()} for key in keys]
    )
    rows = rows.drop(columns="mark").merge(intervals[[*BY, "low", "high", "mark"]], on=list(BY))
    show_table(rows, "slopes", SLOPES, table="slopes")


def _matrix(study_audit: StudyAudit, results: Results) -> None:
    """Draw the panels of [R] figures 5 to 8, one per variant."""
    keys = choose_variants(study_audit, list(results))
    if not keys:
        return
    labels = variant_labels(study_audit)
    panels = {labels[key]: results[key] for key in keys}
    points = {label: result.frame() for label, result in panels.items()}
    many = sum(map(len, points.values())) > MOST_POINTS
    if many:
        points = {label: result.classes_frame().assign(member="mean") for label, result in panels.items()}
    st.caption(f"Each point is a class{', mean over the members' if many else ' in one member'}; a panel per variant.")
    rows = pd.concat([rows.assign(level=label) for label, rows in points.items()])
    text = "A panel per variant, a point per class: recall balance after against before, with the pooled slope."
    show_chart(balance_chart(rows, pooled_frame(panels), columns=PANELS), "balances", text)


def _classes(study_audit: StudyAudit, results: Results) -> None:
    key = choose_variant(study_audit)
    if key not in results:
        st.info(
            f"{escape_name(study_audit.data.titles[key])} has no slope: none of its members has a dense parent, "
            "or none predicts anything right."
        )
        return
    result = results[key]
    points, means = result.frame(), result.classes_frame()
    many = len(points) > MOST_POINTS
    mean = f", mean over {len(result.members)} members, which would make {len(points):,} points."
    st.caption(f"Each point is a class{mean if many else ' in one member.'}")
    shown = (means.assign(member="mean") if many else points).assign(level="")
    text = "A point per class: normalised recall balance after against before, with the pooled slope."
    show_chart(balance_chart(shown, pooled_frame({"": result})), f"balances-{key}", text)
    show_table(means.sort_values("balance_after_pp", kind="stable"), f"balances-{key}", CLASSES)


def _questions(study_audit: StudyAudit, results: Results) -> None:
    slopes, _ = _tables(study_audit, results)
    questions = slope_questions(study_audit, slopes)
    if not questions:
        st.info("The questions of [R] 7 are about pruned variants, and this study has none.")
    for i, (question, answers, form) in enumerate(questions):
        st.markdown(f"**{escape(question)}**")
        flat = answers.reset_index().rename(columns=str)
        settings = {
            name: st.column_config.NumberColumn(format="%" + form)
            if pd.api.types.is_float_dtype(flat[name])
            else st.column_config.TextColumn(pinned=True)
            for name in flat
        }
        show_table(flat, f"slope-questions-{i + 1}", settings=settings)


def _tables(study_audit: StudyAudit, results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    levels = method_levels(study_audit)
    slopes = slope_frame({levels[key]: result for key, result in results.items()}, by=BY)
    return slopes, slope_intervals(slopes, alpha=study_audit.data.alpha)
