"""Recall distortion, [R]: slopes with intervals, accuracy against intensification, and the balance of every class."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.analysis.study_distortion import BY, StudyDistortion
from tfaudit.app.audit_page import show_question
from tfaudit.app.controls import (
    choose_variant,
    choose_variants,
    class_label,
    draw_tabs,
    variant_labels,
)
from tfaudit.app.display import go_to_later, show_chart, show_notes, show_table
from tfaudit.app.drill_down import open_variant
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.audits.distortion.chart import balance_chart
from tfaudit.audits.distortion.declaration import DISTORTION
from tfaudit.audits.distortion.recall_distortion import Distortion
from tfaudit.audits.distortion.slope_chart import interval_chart, slope_chart, tradeoff_chart
from tfaudit.audits.distortion.slope_tables import level_table
from tfaudit.audits.distortion.slopes import pooled_frame
from tfaudit.charts.sampling import MOST_POINTS
from tfaudit.outlets.sections.distortion import slope_questions

SENTENCES = 10  # variants whose slope is said in words


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    found = StudyDistortion.of(study_audit)
    if not found.results:
        st.info(
            "No compressed member has the number of a dense member, so none can be compared with its parent; "
            "`tfaudit run` resumes where it stopped."
        )
        return
    show_question(DISTORTION)
    views = {
        "Slopes": _slopes,
        "Accuracy and slope": _accuracy,
        "Scatter matrix": _matrix,
        "Classes": _classes,
        "Questions": _questions,
    }
    draw_tabs(views, "distortion", study_audit, found)
    show_notes(found.notes)


def _slopes(study_audit: StudyAudit, found: StudyDistortion) -> None:
    keys = choose_variants(study_audit, list(found.results))
    if not keys:
        return
    st.markdown("\n\n".join(map(escape, _sentences(found, keys[:SENTENCES]))))
    slopes = found.named(found.slopes, keys)
    intervals = found.named(found.intervals, keys)
    click = functools.partial(open_variant, study_audit)
    if slopes.groupby(list(BY)).size().max() > 1:
        st.header("Slopes, as published: not corrected")
        text = (
            "A box per variant, a dot per model. Right of 1 the recalls of the classes drift apart. A click opens "
            "the variant."
        )
        chart = slope_chart(slopes, intervals)
        show_chart(chart, "slopes", text, click=click, fields=["title"])
        st.header("Corrected slopes")
        if intervals["alpha"].notna().any():
            text = (
                "The corrected slope of every variant with its confidence interval over examples and members. Right of "
                "1 the recalls drift apart. A click opens the variant."
            )
            chart = interval_chart(intervals)
            show_chart(chart, "slope-intervals", text, click=click, fields=["title"])
        else:
            st.info("There are none: the baseline's recalls cannot be told apart.")
    else:
        st.caption("No chosen variant has two members with slopes, which boxes and intervals need.")
    columns = DISTORTION.table.columns
    show_table(found.rows(keys), "slopes", columns, table="slopes", click=click)


def _sentences(found: StudyDistortion, keys: Sequence[str]) -> list[str]:
    """Return sentences on the slopes, one for all variants of which the same is said."""
    titles: dict[str, list[str]] = {}
    for key, sentence in found.sentences.items():
        if key in keys:
            title = found.data.titles[key]
            titles.setdefault(sentence.removeprefix(f"{title}: "), []).append(title)
    return [f"{', '.join(names)}: {told}" for told, names in titles.items()]


def _accuracy(study_audit: StudyAudit, found: StudyDistortion) -> None:
    """Draw [R] figure 13."""
    keys = choose_variants(study_audit, list(found.results))
    if not keys:
        return
    text = (
        "Blue, left axis: mean accuracy of every variant; amber, right axis: its mean slope; with standard errors. "
        "A click opens the variant."
    )
    chart = tradeoff_chart(found.named(level_table(found.slopes), keys))
    click = functools.partial(open_variant, study_audit)
    show_chart(chart, "accuracy-slope", text, click=click, fields=["title"])


def _matrix(study_audit: StudyAudit, found: StudyDistortion) -> None:
    """Draw the panels of [R] figures 5 to 8, one per variant."""
    labels = variant_labels(study_audit)
    if keys := choose_variants(study_audit, list(found.results)):
        panels = {labels[key]: found.results[key] for key in keys}
        mean = ", mean over the members"
        _show_balances(study_audit, panels, "balances", mean, "; a panel per variant")


def _classes(study_audit: StudyAudit, found: StudyDistortion) -> None:
    key = choose_variant(study_audit)
    if key not in found.results:
        st.info(
            f"{escape_name(study_audit.data.titles[key])} has no slope: none of its members has a dense parent, "
            "or none predicts anything right."
        )
        return
    result = found.results[key]
    points = f"{len(result.frame()):,} points"
    mean = f", mean over {len(result.members)} members, which would make {points}"
    _show_balances(study_audit, {"": result}, f"balances-{key}", mean)
    table = DISTORTION.tables["classes"]
    labels = unique_labels(list(result.classes_frame()["class"]))
    rows = table.rows(result).assign(label=lambda rows: [labels[i] for i in rows.index])
    click = functools.partial(_open_class, study_audit)
    show_table(rows, f"balances-{key}", table.columns, click=click)


def _show_balances(
    study_audit: StudyAudit,
    panels: Mapping[str, Distortion],
    name: str,
    mean: str,
    panel_per: str = "",
) -> None:
    """Draw a point per class and member; if they are too many, their means over the members, which `mean` names."""
    frames = {label: result.frame() for label, result in panels.items()}
    many = sum(map(len, frames.values())) > MOST_POINTS
    if many:
        frames = {
            label: result.classes_frame().assign(member="mean") for label, result in panels.items()
        }
    st.caption(f"Each point is a class{mean if many else ' in one member'}{panel_per}.")
    points = pd.concat([rows.assign(level=label) for label, rows in frames.items()])
    text = (
        f"{'A panel per variant, a point' if panel_per else 'A point'} per class: its recall balance after against "
        "before, as a share of the accuracy; amber, the published slope; dashed, no change. A click on a point opens "
        "its class."
    )
    chart = balance_chart(points, pooled_frame(panels))
    click = functools.partial(_open_class, study_audit)
    show_chart(chart, name, text, click=click, fields=["class"])


def _open_class(study_audit: StudyAudit, row: Mapping[str, Any]) -> None:
    names = study_audit.counts(BASELINE).class_names
    if label := class_label(names, row.get("label", row.get("class"))):
        go_to_later("classes", **{"class": label})


def _questions(study_audit: StudyAudit, found: StudyDistortion) -> None:
    questions = slope_questions(found)
    if not questions:
        st.info("The questions of [R] 7 are about pruned variants, and this study has none.")
    for i, (question, answers, entry) in enumerate(questions, start=1):
        st.markdown(f"**{escape(question)}**")
        flat = answers.reset_index().rename(columns=str)
        entries = {name: entry for name in flat if pd.api.types.is_float_dtype(flat[name])}
        show_table(flat, f"slope-questions-{i}", entries=entries)
