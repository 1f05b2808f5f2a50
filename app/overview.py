"""The whole study: every variant ([F] table 2), the accuracy of every member, and size against accuracy."""

import altair as alt
import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import change_count, choose_variant, new_selection, variant_labels
from tfaudit.app.display import link_to, show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, escape_name
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
    st.markdown(escape(sentence))
    table = f"summary {data.store.directory} {change_count('variant')}"
    if rows := new_selection(table, "rows"):
        st.session_state["variant"] = variant_labels(study_audit)[summary.table["variant"].iloc[rows[0]]]
    known = [name for name in COLUMNS if summary.table[name].notna().any()]
    show_table(summary.frame(), f"{data.study.name}-variants", known, key=table, select=True)
    _details(study_audit)
    accuracies = summary.chart()
    # Panels with a scale of their own, of variants far apart, need the whole width.
    left, right = (st.container(), st.container()) if isinstance(accuracies, alt.FacetChart) else st.columns(2)
    with left:
        st.subheader("Accuracy of every member")
        show_chart(accuracies, "accuracy", "Top-1 accuracy of every member, one line per variant.")
    with right:
        st.subheader("Size, accuracy and harm")
        if summary.table["gzipped_bytes"].notna().any():
            st.caption("The larger the point, the more images change their modal label.")
            show_chart(size_chart(summary.table), "size", "Size of the file against accuracy, one point per variant.")
        else:
            st.info("The sizes of the models are unknown.")
    st.subheader("Notes")
    show_notes(summary.notes)


def _details(study_audit: StudyAudit) -> None:
    summary, titles = study_audit.summary, study_audit.data.titles
    if not summary.exemplars:
        st.info("No compressed variant has members yet; `tfaudit run` resumes where it stopped.")
        return
    key = choose_variant(study_audit, baseline=True)
    rows = summary.table.set_index("variant")
    facts, baseline = rows.loc[key], rows.loc[BASELINE]
    role = f"compared with {escape_name(titles[BASELINE])}" if key != BASELINE else "the baseline of all comparisons"
    with st.container(border=True):
        st.markdown(f"**{escape_name(titles[key])}**, {role}")
        first, second, third, fourth = st.columns(4)
        change = f"{100 * (facts['top1'] - baseline['top1']):+.2f} points" if key != BASELINE else None
        first.metric("top-1", f"{facts['top1']:.2%}", change)
        if pd.notna(facts["gzipped_bytes"]) and pd.notna(baseline["gzipped_bytes"]):
            second.metric("gzipped, of the baseline's", f"{facts['gzipped_bytes'] / baseline['gzipped_bytes']:.0%}")
        if key == BASELINE:
            return
        if pd.notna(facts["harmed"]):
            third.metric("classes harmed / favoured", f"{facts['harmed']} / {facts['favoured']}")
        share = f"{facts['pie_share']:.1%} of the images"
        fourth.metric("PIEs", f"{facts['pies']:,}", share, delta_color="off", delta_arrow="off")
        headline = next(headline for headline in headlines(summary, study_audit.model_pairs) if headline.variant == key)
        for sentence in filter(None, (headline.accuracy, headline.classes, headline.images, headline.twins)):
            st.markdown(escape(sentence))
        with st.container(horizontal=True):
            link_to("classes", "Its classes", ":material/category:")
            link_to("exemplars", "Its exemplars", ":material/photo_library:")
            link_to("corruptions", "Under corruption", ":material/foggy:")
