"""One model against one on the same images: class by class and image by image."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.audit_page import show_question
from tfaudit.app.controls import (
    choose_class,
    choose_option,
    choose_variant,
    class_label,
    has_variants,
)
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.exemplar_cards import show_cards
from tfaudit.app.image_panel import open_image, page_of
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.nouns import with_noun
from tfaudit.app.url_state import choose_from, set_choices, single_choice
from tfaudit.audits.flips.image_changes import NEWLY_CORRECT, NEWLY_WRONG, OTHER_WRONG
from tfaudit.audits.model_pair.declaration import MODEL_PAIR
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.audits.ties import count_text
from tfaudit.charts.style import distinct_names
from tfaudit.outlets.exemplar_cards import cards
from tfaudit.outlets.pair_headlines import accuracy_sentence, classes_sentence, predictions_sentence

PAGE_SIZE = 12  # images on one page of the gallery

KINDS = {NEWLY_WRONG: "lost", NEWLY_CORRECT: "won", OTHER_WRONG: "other wrong"}
"""Kinds of flips in a frame of flips, by their names."""

FLIPS = ("example", "kind", "label", "before", "after", "probability_before", "probability_after")


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    show_question(MODEL_PAIR)
    if not has_variants(study_audit):
        return
    key = choose_variant(study_audit)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        before = _choose_member(study_audit, BASELINE, "before")
        after = _choose_member(study_audit, key, "after")
    single = study_audit.data.is_single(key)
    pair = study_audit.model_pair(key) if single else study_audit.member_pair(key, before, after)
    name = f"pair-{key}-{before}-{after}"
    sentences = (accuracy_sentence, predictions_sentence, classes_sentence)
    st.markdown("\n\n".join(escape(sentence(pair)) for sentence in sentences))
    _metrics(pair)
    _retrained_twin(study_audit)
    st.header("Classes")
    text = (
        "A line per class: red, the share of its images that are newly wrong; blue, newly correct; the dot is the "
        "change of recall with its confidence interval. A click on a class filters the images below."
    )
    classes = MODEL_PAIR.table.rows(pair).assign(name=distinct_names(pair.frame()["class"]))
    now = st.query_params.get("class")

    def filter_images(row: Mapping[str, Any]) -> None:
        label = class_label(pair.class_names, row["name"])
        set_choices(**{"class": label, "flips": None})

    show_chart(pair.chart(), name, text, click=filter_images, fields=["name"], now=now)
    columns = MODEL_PAIR.table.columns
    show_table(classes, name, columns, table="pairs", click=filter_images, now=now)
    st.header(with_noun("Images whose prediction flips"))
    _flips(study_audit, pair, name)
    show_notes(pair.notes)


def _choose_member(study_audit: StudyAudit, key: str, name: str) -> int:
    """Return the chosen member of a variant; a single member needs no control."""
    members = study_audit.data.members[key]
    if len(members) == 1:
        return single_choice(name, members[0])
    title = escape_name(study_audit.data.titles[key])
    return choose_from(
        st.selectbox, f"Member of {title}", members, name, members[0], resets=("flips",)
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f}\u00a0%"


def _metrics(pair: PairComparison) -> None:
    summary = pair.summary()
    change = (
        f"{_percent(summary['accuracy_before'])} before; confidence interval of the change: "
        f"{summary['change_low_pp']:+.2f} to {summary['change_high_pp']:+.2f} points; "
        f"p = {summary['change_p']:.2g} (McNemar's exact test)."
    )
    counts = {
        NEWLY_WRONG: ("negative_flips", "Negative flips: images right before, wrong after"),
        NEWLY_CORRECT: ("positive_flips", "Positive flips: images wrong before, right after"),
        OTHER_WRONG: ("wrong_to_other_wrong", "Images wrong before, wrong in another way after"),
    }
    shares = {
        "agreement": "Images with the same prediction before and after",
        "BTC": "Backward trust compatibility: share of right images that stay right",
        "BEC": "Backward error compatibility: share of wrong images that stay wrong",
    }
    metrics = [
        *((label, count_text(summary[name]), text) for label, (name, text) in counts.items()),
        *((label, _percent(summary[label.lower()]), text) for label, text in shares.items()),
        ("kappa", f"{summary['kappa']:.3f}", "Cohen's kappa: agreement beyond chance"),
    ]
    with st.container(key="metrics"):
        after = _percent(summary["accuracy_after"])
        points = f"{summary['change_pp']:+.2f} points"
        st.metric("top-1 after", after, points, border=True, help=escape(change), height="stretch")
        for label, value, meaning in metrics:
            st.metric(label, value, border=True, help=with_noun(meaning), height="stretch")


def _retrained_twin(study_audit: StudyAudit) -> None:
    """Say how many predictions training again changes, the noise floor of those that compression changes."""
    changed = study_audit.variant(BASELINE).changed
    if len(changed):
        share = changed.mean() / len(study_audit.counts(BASELINE).labels)
        between = (
            f", {count_text(changed.min())} to {count_text(changed.max())} between two models"
            if len(changed) > 1
            else ""
        )
        st.caption(
            f"Training the baseline again changes {changed.mean():,.0f} predictions ({100 * share:.1f} %{between})."
        )
    else:
        st.caption(
            "How many predictions training again changes is unknown: the baseline is a single model."
        )


def _flips(study_audit: StudyAudit, pair: PairComparison, name: str) -> None:
    flips = pair.flips_frame()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = choose_option("Kind", {"all": "", **KINDS}, "kind", resets=("flips",))
        chosen = choose_class(pair.class_names)
    if kind:
        flips = flips[flips["kind"] == kind]
    if chosen is not None:
        flips = flips[study_audit.counts(BASELINE).labels[flips["index"]] == chosen]
    # First those where both models are surest.
    if {"probability_before", "probability_after"} <= set(flips):
        both = flips["probability_before"] * flips["probability_after"]
        flips = flips.loc[both.sort_values(ascending=False, kind="stable").index]
    st.caption(with_noun(f"{len(flips):,} of {pair.overall.examples:,} images"))
    if flips.empty:
        return
    shown = page_of(flips.set_index("index"), PAGE_SIZE, "flips")
    positions = shown.index.to_list()
    images = study_audit.data.store.images(study_audit.data.split, positions)
    modes = {"before": "baseline_mode", "after": "compressed_mode"}
    drawn = shown.rename(columns=modes).assign(baseline_share=1, compressed_share=1)
    show_cards(cards(drawn, images), (1, 1), positions)
    with st.expander("As a table"):
        show_table(
            flips.assign(kind=flips["kind"].map({kind: name for name, kind in KINDS.items()})),
            f"{name}-flips",
            FLIPS,
            click=lambda row: open_image(row["index"]),
            now=(kind, chosen),
        )
