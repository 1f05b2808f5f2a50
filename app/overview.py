"""The whole study: the verdict, the table as published ([F] table 2), accuracy of members, size against accuracy."""

from typing import Any

import altair as alt
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import on_selection, put_variant, variant_labels
from tfaudit.app.display import POINT, go_to_later, show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.verdict import show_verdict
from tfaudit.charts.costs import size_chart
from tfaudit.report.headlines import headlines

MODELS = ("title", "members", "sparsity", "bytes", "gzipped_bytes", "top1", "top1_change", "top5")
CLASSES = ("significant", "expected_by_chance", "significant_holm", "significant_bh", "harmed")
COLUMNS = (*MODELS, *CLASSES, "pies", "pies_by_chance", "pies_p")


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    summary, data = study_audit.summary, study_audit.data
    members = summary.table["members"].max()
    sentence = (
        f"{data.study.subject}, {data.split} split: {len(data.groups):,} {data.examples_are}, "
        f"{len(summary.table)} variants, {'one model' if members == 1 else f'up to {members} members'} each."
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
        st.subheader("As published")
        st.caption(
            "Classes whose recall changes by more than the overall accuracy does, by a test that takes the images as "
            "fixed, and PIEs, images whose majority prediction changes, \\[F\\] table 2."
        )
    known = [name for name in COLUMNS if summary.table[name].notna().any()]
    frame = summary.frame()

    def open_row(selection: Any) -> None:
        for row, _ in selection["cells"]:
            _open_variant(study_audit, frame["title"].iloc[row])

    def open_point(selection: Any) -> None:
        for point in selection.get(POINT, ()):
            _open_variant(study_audit, point.get("title"))

    table, rows = "" if members > 1 else "pairs", on_selection("variants", None, open_row)
    show_table(frame, f"{data.study.name}-variants", known, table=table, clicks=rows)
    accuracies = summary.chart()
    # Panels with a scale of their own, of variants far apart, need the whole width.
    left, right = (st.container(), st.container()) if isinstance(accuracies, alt.FacetChart) else st.columns(2)
    with left:
        st.subheader("Accuracy of every member" if members > 1 else "Accuracy")
        text = (
            "A line per variant: a dot for the top-1 accuracy of every member, a bar at the mean. A click opens the "
            "variant."
        )
        clicks = on_selection("accuracies", None, open_point)
        show_chart(accuracies, "accuracy", text, clicks=clicks, fields=["title"])
    with right:
        st.subheader("Size and accuracy")
        if summary.table["gzipped_bytes"].notna().any():
            changes = "images are PIEs" if members > 1 else "predictions change"
            st.caption(f"The larger the point, the more {changes}.")
            text = (
                "A point per variant: the size of its gzipped file against its accuracy. Above and to the left is "
                f"better; the larger the point, the more {changes}. A click opens the variant."
            )
            clicks = on_selection("sizes", None, open_point)
            show_chart(size_chart(summary.table), "size", text, clicks=clicks, fields=["title"])
        else:
            st.info("The sizes of the models are unknown.")
    st.subheader("Notes")
    show_notes(summary.notes)


def _open_variant(study_audit: StudyAudit, title: str | None) -> None:
    """Lead to the page of a variant that was clicked in a chart or table; the baseline has none."""
    data = study_audit.data
    keys = [
        key for key, its in data.titles.items() if key != BASELINE and title in (its, variant_labels(study_audit)[key])
    ]
    for key in keys[:1]:
        put_variant(study_audit, title)
        go_to_later("classes" if key in study_audit.summary.impacts else "compare")
