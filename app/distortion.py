"""Recall distortion, [R]: slopes with intervals, accuracy against intensification, and the balance of every class."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.audit_page import show_question
from tfaudit.app.controls import (
    choose_variant,
    choose_variants,
    draw_tabs,
    on_selection,
    variant_labels,
)
from tfaudit.app.display import POINT, go_to_later, show_chart, show_notes, show_table
from tfaudit.app.drill_down import on_points, on_rows, open_variant
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.audits.distortion.chart import balance_chart
from tfaudit.audits.distortion.declaration import DISTORTION
from tfaudit.audits.distortion.recall_distortion import Distortion
from tfaudit.audits.distortion.slope_chart import interval_chart, slope_chart, tradeoff_chart
from tfaudit.audits.distortion.slope_tables import level_table
from tfaudit.audits.distortion.slopes import corrected_intervals, pooled_frame, slope_frame
from tfaudit.charts.sampling import MOST_POINTS
from tfaudit.outlets.sections.distortion import (
    BY,
    distortion_notes,
    distortions,
    drift_sentences,
    method_levels,
    slope_questions,
    slope_rows,
)

SENTENCES = 10  # variants whose slope is said in words
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
    show_question(DISTORTION)
    views = {
        "Slopes": _slopes,
        "Accuracy and slope": _accuracy,
        "Scatter matrix": _matrix,
        "Classes": _classes,
        "Questions": _questions,
    }
    draw_tabs(
        {name: functools.partial(draw, study_audit, results) for name, draw in views.items()},
        "distortion",
    )
    show_notes(distortion_notes(study_audit, results))


def _slopes(study_audit: StudyAudit, results: Results) -> None:
    slopes, intervals = _tables(study_audit, results)
    keys = choose_variants(study_audit, list(results))
    if not keys:
        return
    levels = method_levels(study_audit)
    sentences = drift_sentences(study_audit, results)
    st.markdown("\n\n".join(escape(sentences[key]) for key in keys[:SENTENCES]))
    slopes, intervals = (
        _titled(study_audit, _of(study_audit, rows, keys)) for rows in (slopes, intervals)
    )
    opened = _open_variant(study_audit)
    if slopes.groupby(list(BY)).size().max() > 1:
        st.subheader("Slopes, as published: not corrected")
        text = (
            "A box per variant, a dot per model. Right of 1 the recalls of the classes drift apart. A click opens "
            "the variant."
        )
        clicks: dict[str, Any] = {"clicks": on_points("slopes", opened), "fields": ["title"]}
        show_chart(slope_chart(slopes, intervals), "slopes", text, **clicks)
        st.subheader("Corrected slopes")
        text = (
            "The corrected slope of every variant with its confidence interval over images and members. Right of 1 "
            "the recalls drift apart. A click opens the variant."
        )
        clicks = {"clicks": on_points("corrected slopes", opened), "fields": ["title"]}
        show_chart(interval_chart(intervals), "slope-intervals", text, **clicks)
    else:
        st.caption("No chosen variant has two members with slopes, which boxes and intervals need.")
    shown = {study_audit.data.titles[key]: levels[key] for key in keys}
    rows = slope_rows(shown, {levels[key]: results[key] for key in keys}, intervals)
    columns = DISTORTION.table.columns
    show_table(
        rows, "slopes", columns, table="slopes", clicks=on_rows("slopes table", rows, opened)
    )


def _accuracy(study_audit: StudyAudit, results: Results) -> None:
    """Draw [R] figure 13."""
    slopes, _ = _tables(study_audit, results)
    keys = choose_variants(study_audit, list(results))
    if not keys:
        return
    text = (
        "Blue, left axis: mean accuracy of every variant; amber, right axis: its mean slope; with standard errors. "
        "A click opens the variant."
    )
    means = _titled(study_audit, level_table(_of(study_audit, slopes, keys)))
    clicks: dict[str, Any] = {"clicks": on_points("accuracy and slope", _open_variant(study_audit))}
    show_chart(tradeoff_chart(means), "accuracy-slope", text, **clicks, fields=["title"])


def _of(study_audit: StudyAudit, rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the rows of the levels of some variants."""
    levels = method_levels(study_audit)
    mine = pd.MultiIndex.from_frame(rows[list(BY)]).isin([levels[key] for key in keys])
    return rows[mine].reset_index(drop=True)


def _titled(study_audit: StudyAudit, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows per level with the titles of their variants, those of a click."""
    titles = {
        level: study_audit.data.titles[key] for key, level in method_levels(study_audit).items()
    }
    return rows.assign(
        title=[titles.get(level, "") for level in rows[list(BY)].itertuples(index=False, name=None)]
    )


def _open_variant(study_audit: StudyAudit) -> Callable[[Mapping[str, Any]], None]:
    return lambda row: open_variant(study_audit, row.get("title"))


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
        points = {
            label: result.classes_frame().assign(member="mean") for label, result in panels.items()
        }
    st.caption(
        f"Each point is a class{', mean over the members' if many else ' in one member'}; a panel per variant."
    )
    rows = pd.concat([rows.assign(level=label) for label, rows in points.items()])
    text = (
        "A panel per variant, a point per class: its recall balance after against before, as a share of the accuracy; "
        "amber, the pooled slope; dashed, no change. A click on a point opens its class."
    )
    clicks = on_selection("balances", None, _open_class(study_audit))
    chart = balance_chart(rows, pooled_frame(panels))
    show_chart(chart, "balances", text, clicks=clicks, fields=["class"])


def _classes(study_audit: StudyAudit, results: Results) -> None:
    key = choose_variant(study_audit)
    if key not in results:
        st.info(
            f"{escape_name(study_audit.data.titles[key])} has no slope: none of its members has a dense parent, "
            "or none predicts anything right."
        )
        return
    result = results[key]
    points = result.frame()
    means = result.classes_frame()
    many = len(points) > MOST_POINTS
    mean = f", mean over {len(result.members)} members, which would make {len(points):,} points."
    st.caption(f"Each point is a class{mean if many else ' in one member.'}")
    shown = (means.assign(member="mean") if many else points).assign(level="")
    text = (
        "A point per class: its recall balance after against before, as a share of the accuracy; amber, the pooled "
        "slope; dashed, no change. A click on a point opens its class."
    )
    clicks = on_selection("balances of one", None, _open_class(study_audit))
    chart = balance_chart(shown, pooled_frame({"": result}))
    show_chart(chart, f"balances-{key}", text, clicks=clicks, fields=["class"])
    table = DISTORTION.tables["classes"]
    rows = table.rows(result)

    def choose_row(selection: Any) -> None:
        for row, _ in selection["cells"]:
            go_to_later("classes", **{"class": labels[rows.index[row]]})

    labels = unique_labels(list(means["class"]))
    clicks = on_selection("balances table", None, choose_row)
    show_table(rows, f"balances-{key}", table.columns, clicks=clicks)


def _open_class(study_audit: StudyAudit) -> Callable[[Any], None]:
    names = study_audit.counts(BASELINE).class_names

    def choose_point(selection: Any) -> None:
        for point in selection.get(POINT, ()):
            if (name := point.get("class")) in names:
                go_to_later("classes", **{"class": unique_labels(names)[names.index(name)]})

    return choose_point


def _questions(study_audit: StudyAudit, results: Results) -> None:
    slopes, _ = _tables(study_audit, results)
    questions = slope_questions(study_audit, slopes)
    if not questions:
        st.info("The questions of [R] 7 are about pruned variants, and this study has none.")
    for i, (question, answers, entry) in enumerate(questions):
        st.markdown(f"**{escape(question)}**")
        flat = answers.reset_index().rename(columns=str)
        entries = {name: entry for name in flat if pd.api.types.is_float_dtype(flat[name])}
        show_table(flat, f"slope-questions-{i + 1}", entries=entries)


def _tables(study_audit: StudyAudit, results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    levels = method_levels(study_audit)
    by_level = {levels[key]: result for key, result in results.items()}
    intervals = corrected_intervals(by_level, by=BY, alpha=study_audit.data.alpha)
    return slope_frame(by_level, by=BY), intervals
