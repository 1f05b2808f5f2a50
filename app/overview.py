"""The whole study: [F] table 2, what every member reaches, what smaller files cost; a row leads to its details."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd
import streamlit as st

from tfaudit.app.choosing import choose_variant, clicked, times_chosen, variant_labels
from tfaudit.app.showing import link_to, show_chart, show_notes, show_table
from tfaudit.app.text import plain, prose
from tfaudit.charts.sizes import size_chart
from tfaudit.report.headlines import headlines

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

_number = st.column_config.NumberColumn
COLUMNS = {
    "title": st.column_config.TextColumn("variant", pinned=True, help="What was done to the model"),
    "members": _number(help="Models of this variant"),
    "sparsity": _number(format="percent", help="Zeros among the prunable weights"),
    "bytes": _number("size", format="bytes", help="Of the model file, mean over members"),
    "gzipped_bytes": _number("gzipped", format="bytes", help="The same file, gzipped"),
    "top1": _number("top-1", format="percent", help="Mean accuracy"),
    "top1_change": _number("change", format="percent", help="Of mean top-1 accuracy, relative to the baseline's"),
    "top5": _number("top-5", format="percent", help="Mean accuracy of five guesses"),
    "significant": _number("classes", help="Classes with p at most alpha, uncorrected as in [F]"),
    "expected_by_chance": _number("chance", format="%.1f", help="Such classes to expect if nothing had changed"),
    "significant_holm": _number("Holm", help="Classes significant after Holm's correction"),
    "significant_bh": _number("BH", help="Classes significant after Benjamini and Hochberg's correction"),
    "harmed": _number(help="Significant classes that lose more than the model as a whole"),
    "pies": _number("PIEs", help="Images whose modal label changes"),
    "pies_by_chance": _number("PIEs by chance", format="%.0f", help="Such images if compression did nothing"),
    "pies_p": _number("p of PIEs", format="%.3f", help="How likely chance gives as many; by reassigning members"),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    audit, study = study_audit.summary, study_audit.data.study
    st.title(f"What compression forgets: {plain(study.name)}")
    examples = len(study_audit.data.groups)
    st.markdown(
        prose(
            f"{study.model} on {study.dataset}, {study_audit.data.split} split: {examples:,} images, "
            f"{len(audit.table)} variants, {_members(audit.table['members'].max())}."
        )
    )
    shown = {name: how for name, how in COLUMNS.items() if audit.table[name].notna().any()}
    table = f"summary {study_audit.data.store.directory} {times_chosen('variant')}"
    if rows := clicked(table, "rows"):
        st.session_state["variant"] = variant_labels(study_audit)[audit.table["variant"].iloc[rows[0]]]
    show_table(audit.frame(), f"{study.name}-variants", shown, key=table, select=True)
    _details(study_audit, audit.table)
    accuracies = audit.chart()
    # Panels that each have their own scale, of variants far apart, do not shrink to half the page.
    left, right = (st.container(), st.container()) if isinstance(accuracies, alt.FacetChart) else st.columns(2)
    with left:
        st.subheader("Accuracy of every member")
        show_chart(accuracies, "accuracy", "Top-1 accuracy of every member, a line per variant.")
    with right:
        st.subheader("Size against accuracy against harm")
        if audit.table["gzipped_bytes"].notna().any():
            st.caption("The larger the point, the more images change their modal label.")
            show_chart(size_chart(audit.table), "size", "Size of the file against accuracy, a point per variant.")
        else:
            st.info("The study does not know how large its models are.")
    st.subheader("Notes")
    show_notes(audit.notes)


def _details(study_audit: StudyAudit, table: pd.DataFrame) -> None:
    if not study_audit.summary.exemplars:
        st.info("No compressed variant has members yet; `tfaudit run` goes on where it stopped.")
        return
    key = choose_variant(study_audit, baseline=True)
    facts = table.set_index("variant").loc[key]
    baseline = table.set_index("variant").loc[study_audit.summary.baseline]
    with st.container(border=True):
        st.markdown(f"**{plain(study_audit.data.titles[key])}**, {_beside(study_audit, key)}")
        first, second, third, fourth = st.columns(4)
        change = (
            "" if key == study_audit.summary.baseline else f"{100 * (facts['top1'] - baseline['top1']):+.2f} points"
        )
        first.metric("top-1", f"{facts['top1']:.2%}", change or None)
        if pd.notna(facts["gzipped_bytes"]) and pd.notna(baseline["gzipped_bytes"]):
            share = f"{facts['gzipped_bytes'] / baseline['gzipped_bytes']:.0%}"
            second.metric("gzipped size, of the baseline's", share)
        if key == study_audit.summary.baseline:
            return
        if pd.notna(facts["harmed"]):
            third.metric("classes harmed / favoured", f"{facts['harmed']} / {facts['favoured']}")
        share = f"{facts['pie_share']:.1%} of the images"
        fourth.metric("PIEs", f"{facts['pies']:,}", share, delta_color="off", delta_arrow="off")
        found = next(each for each in headlines(study_audit.summary) if each.variant == key)
        for said in filter(None, (found.accuracy, found.classes, found.images)):
            st.markdown(prose(said))
        with st.container(horizontal=True):
            link_to("classes", "Its classes", ":material/category:")
            link_to("exemplars", "Its exemplars", ":material/photo_library:")
            link_to("corruptions", "Under corruption", ":material/foggy:")


def _members(most: int) -> str:
    return "one model each" if most == 1 else f"{most} members each at most"


def _beside(study_audit: StudyAudit, key: str) -> str:
    if key == study_audit.summary.baseline:
        return "the baseline, which the others are set against"
    return f"against {plain(study_audit.data.titles[study_audit.summary.baseline])}"
