"""One class: its recall in every member, its confusions, its exemplars, and its recall under corruption."""

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import variant_labels
from tfaudit.app.display import link_to, show_chart, show_table
from tfaudit.app.exemplar_cards import show_cards
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.charts.classes import named_classes, ranked_classes
from tfaudit.charts.predictions import class_recall_chart, confusion_chart
from tfaudit.report.exemplar_cards import by_decisiveness, cards

WRONG_PREDICTIONS, CARDS = 8, 6  # wrong predictions in the chart, and exemplars, at most

CONFUSION = ("name", "before", "after", "change_pp")
LOST = ("change_pp", "change_low_pp", "change_high_pp", "change_p_holm", "verdict")
RELATIVE = ("relative_pp", "clean_relative_pp", "relative_verdict")
CORRUPTIONS = ("corruption", "recall_before", "recall_after", *LOST, *RELATIVE)


def show_class(study_audit: StudyAudit, variant: str, label: int) -> None:
    """Draw all results about one class."""
    name = study_audit.counts(variant).class_names[label]
    st.markdown(f"#### {escape_name(name) or 'Class without a name'}")
    left, right = st.columns(2)
    with left:
        st.markdown("**Recall of every member**")
        _recall(study_audit, label)
    with right:
        st.markdown(f"**Confused with**, {escape_name(study_audit.data.titles[variant])}")
        _confusion(study_audit, variant, label)
    _exemplars(study_audit, variant, label)
    _corruptions(study_audit, variant, label)


def _recall(study_audit: StudyAudit, label: int) -> None:
    tallies = {title: study_audit.counts(key) for key, title in variant_labels(study_audit).items()}
    recalls = pd.concat(
        pd.DataFrame({"title": title, "member": tally.members, "recall": tally.recall[:, label]})
        for title, tally in tallies.items()
    )
    if recalls["recall"].isna().all():
        st.info("The test set has no images of this class.")
        return
    text = "One line per variant: a dot for the recall of every member, a bar at the mean."
    show_chart(class_recall_chart(recalls), f"recall-class-{label}", text)


def _confusion(study_audit: StudyAudit, variant: str, label: int) -> None:
    tallies = [study_audit.counts(key) for key in (BASELINE, variant)]
    shares = [tally.confusion(label).set_index("answer")["share"] for tally in tallies]
    table = pd.concat(shares, axis=1, keys=["before", "after"]).fillna(0.0)
    table["name"] = pd.Series(unique_labels(tallies[0].class_names)).reindex(table.index)
    table["change_pp"] = 100 * (table["after"] - table["before"])
    table = table.loc[table[["before", "after"]].max(axis=1).sort_values(ascending=False, kind="stable").index]
    wrong = table[table.index != label]
    if wrong.empty:
        st.caption("Every member is right on every image, before and after compression.")
    else:
        text = "The most frequent wrong predictions: their shares before and after compression."
        show_chart(confusion_chart(wrong.head(WRONG_PREDICTIONS)), f"confusion-{variant}-class-{label}", text)
    with st.expander("All predictions, including the right one"):
        show_table(table, f"confusion-{variant}-class-{label}", CONFUSION, table="votes")


def _exemplars(study_audit: StudyAudit, variant: str, label: int) -> None:
    exemplars = study_audit.exemplars(variant)
    pies = by_decisiveness(exemplars.pies[exemplars.labels[exemplars.index] == label])
    changed = "prediction" if study_audit.data.is_single(variant) else "modal label"
    st.markdown(f"**Exemplars**, images of this class whose {changed} changes: {len(pies):,}.")
    if pies.empty:
        return
    shown = pies.head(CARDS)
    images = study_audit.data.store.images(study_audit.data.split, shown["index"].tolist())
    members = len(study_audit.counts(BASELINE).members), len(study_audit.counts(variant).members)
    show_cards(cards(shown, images), members)
    label_of_link = "The one exemplar" if len(pies) == 1 else f"All {len(pies):,} exemplars"
    link_to("exemplars", f"{label_of_link} of this class", ":material/photo_library:")


def _corruptions(study_audit: StudyAudit, variant: str, label: int) -> None:
    if variant not in study_audit.data.corrupted_keys:
        return
    st.markdown("**Under corruption**, means over the severities")
    classes = study_audit.robustness(variant).classes
    rows = classes[classes.groupby("corruption").cumcount() == label].reset_index(drop=True)
    if rows["change_p"].notna().any():
        chart = named_classes(ranked_classes(rows.assign(**{"class": rows["corruption"]})), columns=2)
        text = "One line per corruption: the change of the class's recall, with its interval."
        show_chart(chart, f"corruptions-{variant}-class-{label}", text)
    else:
        st.caption("Not tested: one population has a single member, or the class has no images there.")
    show_table(rows, f"corruptions-{variant}-class-{label}", CORRUPTIONS, table="cells")
