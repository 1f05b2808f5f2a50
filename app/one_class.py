"""One class: its recall at every level, what it is taken for, its exemplars, and what corruptions do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from tfaudit.app.cards import show_cards
from tfaudit.app.showing import link_to, show_chart, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.charts.class_recall import class_recall_chart
from tfaudit.charts.classes import named_classes, ranked_classes
from tfaudit.charts.confusion import confusion_chart
from tfaudit.report.exemplar_cards import by_decisiveness, cards

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["show_class"]

ANSWERS, CARDS = 8, 6
"""Wrong answers in the chart, and exemplars, at most."""

CONFUSION = {
    "name": st.column_config.TextColumn("answer", pinned=True),
    "before": st.column_config.NumberColumn(format="percent", help="Share of all answers to images of the class"),
    "after": st.column_config.NumberColumn(format="percent"),
    "change_pp": st.column_config.NumberColumn("change", format="%+.2f", help="Percentage points"),
}
CORRUPTIONS = {
    "corruption": st.column_config.TextColumn(pinned=True),
    "recall_before": st.column_config.NumberColumn("recall before", format="percent"),
    "recall_after": st.column_config.NumberColumn("after", format="percent"),
    "difference_pp": st.column_config.NumberColumn("change", format="%+.2f", help="Percentage points"),
    "normalised_pp": st.column_config.NumberColumn("normalised", format="%+.2f", help="Beyond the accuracy's, points"),
    "clean_normalised_pp": st.column_config.NumberColumn("clean", format="%+.2f", help="The same on clean images"),
    "p": st.column_config.NumberColumn(format="%.2g"),
    "p_bh": st.column_config.NumberColumn("p, BH", format="%.2g", help="Over all classes and corruptions"),
}


def show_class(study_audit: StudyAudit, variant: str, label: int) -> None:
    """Draws what is known of a class.

    Args:
        study_audit: of the study.
        variant: key of the compressed one.
        label: the class.
    """
    name = study_audit.counts(variant).class_names[label]
    st.markdown(f"#### {plain(name) or 'Class without a name'}")
    left, right = st.columns(2)
    with left:
        st.markdown("**Recall of every member**")
        _recall(study_audit, label)
    with right:
        st.markdown(f"**What it is taken for**, {plain(study_audit.data.titles[variant])}")
        _confusion(study_audit, variant, label)
    _exemplars(study_audit, variant, label)
    _corruptions(study_audit, variant, label)


def _recall(study_audit: StudyAudit, label: int) -> None:
    titles = dict(zip(study_audit.data.titles, labels(list(study_audit.data.titles.values())), strict=True))
    tallies = {key: study_audit.counts(key) for key in study_audit.data.titles}
    recalls = pd.concat(
        pd.DataFrame({"title": titles[key], "member": each.members, "recall": each.recall[:, label]})
        for key, each in tallies.items()
    )
    if recalls["recall"].isna().all():
        st.info("The test set holds no images of this class.")
        return
    show_chart(
        class_recall_chart(recalls),
        f"recall-class-{label}",
        "One line per variant: a dot for the recall of every member, a bar at the mean.",
    )


def _confusion(study_audit: StudyAudit, variant: str, label: int) -> None:
    both = [study_audit.counts(key) for key in (study_audit.summary.baseline, variant)]
    shares = [each.confusion(label).set_index("answer")["share"] for each in both]
    table = pd.concat(shares, axis=1, keys=["before", "after"]).fillna(0.0)
    table["name"] = pd.Series(labels(both[0].class_names)).reindex(table.index)
    table["change_pp"] = 100 * (table["after"] - table["before"])
    table = table.loc[table[["before", "after"]].max(axis=1).sort_values(ascending=False, kind="stable").index]
    wrong = table[table.index != label]
    if wrong.empty:
        st.caption("Every member is right on every image, before and after.")
    else:
        show_chart(
            confusion_chart(wrong.head(ANSWERS)),
            f"confusion-{variant}-class-{label}",
            "The most frequent wrong answers: their shares before compression and after.",
        )
    with st.expander("All answers, the right one too"):
        show_table(table, f"confusion-{variant}-class-{label}", CONFUSION)


def _exemplars(study_audit: StudyAudit, variant: str, label: int) -> None:
    found = study_audit.exemplars(variant)
    pies = by_decisiveness(found.pies[found.labels[found.index] == label])
    st.markdown(f"**Exemplars**: {len(pies):,} of its images change their modal label.")
    if pies.empty:
        return
    shown = pies.head(CARDS)
    images = study_audit.data.store.images(study_audit.data.split, shown["index"].tolist())
    members = len(study_audit.counts(study_audit.summary.baseline).members), len(study_audit.counts(variant).members)
    show_cards(cards(shown, images), members)
    all_of_them = "The one exemplar" if len(pies) == 1 else f"All {len(pies):,} exemplars"
    link_to("exemplars", f"{all_of_them} of this class", ":material/photo_library:")


def _corruptions(study_audit: StudyAudit, variant: str, label: int) -> None:
    if variant not in study_audit.data.corrupted_keys:
        return
    st.markdown("**Under corruption**, means over the severities")
    found = study_audit.robustness(variant).classes
    rows = found[found.groupby("corruption").cumcount() == label].reset_index(drop=True)
    renamed = {"low_pp": "normalised_low_pp", "high_pp": "normalised_high_pp"}
    known = rows.rename(columns=renamed).assign(**{"class": rows["corruption"]})
    if known["p"].notna().any():
        show_chart(
            named_classes(ranked_classes(known), columns=2),
            f"corruptions-{variant}-class-{label}",
            "A line per corruption: a bar for the change of the class's recall, a point for the normalised one.",
        )
    else:
        st.caption(prose("No test: one side has a single member, or the class has no images there."))
    show_table(rows, f"corruptions-{variant}-class-{label}", CORRUPTIONS)
