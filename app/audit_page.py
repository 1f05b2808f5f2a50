"""The page of an audit that has no page of its own: its question, and the charts and tables of a variant."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from tfaudit.analysis.audits import Audit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.controls import Act, choose_variant, has_variants
from tfaudit.app.display import fields_of, show_chart, show_notes, show_table
from tfaudit.app.drill_down import FIELDS, show_images
from tfaudit.app.markdown import escape, escape_name
from tfaudit.audits.declaration import Chart, Declaration, Table
from tfaudit.audits.result import Result
from tfaudit.outlets.columns import with_minus_signs


def show_question(shown: Declaration) -> None:
    """Draw the question of an audit; behind its question mark stand the method and its source."""
    how = " ".join(filter(None, [shown.method, shown.source and f"({shown.source})"]))
    st.markdown(f"**{escape(shown.question)}**", help=escape(how) or None)


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
            st.header(
                escape(", ".join(f"{name}: {value}" for name, value in arguments.items() if value))
            )
        result = study_audit.result(audit.name, key, **arguments)
        for number, part in enumerate(result if isinstance(result, tuple) else (result,)):
            for finding in shown.findings(title, part):
                st.markdown(escape(with_minus_signs(finding)))
            show_result(study_audit, shown, part, f"{audit.name}-{key}-{i + 1}-{number + 1}")


def show_result(
    study_audit: StudyAudit,
    shown: Declaration,
    result: Result,
    name: str,
    *,
    tables: Collection[str] = (),
    known: Mapping[str, Any] | None = None,
) -> None:
    """Draw the charts, several in two columns, the tables and the notes of a result; a click shows the images.

    Args:
        study_audit: the study and its audits.
        shown: the declaration of the audit.
        result: result to draw.
        name: name of the files, and of charts and tables on their page.
        tables: the declared tables and the charts of the same names to draw; all by default.
        known: columns of `show_images` that all rows and marks share.
    """
    kind = {"show": shown.images} if shown.images else {}

    def click(row: Mapping[str, Any]) -> None:
        show_images(study_audit, {**(known or {}), **row}, **({} if "quantity" in row else kind))

    charts = [chart for chart in shown.charts if chart.shown(result)]
    charts = [chart for chart in charts if not tables or chart.name in tables]
    _show_charts(shown, charts, result, name, click)
    declared = shown.tables or {"": shown.table}
    for number, (which, table) in enumerate(declared.items()):
        if not tables or which in tables:
            heading = table.title.format(result=result) if number else ""
            of_table = f"{name}-{which}" if number else name
            _show_table(table.rows(result), heading, of_table, table, click)
    for number, (heading, frame) in enumerate(result.tables().items(), start=2):
        _show_table(frame, heading, f"{name}-{number}", Table(catalogue=shown.name), click)
    show_notes(result.notes)


def _show_charts(
    shown: Declaration, charts: Sequence[Chart], result: Result, name: str, click: Act
) -> None:
    places = st.columns(2) if len(charts) > 1 else [st.container()]
    for chart, place in zip(charts, itertools.cycle(places), strict=False):
        drawing = chart.draw(result)
        columns = fields_of(drawing)
        fields = [field for field in FIELDS if field in columns]
        description = chart.description.format(result=result) or shown.question
        file = "-".join(filter(None, (name, chart.name)))
        with place:
            if fields:
                text = f"{description} A click shows the examples."
                show_chart(drawing, file, text, click=click, fields=fields)
            else:
                show_chart(drawing, file, description)


def _show_table(frame: pd.DataFrame, heading: str, name: str, table: Table, click: Act) -> None:
    if heading:
        st.markdown(f"**{escape(heading[0].upper() + heading[1:])}**")
    leads = click if set(FIELDS) & set(frame) else None
    show_table(frame, name, table.columns or None, table=table.catalogue, click=leads)
