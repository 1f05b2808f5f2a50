"""The whole study: the verdict, the table as published ([F] table 2), accuracy of members, size against accuracy."""

import functools
from collections.abc import Callable

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.drill_down import open_variant
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.size_chart import size_chart
from tfaudit.app.verdict import show_verdict
from tfaudit.errors import plural
from tfaudit.outlets.headlines import headlines

COLUMNS = (
    "title",
    "top1",
    "top1_change",
    "significant",
    "expected_by_chance",
    "significant_holm",
    "pies",
    "pies_by_chance",
    "harmed",
    "favoured",
    "significant_bh",
    "pies_p",
    "top5",
    "members",
    "sparsity",
    "bytes",
    "gzipped_bytes",
)


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    summary = study_audit.summary
    data = study_audit.data
    members = summary.table["members"].max()
    variants = plural(len(summary.table), "variant")
    sentence = (
        f"{data.study.subject}, {data.split} split: {len(data.groups):,} examples, {variants}, "
        f"{'one model' if members == 1 else f'up to {members} members'} each."
    )
    st.caption(escape(sentence))
    if summary.exemplars:
        show_verdict(study_audit)
        more = st.expander("More on every variant", key="more", on_change="rerun")
        with more:
            for line in headlines(summary, study_audit.model_pairs) if more.open else ():
                said = " ".join((line.accuracy, line.classes, line.images, line.twins))
                st.markdown(f"**{escape_name(line.title)}.** {escape(said)}")
    else:
        st.info("No compressed variant has members yet; `tfaudit run` resumes where it stopped.")
    if members > 1:
        st.header("As published")
        sentence = (
            "Classes whose recall changes by more or by less than the overall accuracy does, by a test that takes the "
            "examples as fixed, and PIEs, examples whose majority prediction changes, \\[F\\] table 2."
        )
        st.caption(sentence)
    known = [name for name in COLUMNS if summary.table[name].notna().any()]
    click = functools.partial(open_variant, study_audit)
    table = "" if members > 1 else "pairs"
    show_table(summary.frame(), f"{data.study.name}-variants", known, table=table, click=click)
    left, right = st.columns(2)
    if members > 1:
        with left:
            st.header("Accuracy of every member")
            text = (
                "A line per variant: a dot for the top-1 accuracy of every member, a bar at the mean. "
                "A click opens the variant."
            )
            show_chart(summary.chart(), "accuracy", text, click=click, fields=["title"])
    with right if members > 1 else left:
        _show_sizes(summary.table, click, single=members == 1)
    if summary.notes:
        st.header("Notes")
        show_notes(summary.notes)


def _show_sizes(table: pd.DataFrame, click: Callable[..., None], *, single: bool) -> None:
    """Draw the size of every variant's file against its accuracy, if sizes are known."""
    st.header("Size and accuracy")
    if not table[["gzipped_bytes", "bytes"]].notna().any(axis=None):
        st.info("The model sizes are unknown.")
        return
    changes = "predictions change" if single else "examples change their prediction"
    st.caption(f"The larger the point, the more {changes}.")
    text = (
        "A point per variant: the size of its file against its accuracy. Above and to the left is better; the larger "
        f"the point, the more {changes}. A click opens the variant."
    )
    show_chart(size_chart(table), "size", text, click=click, fields=["title"])
