"""One model against one: what it lost and won on the very same images, class by class and image by image."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import streamlit as st

from tfaudit.analysis.stored_images import data_uri, is_tiny
from tfaudit.app.cards import show_cards
from tfaudit.app.choosing import choose_among, choose_class, choose_variant, clicked, has_variants, times_chosen
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.audit.model_pair import PairComparison
from tfaudit.report.exemplar_cards import Card
from tfaudit.report.sections.pairs import SAYS

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

PAGE = 24
"""Images on one page of the gallery."""

TILE = 172
"""Pixels of a figure: two stand in a row of a narrow window."""

KINDS = ("all", "lost", "won", "other wrong")

_number = st.column_config.NumberColumn
CLASSES = {
    "class": st.column_config.TextColumn(pinned=True),
    "examples": _number("images"),
    "recall_before": _number("recall before", format="percent"),
    "recall_after": _number("after", format="percent"),
    "difference_pp": _number("change", format="%+.1f", help="Percentage points"),
    "low_pp": _number("from", format="%+.1f", help="Lower end of its interval, points"),
    "high_pp": _number("to", format="%+.1f", help="Upper end, points"),
    "lost": _number(help="Right before, wrong after"),
    "won": _number(help="Wrong before, right after"),
    "p": _number(format="%.2g", help="McNemar's exact test"),
    "p_holm": _number("p, Holm", format="%.2g"),
    "p_bh": _number("p, BH", format="%.2g"),
    "direction": st.column_config.TextColumn(),
}
FLIPS = {
    "example": st.column_config.TextColumn(pinned=True),
    "kind": st.column_config.TextColumn(),
    "label": st.column_config.TextColumn("true class"),
    "before": st.column_config.TextColumn(),
    "after": st.column_config.TextColumn(),
    "probability_before": _number("probability before", format="percent", help="For its own answer"),
    "probability_after": _number("after", format="percent", help="For its own answer"),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Compare two models")
    if not has_variants(study_audit):
        return
    st.markdown(prose(SAYS))
    key = choose_variant(study_audit)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        before = _choose_member(study_audit, study_audit.summary.baseline, "before")
        after = _choose_member(study_audit, key, "after")
    found = (
        study_audit.model_pair(key) if study_audit.data.is_single(key) else study_audit.member_pair(key, before, after)
    )
    name = f"pair-{key}-{before}-{after}"
    _whole(found)
    st.subheader("Classes")
    show_chart(
        found.chart(), name, "Share of each class's images lost and won, with the change of recall and its interval."
    )
    _classes(study_audit, found, name)
    st.subheader("Images whose answer flipped")
    _flips(study_audit, found, name)
    show_notes(found.notes)


def _choose_member(study_audit: StudyAudit, key: str, name: str) -> int:
    """Which member stands for a variant; nothing to choose where there is one."""
    members = study_audit.data.members[key]
    if len(members) == 1:
        return members[0]
    return st.selectbox(f"Member of {plain(study_audit.data.titles[key])}", members, key=name, bind="query-params")


def _whole(found: PairComparison) -> None:
    told = found.summary()
    change = (
        f"{told['accuracy_before']:.2%} before; the change lies in {told['low_pp']:+.2f} to {told['high_pp']:+.2f} "
        f"points, p = {told['p']:.2g} by McNemar's exact test."
    )
    tiles = (
        ("lost", f"{told['negative_flips']:,}", "Images right before, wrong after"),
        ("won", f"{told['positive_flips']:,}", "Images wrong before, right after"),
        ("otherwise wrong", f"{told['wrong_to_other_wrong']:,}", "Images wrong before, and wrong after in another way"),
        ("agreement", f"{told['agreement']:.2%}", "Images to which both give the same answer"),
        ("BTC", f"{told['btc']:.2%}", "Backward trust compatibility: of what was right before, still right"),
        ("BEC", f"{told['bec']:.2%}", "Backward error compatibility: of what was wrong before, still wrong"),
        ("kappa", f"{told['kappa']:.3f}", "Cohen's kappa: agreement beyond chance"),
    )
    with st.container(horizontal=True):
        st.metric(
            "top-1 after",
            f"{told['accuracy_after']:.2%}",
            f"{told['difference_pp']:+.2f} points",
            border=True,
            help=prose(change),
            width=TILE,
        )
        for label, value, meaning in tiles:
            st.metric(label, value, border=True, help=meaning, width=TILE)


def _classes(study_audit: StudyAudit, found: PairComparison, name: str) -> None:
    """The table; a row that is selected becomes the class of the images below."""
    frame = found.frame().sort_values(["p", "difference_pp"], kind="stable")
    table = f"classes of {study_audit.data.store.directory} {name} {times_chosen('class')}"
    if rows := clicked(table, "rows"):
        st.session_state["class"] = labels(found.class_names)[frame.index[rows[0]]]
    show_table(frame, name, CLASSES, key=table, select=True)


def _flips(study_audit: StudyAudit, found: PairComparison, name: str) -> None:
    rows = found.flips_frame()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = choose_among("Kind", KINDS, "kind")
        chosen = choose_class(found.class_names)
    if kind != KINDS[0]:
        rows = rows[rows["kind"] == kind]
    if chosen is not None:
        rows = rows[study_audit.counts(study_audit.summary.baseline).labels[rows["index"]] == chosen]
    if {"probability_before", "probability_after"} <= set(rows):  # the surest of their different answers first
        surest = rows["probability_before"] * rows["probability_after"]
        rows = rows.loc[surest.sort_values(ascending=False, kind="stable").index]
    st.caption(f"{len(rows):,} images of {found.overall.examples:,}")
    if rows.empty:
        return
    page = st.pagination(-(-len(rows) // PAGE), key="flips", bind="query-params") - 1
    shown = rows.iloc[page * PAGE : (page + 1) * PAGE]
    images = study_audit.data.store.images(study_audit.data.split, shown["index"].to_list())
    show_cards([_card(row, image) for row, image in zip(shown.to_dict("records"), images, strict=True)], (1, 1))
    show_table(rows, f"{name}-flips", {column: how for column, how in FLIPS.items() if column in rows})


def _card(row: dict[Hashable, Any], image: bytes) -> Card:
    texts = {name: str(row[name]) for name in ("example", "label", "before", "after")}
    return Card(**texts, before_share=1, after_share=1, source=data_uri(image), tiny=is_tiny(image))
