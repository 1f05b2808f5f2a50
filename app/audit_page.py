"""The page of an audit without a page of its own: its question, and charts and tables of all variants and of one."""

import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd
import streamlit as st

from tfaudit.analysis.audits import AUDITS, Audit
from tfaudit.analysis.joint_audits import JOINT_AUDITS, JointAudit, declaration_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.controls import Act, choose_variant, has_variants
from tfaudit.app.display import fields_of, show_chart, show_notes, show_table
from tfaudit.app.drill_down import FIELDS, open_variant, show_images
from tfaudit.app.limits import chosen_limits
from tfaudit.app.markdown import escape, escape_name
from tfaudit.audits.declaration import Chart, Declaration, Table
from tfaudit.audits.result import Result
from tfaudit.outlets.columns import with_minus_signs
from tfaudit.outlets.grid import numbers_of

Leads: TypeAlias = tuple[Act, Sequence[str]]


def show_question(shown: Declaration) -> None:
    """Draw the question of an audit; behind its question mark stand the method and its source."""
    how = " ".join(filter(None, [shown.method, shown.source and f"({shown.source})"]))
    st.markdown(f"**{escape(shown.question)}**", help=escape(how) or None)


def page(study_audit: StudyAudit, name: str) -> None:
    """Draw the page of an audit: the result on all variants, and each result of the chosen variant."""
    joint, audit = JOINT_AUDITS.get(name), AUDITS.get(name)
    show_question(declaration_of(name))
    if joint and not show_joint(study_audit, joint):
        return
    if audit and has_variants(study_audit):
        show_variant(study_audit, audit)


def show_joint(study_audit: StudyAudit, joint: JointAudit, leads: Leads | None = None) -> bool:
    """Draw the result on all variants and return whether there is one; a click opens a variant by default."""
    result = joint.compute(study_audit, chosen_limits(study_audit))
    if result is None:
        st.info("The study does not allow this audit.")
        return False
    _show_findings(joint.shown.findings("", result))
    opened: Leads = functools.partial(open_variant, study_audit), ("title",)
    show_result(study_audit, joint.shown, result, joint.shown.name, leads=leads or opened)
    return True


def show_variant(study_audit: StudyAudit, audit: Audit, leads: Leads | None = None) -> None:
    """Draw each result of the chosen variant, one after the other."""
    shown = audit.shown
    assert shown is not None
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
            _show_findings(shown.findings(title, part))
            show_result(
                study_audit, shown, part, f"{audit.name}-{key}-{i + 1}-{number + 1}", leads=leads
            )


def _show_findings(findings: Iterable[str]) -> None:
    for finding in findings:
        st.markdown(escape(with_minus_signs(finding)))


def show_result(
    study_audit: StudyAudit,
    shown: Declaration,
    result: Result,
    name: str,
    *,
    tables: Collection[str] = (),
    known: Mapping[str, Any] | None = None,
    leads: Leads | None = None,
) -> None:
    """Draw the charts, several in two columns, the tables and the notes of a result.

    Args:
        study_audit: the study and its audits.
        shown: the declaration of the audit.
        result: result to draw.
        name: name of the files, and of charts and tables on their page.
        tables: the declared tables and the charts of the same names to draw; all by default.
        known: columns of `show_images` that all rows and marks share.
        leads: what a click does, and the columns of which a chart or table that can be clicked has one; by default, it
            shows the images that a row or mark stands for.
    """
    images = functools.partial(_show_images, study_audit, shown.images, known or {})
    click, fields = leads or (images, FIELDS)

    charts = [chart for chart in shown.charts if not tables or chart.name in tables]
    charts = [chart for chart in charts if not chart.each and chart.shown(result)]
    _show_charts(shown, charts, result, name, click, fields)
    for which, table, rows in _rows(shown, result, tables):
        heading = table.title.format(result=result) if which else ""
        of_table = "-".join(filter(None, (name, which)))
        _show_table(rows, heading, of_table, table, click, fields)
    for number, (heading, frame) in enumerate(result.tables().items(), start=2):
        _show_table(frame, heading, f"{name}-{number}", Table(catalogue=shown.name), click, fields)
    show_notes(result.notes)


def _rows(
    shown: Declaration, result: Result, tables: Collection[str]
) -> Iterator[tuple[str, Table, pd.DataFrame]]:
    """Yield name, declaration and rows of each table that is drawn; the main one has no name, others need rows."""
    for number, (name, table) in enumerate((shown.tables or {"": shown.table}).items()):
        rows = table.rows(result) if not tables or name in tables else pd.DataFrame()
        if not rows.empty or (not number and not tables):
            yield name if number else "", table, rows


def _show_images(
    study_audit: StudyAudit, kind: str, known: Mapping[str, Any], row: Mapping[str, Any]
) -> None:
    show = {"show": kind} if kind and "quantity" not in row else {}
    show_images(study_audit, {**known, **row}, **show)


def _show_charts(
    shown: Declaration,
    charts: Sequence[Chart],
    result: Result,
    name: str,
    click: Act,
    fields: Sequence[str],
) -> None:
    places = st.columns(2) if len(charts) > 1 else [st.container()]
    for chart, place in zip(charts, itertools.cycle(places), strict=False):
        drawing = chart.draw(result)
        columns = fields_of(drawing)
        leads = [field for field in fields if field in columns]
        description = chart.description.format(result=result) or shown.question
        file = "-".join(filter(None, (name, chart.name)))
        with place:
            if chart.title:
                st.markdown(f"**{escape(chart.title.format(result=result))}**")
            if leads:
                text = f"{description} A click shows what it stands for."
                show_chart(drawing, file, text, click=click, fields=leads)
            else:
                show_chart(drawing, file, description)


def _show_table(
    frame: pd.DataFrame, heading: str, name: str, table: Table, click: Act, fields: Sequence[str]
) -> None:
    if heading:
        st.markdown(f"**{escape(heading[0].upper() + heading[1:])}**")
    leads = click if set(fields) & set(frame) else None
    entries = {}
    if table.numbers:
        frame = frame.reset_index().rename(columns=str)
        numbers = frame.select_dtypes("number").columns
        entries = dict.fromkeys(numbers, numbers_of(table))
    columns = table.columns or None
    show_table(frame, name, columns, table=table.catalogue, entries=entries, click=leads)
