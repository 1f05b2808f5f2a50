"""The page of an audit that has no page of its own: its question, and the chart and table of a variant."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from tfaudit.analysis.audits import Audit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.controls import choose_variant, has_variants
from tfaudit.app.display import fields_of, show_chart, show_notes, show_table
from tfaudit.app.drill_down import FIELDS, on_points, on_rows, show_images
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.nouns import with_noun
from tfaudit.audits.declaration import Declaration
from tfaudit.audits.result import Result


def show_question(shown: Declaration) -> None:
    """Draw what an audit answers, and its source."""
    st.markdown(escape(with_noun(shown.question) + (f" ({shown.source})" if shown.source else "")))


def page(study_audit: StudyAudit, audit: Audit) -> None:
    """Draw the page of an audit: each result of the chosen variant, one after the other."""
    shown = audit.shown
    assert shown is not None
    show_question(shown)
    if not has_variants(study_audit):
        return
    key = choose_variant(study_audit)
    title = study_audit.data.titles[key]
    if not audit.applies(study_audit.data, key):
        st.info(f"{escape_name(title)}: the study does not allow this audit.")
        return
    for i, arguments in enumerate(audit.arguments(study_audit.data, key)):
        if arguments:
            st.subheader(
                escape(", ".join(f"{name}: {value}" for name, value in arguments.items() if value))
            )
        result = study_audit.result(audit.name, key, **arguments)
        for number, part in enumerate(result if isinstance(result, tuple) else (result,)):
            show_result(
                study_audit, shown, part, f"{audit.name}-{key}-{i + 1}-{number + 1}", shown.question
            )


def show_result(
    study_audit: StudyAudit, shown: Declaration, result: Result, name: str, question: str
) -> None:
    """Draw the chart, the tables and the notes of a result; a click on a row or mark shows its images."""
    kind = {"show": shown.images} if shown.images else {}

    def show(row: Mapping[str, Any]) -> None:
        show_images(study_audit, row, **({} if "quantity" in row else kind))

    chart, frame = result.chart(), shown.table.rows(result)
    fields = [field for field in FIELDS if field in fields_of(chart)]
    clicks = on_points(f"chart {name}", show) if fields else None
    meaning = f"{question} A click shows the images." if fields else question
    show_chart(chart, name, meaning, clicks=clicks, fields=fields)
    tables = {"": frame, **result.tables()}
    for count, (heading, rows) in enumerate(tables.items()):
        if heading:
            st.markdown(f"**{escape(with_noun(heading))}**")
        table = name if not count else f"{name}-{count + 1}"
        clickable = on_rows(f"table {table}", rows, show) if set(FIELDS) & set(rows) else None
        columns = () if count else shown.table.columns
        show_table(rows, table, columns or None, table=shown.name, clicks=clickable)
    show_notes(result.notes)
