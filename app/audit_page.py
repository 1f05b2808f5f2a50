"""The page of an audit that has no page of its own: its question, and the chart and table of a variant."""

import streamlit as st

from tfaudit.analysis.audits import Audit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.controls import choose_variant, has_variants
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, escape_name


def show_question(audit: Audit) -> None:
    """Draw what an audit answers, and its source."""
    if audit.question:
        st.markdown(escape(audit.question + (f" ({audit.source})" if audit.source else "")))


def page(study_audit: StudyAudit, audit: Audit) -> None:
    """Draw the page of an audit: each result of the chosen variant, one after the other."""
    show_question(audit)
    if not has_variants(study_audit):
        return
    key = choose_variant(study_audit)
    title = study_audit.data.titles[key]
    if not audit.applies(study_audit.data, key):
        st.info(f"{escape_name(title)}: the study does not allow this audit.")
        return
    for i, arguments in enumerate(audit.arguments(study_audit.data, key)):
        if arguments:
            st.subheader(escape(", ".join(f"{name}: {value}" for name, value in arguments.items() if value)))
        result = study_audit.result(audit.name, key, **arguments)
        for number, part in enumerate(result if isinstance(result, tuple) else (result,)):
            name = f"{audit.name}-{key}-{i + 1}-{number + 1}"
            show_chart(part.chart(), name, audit.question or f"{audit.title}, {title}")
            show_table(part.frame(), name, audit.columns or None, table=audit.name)
            for count, (heading, rows) in enumerate((part.tables() if hasattr(part, "tables") else {}).items()):
                st.markdown(f"**{escape(heading)}**")
                show_table(rows, f"{name}-{count + 2}", table=audit.name)
            show_notes(getattr(part, "notes", ()))
