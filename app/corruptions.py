"""The cost of compression under corruption, [F] figures 4 and 7: severities, classes, exemplars, and one image."""

import functools
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.audit_page import show_question
from tfaudit.app.controls import choose_option, choose_variant, choose_variants, draw_tabs
from tfaudit.app.corrupted_image import show_corrupted_image
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.drill_down import show_corruption
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.app.url_state import choose_several
from tfaudit.audits.robustness.chart import relative_change_chart, severity_chart
from tfaudit.audits.robustness.class_chart import (
    class_corruption_chart,
    distinct_class_names,
    largest_change,
)
from tfaudit.audits.robustness.declaration import ROBUSTNESS
from tfaudit.audits.robustness.robustness import Robustness
from tfaudit.datasets.corruptions.registry import corruption_title
from tfaudit.outlets.sections.robustness import robustness_levels, robustness_notes

# Classes in the heat map: those that change most, or those that were searched for.
MOST_CLASSES = 40
FIRST_PANELS = 6  # corruptions whose severities are drawn by default: those that cost most

ADDED = """\
import dataclasses, tfaudit

study = dataclasses.replace(
    tfaudit.open_store({directory!r}).study,
    corruptions=("fog", "gaussian_noise", "contrast", "jpeg_compression"),
)
"""
"""A file that adds corruptions to a study, whatever recipe made it."""

Results: TypeAlias = Mapping[str, Robustness]  # robustness by key of the variant


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    results = robustness_levels(study_audit)
    if not results:
        _say_how_to_evaluate(study_audit)
        return
    show_question(ROBUSTNESS)
    views = {"Corruptions": _corruptions, "Severities": _severities, "Classes": _classes}
    views |= {"One image": show_corrupted_image, "Exemplars": _exemplars}
    draw_tabs(views, "corruptions", study_audit, results)
    show_notes(robustness_notes(study_audit, results))


def _say_how_to_evaluate(study_audit: StudyAudit) -> None:
    """Draw what adds corruptions to this study."""
    store = study_audit.data.store
    none = "No variant was evaluated under corruption."
    if store.study.training is None:
        st.info(f"{none} The study holds predictions on clean images only.")
        return
    name = store.study.name
    file = f"{name}_corrupted.py"
    st.info(
        f"{none} Save these lines as `{file}`; the command below them then evaluates the trained models of "
        f"{escape_name(name)} and trains none."
    )
    st.code(ADDED.format(directory=str(store.directory)), language="python")
    st.code(shlex.join(["tfaudit", "run", file, "--out", str(store.directory)]), language=None)


def _corruptions(study_audit: StudyAudit, results: Results) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        k = _choose_rank(results)
        conditions = {condition for result in results.values() for condition in result.conditions}
        severities = sorted({severity for _, severity in conditions} | {0})
        texts = {str(severity or "mean"): severity for severity in severities}
        severity = choose_option("Severity", texts, "severity")
    keys = choose_variants(study_audit, list(results))
    if not keys:
        return
    titled = _titled(study_audit, results, keys)
    changes = {title: result.changes(severity or None) for title, result in titled.items()}
    name = f"relative-change-top{k}" + (f"-severity{severity}" if severity else "")
    text = (
        f"A dot per corruption and variant: the change of top-{k} accuracy as a share of the baseline's accuracy under "
        "the same corruption, with its confidence interval. A click shows an image under the corruption."
    )
    click = functools.partial(show_corruption, study_audit)
    chart = relative_change_chart(changes, k=k)
    show_chart(chart, name, text, click=click, fields=["corruption", "level"])
    st.header("Top-1, means over severities and corruptions")
    means = ROBUSTNESS.tables["means"]
    show_table(means.joint(titled), "corruption-means", means.columns, table=means.catalogue)
    st.header("Each corruption")
    rows = ROBUSTNESS.tables["severities" if severity else "corruptions"].joint(titled)
    rows = rows[rows["k"] == k]
    if severity:
        rows = rows[rows["severity"] == severity]
    _show_rows(study_audit, rows, "corruptions", "corruptions")


def _severities(study_audit: StudyAudit, results: Results) -> None:
    rows = ROBUSTNESS.tables["severities"].joint(_titled(study_audit, results, list(results)))
    rows = rows[rows["severity"] > 0]
    if rows.empty:
        st.info("None of the sets that the study was evaluated on has severities.")
        return
    k = _choose_rank(results)
    rows = rows[rows["k"] == k]
    worst = rows.groupby("corruption")["relative_change"].min().sort_values(kind="stable")
    names = list(dict.fromkeys(rows["corruption"]))
    default = [name for name in names if name in worst.index[:FIRST_PANELS]]
    shown = choose_several("Corruptions", names, "panels", default, format_func=corruption_title)
    if not shown:
        st.caption("Choose at least one corruption.")
    keys = choose_variants(study_audit, list(results))
    if not keys or not shown:
        return
    titled = _titled(study_audit, results, keys)
    curves = {title: result.curves() for title, result in titled.items()}
    baseline = study_audit.data.titles[BASELINE]
    chart = severity_chart(curves, baseline=baseline, k=k, corruptions=shown)
    text = (
        "A panel per corruption: accuracy over its severity, a line per variant; severity 0 stands for the clean "
        "images. A click on a point shows an image under the corruption."
    )
    click = functools.partial(show_corruption, study_audit)
    show_chart(chart, f"severities-top{k}", text, click=click, fields=["corruption", "level"])
    charted = rows["corruption"].isin(shown) & rows["title"].isin(list(titled))
    _show_rows(study_audit, rows[charted], "severities", "severities")


def _classes(study_audit: StudyAudit, results: Results) -> None:
    key = choose_variant(study_audit)
    if key not in results:
        st.info(f"{escape_name(study_audit.data.titles[key])} was not evaluated under corruption.")
        return
    cells = results[key].class_frame()
    names = distinct_class_names(cells)
    classes = list(dict.fromkeys(names))
    default = (
        f"; by default the {MOST_CLASSES} that change most" if len(classes) > MOST_CLASSES else ""
    )
    questions = {"Change of recall": "change", "Relative to accuracy": "relative"}
    question = choose_option("Question", questions, "cells")
    searched = choose_several(
        "Classes",
        classes,
        "hit",
        [],
        format_func=dict(zip(classes, unique_labels(classes), strict=True)).__getitem__,
        placeholder=f"Type to search{default}",
        max_selections=MOST_CLASSES,
    )
    shown = cells.assign(**{"class": names})
    shown = shown[names.isin(searched)] if searched else shown
    if shown["change_pp"].isna().all():
        st.info("These classes have no images under corruption.")
        return
    chart = class_corruption_chart(
        shown, question=question, reach=largest_change(cells, question), most=MOST_CLASSES
    )
    text = (
        "A field per class and corruption: the change of recall in percentage points; a dot where the verdict claims a "
        "change after Holm's correction. A click shows an image of the class under the corruption."
    )
    name = f"class-corruptions-{key}"
    click = functools.partial(show_corruption, study_audit)
    show_chart(chart, name, text, click=click, fields=["corruption", "class"])
    _show_rows(study_audit, shown.sort_values("change_p", kind="stable"), name, "cells")


def _exemplars(study_audit: StudyAudit, results: Results) -> None:
    table = ROBUSTNESS.tables["flips"]
    rows = table.joint(_titled(study_audit, results, list(results)))
    if rows.empty:
        st.info(
            "The study was evaluated on other sets of images only, which hold no exemplars of the clean images."
        )
        return
    st.markdown(
        "Are the images whose majority prediction differs between baseline and variant under corruption the PIEs of "
        "the clean images?"
    )
    show_table(rows, "corruption-flips", table.columns, table=table.catalogue)


def _titled(study_audit: StudyAudit, results: Results, keys: Sequence[str]) -> Results:
    """Return the results of some variants by title."""
    return {study_audit.data.titles[key]: results[key] for key in keys}


def _show_rows(study_audit: StudyAudit, rows: pd.DataFrame, name: str, declared: str) -> None:
    """Draw a declared table whose rows lead to an image under their corruption."""
    table = ROBUSTNESS.tables[declared]
    click = functools.partial(show_corruption, study_audit)
    show_table(
        rows, name, table.columns, table=table.catalogue, click=click, now=rows.index.tolist()
    )


def _choose_rank(results: Results) -> int:
    ranks = {f"top-{k}": int(k) for k in next(iter(results.values())).overall["k"]}
    return choose_option("Accuracy", ranks, "rank")
