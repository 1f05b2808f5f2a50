"""All variants side by side: a tab per row of `ACROSS`."""

import functools

import streamlit as st

from tfaudit.analysis.across_variants import ACROSS, Across
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_question, show_result
from tfaudit.app.controls import draw_tabs, has_variants


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    if has_variants(study_audit):
        views = {audit.shown.title: functools.partial(_draw, audit) for audit in ACROSS.values()}
        draw_tabs(views, "across", study_audit)


def _draw(audit: Across, study_audit: StudyAudit) -> None:
    show_question(audit.shown)
    result = audit.compute(study_audit)
    if result is None:
        st.info(f"This audit needs {audit.takes}; this study has none.")
        return
    show_result(study_audit, audit.shown, result, f"across-{audit.shown.name}")
