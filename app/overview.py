"""The whole study: the verdict, the table as published ([F] table 2), accuracy of members, size against accuracy."""

import altair as alt
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.display import show_chart, show_notes, show_table
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
        f"{data.study.model} on {data.study.dataset}, {data.split} split: {len(data.groups):,} images, "
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
            "fixed, and images whose modal label changes, \\[F\\] table 2."
        )
    known = [name for name in COLUMNS if summary.table[name].notna().any()]
    show_table(summary.frame(), f"{data.study.name}-variants", known, table="" if members > 1 else "pairs")
    accuracies = summary.chart()
    # Panels with a scale of their own, of variants far apart, need the whole width.
    left, right = (st.container(), st.container()) if isinstance(accuracies, alt.FacetChart) else st.columns(2)
    with left:
        st.subheader("Accuracy of every member" if members > 1 else "Accuracy")
        show_chart(accuracies, "accuracy", "Top-1 accuracy of every member, one line per variant.")
    with right:
        st.subheader("Size and accuracy")
        if summary.table["gzipped_bytes"].notna().any():
            changes = "images change their modal label" if members > 1 else "predictions change"
            st.caption(f"The larger the point, the more {changes}.")
            show_chart(size_chart(summary.table), "size", "Size of the file against accuracy, one point per variant.")
        else:
            st.info("The sizes of the models are unknown.")
    st.subheader("Notes")
    show_notes(summary.notes)
