"""One class: its images, its confusions, its recall in every member, and its recall under corruption."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import draw_tabs, set_variant, variant_labels
from tfaudit.app.display import link_to, show_chart, show_table
from tfaudit.app.drill_down import ALL, show_corruption, show_images
from tfaudit.app.exemplars import draw_cards
from tfaudit.app.image_panel import page_of
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.app.prediction_charts import class_recall_chart, confusion_chart
from tfaudit.audits.classes.chart import named_classes, ranked_classes
from tfaudit.audits.flips.image_changes import NEWLY_CORRECT, NEWLY_WRONG, UNCHANGED, image_changes
from tfaudit.datasets.corruptions.registry import corruption_title

WRONG_PREDICTIONS = 8  # in the chart at most
CARDS = 6  # exemplars on one page
RIVALS = 6  # classes that lost images become, the most frequent

CONFUSION = ("name", "before", "after", "change_pp")
CORRUPTIONS = (
    "corruption",
    "recall_before",
    "recall_after",
    "change_pp",
    "change_low_pp",
    "change_high_pp",
    "change_p_holm",
    "verdict",
    "relative_pp",
    "clean_relative_pp",
    "relative_verdict",
)


def show_images_of_class(study_audit: StudyAudit, variant: str, label: int) -> None:
    """Draw the name of a class and images that change."""
    name = study_audit.counts(variant).class_names[label]
    st.markdown(f"## {escape_name(name) or 'Class without a name'}")
    _images(study_audit, variant, label)


def show_details_of_class(study_audit: StudyAudit, variant: str, label: int) -> None:
    """Draw further facts about a class in tabs, of which the browser draws only the open one."""
    name = escape_name(study_audit.counts(variant).class_names[label])
    st.markdown(f"### More on {name or 'the class without a name'}")
    views = {"Confused with": _confusion, "Recall of every member": _recall}
    if study_audit.data.corrupted_keys:
        views["Under corruption"] = _corruptions
    draw_tabs(views, "about", study_audit, variant, label)


def _images(study_audit: StudyAudit, variant: str, label: int) -> None:
    before = study_audit.counts(BASELINE)
    after = study_audit.counts(variant)
    images = image_changes(before, after)
    images = images[images["label"] == label]
    changed = images[images["kind"] != UNCHANGED]
    kinds = changed["kind"].value_counts()
    wrong = kinds.get(NEWLY_WRONG, 0)
    right = kinds.get(NEWLY_CORRECT, 0)
    several = "" if study_audit.data.is_single(variant) else " by the majority of the members"
    sentence = f"{wrong:,} of its {len(images):,} examples are {NEWLY_WRONG}{several}, {right:,} {NEWLY_CORRECT}."
    st.markdown(sentence)
    if images.empty:
        return
    names = unique_labels(before.class_names)
    filters: dict[str, Any] = dict.fromkeys(("exemplars", "page", "from", "to"))
    filters["class"] = names[label]
    became = changed.loc[changed["before"] == label, "after"].value_counts()
    if len(became):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="became"):
            st.markdown("Lost examples become", width="content")
            for answer, count in became.head(RIVALS).items():
                chosen = filters | {"show": None, "from": names[label], "to": names[answer]}
                link_to("exemplars", f"{escape_name(names[answer])} ({count:,})", **chosen)
    shown = (changed if len(changed) else images).sort_values(
        "lost_share", ascending=False, kind="stable"
    )
    above = st.container()
    with st.container(horizontal_alignment="center"):
        page = page_of(shown, CARDS, "class-page")
    with above:
        draw_cards(study_audit, variant, page)
    if len(changed):
        title = (
            "The one example that changes"
            if len(changed) == 1
            else f"All {len(changed):,} examples that change"
        )
        link_to("exemplars", title, ":material/photo_library:", **filters, show=None)
    every = f"All {len(images):,} examples of this class"
    link_to("exemplars", every, ":material/grid_view:", **filters, show=ALL)


def _recall(study_audit: StudyAudit, _: str, label: int) -> None:
    counts = {title: study_audit.counts(key) for key, title in variant_labels(study_audit).items()}
    recalls = pd.concat(
        pd.DataFrame({"title": title, "member": of.members, "recall": of.recall[:, label]})
        for title, of in counts.items()
    )
    if recalls["recall"].isna().all():
        st.info("The test set has no examples of this class.")
        return

    text = "A line per variant: a dot for the recall of every member, a bar at the mean; dashed, the baseline's mean."
    show_chart(
        class_recall_chart(recalls),
        f"recall-class-{label}",
        text,
        click=lambda point: set_variant(study_audit, point["title"]),
        fields=["title"],
        now=st.query_params.get("variant"),
    )


def _confusion(study_audit: StudyAudit, variant: str, label: int) -> None:
    tallies = [study_audit.counts(key) for key in (BASELINE, variant)]
    shares = [tally.confusion(label).set_index("answer")["share"] for tally in tallies]
    table = pd.concat(shares, axis=1, keys=["before", "after"]).fillna(0.0)
    names = unique_labels(tallies[0].class_names)
    table["name"] = pd.Series(names).reindex(table.index)
    table["change_pp"] = 100 * (table["after"] - table["before"])
    table = table.loc[
        table[["before", "after"]].max(axis=1).sort_values(ascending=False, kind="stable").index
    ]
    wrong = table[table.index != label]

    def show_confused(row: Mapping[str, Any]) -> None:
        when = row.get("when", row.get("column"))
        side = "from" if when == "before" else "to"
        show_images(study_audit, {"class": names[label]}, show=ALL, **{side: row["name"]})

    name = f"confusion-{variant}-class-{label}"
    if wrong.empty:
        st.caption("Every member is right on every example, before and after compression.")
    else:
        text = (
            "What the members predict instead: shares of all their predictions for examples of this class, before and "
            "after compression. A click on a bar shows the examples."
        )
        chart = confusion_chart(wrong.head(WRONG_PREDICTIONS))
        show_chart(chart, name, text, click=show_confused, fields=["name", "when"])
    every = st.expander(
        "All predictions, including the right one", key=f"{name} every", on_change="rerun"
    )
    if every.open:
        with every:
            show_table(table, name, CONFUSION, table="votes", click=show_confused)


def _corruptions(study_audit: StudyAudit, variant: str, label: int) -> None:
    if variant not in study_audit.data.corrupted_keys:
        st.info(
            f"{escape_name(study_audit.data.titles[variant])} was not evaluated under corruption."
        )
        return
    st.caption("Means over the severities.")
    class_name = unique_labels(study_audit.counts(variant).class_names)[label]
    classes = study_audit.robustness(variant).classes
    rows = classes[classes.groupby("corruption").cumcount() == label].reset_index(drop=True)
    titles = {corruption_title(corruption): corruption for corruption in rows["corruption"]}

    def open_corruption(row: Mapping[str, Any]) -> None:
        corruption = row.get("corruption") or titles[row["class"]]
        show_corruption(study_audit, {"corruption": corruption, "class": class_name})

    name = f"corruptions-{variant}-class-{label}"
    if rows["change_p"].notna().any():
        chart = named_classes(ranked_classes(rows.assign(**{"class": list(titles)})), columns=2)
        text = (
            "A bar per corruption: the change of the recall of this class in percentage points, faint where it may be "
            "chance; the line is the confidence interval. A click shows an example under it."
        )
        show_chart(chart, name, text, click=open_corruption, fields=["class"])
    else:
        st.caption(
            "Not tested: one population has a single member, or the class has no examples there."
        )
    show_table(rows, name, CORRUPTIONS, table="cells", click=open_corruption)
