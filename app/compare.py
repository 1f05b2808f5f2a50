"""Any model against any other on the same images, of one study or of two: class by class and image by image."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pandas as pd
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
    variant_labels,
)
from tfaudit.app.display import show_alert, show_chart, show_notes, show_table
from tfaudit.app.exemplar_cards import show_cards
from tfaudit.app.flips_chart import KINDS, flips_chart
from tfaudit.app.image_panel import open_image, page_of
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.study_choice import other_studies
from tfaudit.app.url_state import choose_from, set_choices, single_choice
from tfaudit.audits.flips.image_changes import NEWLY_CORRECT, NEWLY_WRONG, OTHER_WRONG
from tfaudit.audits.model_pair.declaration import MODEL_PAIR
from tfaudit.audits.model_pair.model_pair import PairComparison, compare
from tfaudit.audits.ties import count_text
from tfaudit.charts.style import distinct_names
from tfaudit.outlets.columns import column
from tfaudit.outlets.exemplar_cards import cards
from tfaudit.outlets.pair_headlines import accuracy_sentence, classes_sentence, predictions_sentence
from tfaudit.outlets.phrases import retraining

PAGE_SIZE = 12  # images on one page of the gallery

REFERENCE = "reference"
"""Parameter of the URL: what a variant is compared with, by default the baseline."""

SIDES = {"before": "from", "after": "to"}
"""Parameters of the URL that filter by the prediction before and after, by column of a frame of flips."""

FLIPS = ("example", "kind", "label", "before", "after", "probability_before", "probability_after")


@dataclasses.dataclass(frozen=True)
class Side:
    """A variant of a study, of which one member is compared."""

    study_audit: StudyAudit
    key: str
    title: str


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    show_question(MODEL_PAIR)
    if not has_variants(study_audit):
        return
    key = choose_variant(study_audit)
    title = study_audit.data.titles[key]
    sides = _references(study_audit, key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label = choose_from(
            st.selectbox,
            f"{escape_name(title)}, compared with",
            list(sides),
            REFERENCE,
            next(iter(sides)),
            resets=("before", "flips"),
        )
        reference = sides[label]
        before = _choose_member(reference, "before")
        after = _choose_member(Side(study_audit, key, title), "after")
    pair = _pair(study_audit, key, reference, before, after)
    name = f"pair-{label}-{before}-{after}-{key}"
    if reference.key != BASELINE:
        for doubt in pair.doubts:
            show_alert(str(doubt))
    sentences = (accuracy_sentence, predictions_sentence, classes_sentence)
    st.markdown("\n\n".join(escape(sentence(pair)) for sentence in sentences))
    _metrics(pair)
    if reference.key == BASELINE:
        _retrained_twin(study_audit)
    _classes(pair, name)
    st.header("Examples whose prediction flips")
    _flips(study_audit, pair, name)
    show_notes(pair.notes)


def _references(study_audit: StudyAudit, key: str) -> dict[str, Side]:
    """Return what a variant can be compared with, by label: the others of its study and those of other studies."""
    labels = variant_labels(study_audit)
    sides = {
        label: Side(study_audit, other, study_audit.data.titles[other])
        for other, label in labels.items()
        if other != key
    }
    for study, other_audit in other_studies(study_audit).items():
        for other, label in variant_labels(other_audit).items():
            sides[f"{study}: {label}"] = Side(other_audit, other, f"{study}: {label}")
    return sides


def _choose_member(side: Side, name: str) -> int:
    """Return the chosen member of a variant; a single member needs no control."""
    members = side.study_audit.data.members[side.key]
    if len(members) == 1:
        return single_choice(name, members[0])
    label = f"Member of {escape_name(side.title)}"
    return choose_from(st.selectbox, label, members, name, members[0], resets=("flips",))


def _pair(
    study_audit: StudyAudit, key: str, reference: Side, before: int, after: int
) -> PairComparison:
    data = study_audit.data
    if reference == Side(study_audit, BASELINE, data.titles[BASELINE]) and data.is_single(key):
        return study_audit.model_pair(key)
    parts = data.fingerprint, reference.study_audit.data.fingerprint, key, reference.key
    return _computed((*parts, before, after), study_audit, reference)


@st.cache_resource(max_entries=8, show_spinner=False)
def _computed(named: tuple[Any, ...], _study_audit: StudyAudit, _reference: Side) -> PairComparison:
    *_, key, other, before, after = named
    models = (
        data.store.predictions(variant, data.split, members=[member])
        for data, variant, member in (
            (_reference.study_audit.data, other, before),
            (_study_audit.data, key, after),
        )
    )
    return compare(*models, alpha=_study_audit.data.alpha)


def _classes(pair: PairComparison, name: str) -> None:
    st.header("Classes")
    text = (
        "A line per class: red, the share of its examples that are newly wrong; blue, newly correct; the dot is the "
        "change of recall with its confidence interval. A click on a class filters the examples below."
    )
    classes = MODEL_PAIR.table.rows(pair).assign(name=distinct_names(pair.frame()["class"]))
    now = st.query_params.get("class")

    def filter_images(row: Mapping[str, Any]) -> None:
        label = class_label(pair.class_names, row["name"])
        set_choices(**{"class": label, "flips": None})

    show_chart(pair.chart(), name, text, click=filter_images, fields=["name"], now=now)
    columns = MODEL_PAIR.table.columns
    show_table(classes, name, columns, table="pairs", click=filter_images, now=now)


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
        NEWLY_WRONG: "negative_flips",
        NEWLY_CORRECT: "positive_flips",
        OTHER_WRONG: "wrong_to_other_wrong",
    }
    shares = {
        "same prediction": "agreement",
        "right stays right": "btc",
        "wrong stays wrong": "bec",
    }
    metrics = [
        *((label, count_text(summary[name]), name) for label, name in counts.items()),
        *((label, _percent(summary[name]), name) for label, name in shares.items()),
    ]
    with st.container(key="metrics"):
        after = _percent(summary["accuracy_after"])
        points = f"{summary['change_pp']:+.2f} points"
        st.metric("top-1 after", after, points, border=True, help=escape(change), height="stretch")
        for label, value, name in metrics:
            meaning = column(name).help
            st.metric(label, value, border=True, help=meaning, height="stretch")


def _retrained_twin(study_audit: StudyAudit) -> None:
    """Say how many predictions training again changes, the noise floor of those that compression changes."""
    changed = study_audit.variant(BASELINE).changed
    st.caption(retraining(changed, len(study_audit.counts(BASELINE).labels)))


def _flips(study_audit: StudyAudit, pair: PairComparison, name: str) -> None:
    flips = pair.flips_frame()
    if flips.empty:
        st.caption("Both models predict the same class for every example.")
        return
    _matrix(flips, name)
    kinds = {"all": "", **{title: kind for kind, title in KINDS.items()}}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = choose_option("Kind", kinds, "kind", resets=("flips",))
        chosen = choose_class(pair.class_names)
        sides = {side: _choose_prediction(flips, side, key) for side, key in SIDES.items()}
    if kind:
        flips = flips[flips["kind"] == kind]
    if chosen is not None:
        flips = flips[study_audit.counts(BASELINE).labels[flips["index"]] == chosen]
    for side, prediction in sides.items():
        flips = flips if prediction is None else flips[flips[side] == prediction]
    # First those where both models are surest.
    if {"probability_before", "probability_after"} <= set(flips):
        both = flips["probability_before"] * flips["probability_after"]
        flips = flips.loc[both.sort_values(ascending=False, kind="stable").index]
    st.caption(f"{len(flips):,} of {pair.overall.examples:,} examples")
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
            flips.assign(kind=flips["kind"].map(KINDS)),
            f"{name}-flips",
            FLIPS,
            click=lambda row: open_image(row["index"]),
            now=(kind, chosen, *sides.values()),
        )


def _matrix(flips: pd.DataFrame, name: str) -> None:
    """Draw which predictions become which; a click on a cell shows its images below."""
    text = (
        "A cell per prediction before, by row, and after, by column: the number of examples between the two. Red cells "
        "are mostly newly wrong, blue ones newly correct, grey ones wrong in another way. A click on a cell filters "
        "the examples below."
    )
    now = tuple(st.query_params.get(key) for key in SIDES.values())

    def filter_images(cell: Mapping[str, Any]) -> None:
        chosen = {key: cell[side] for side, key in SIDES.items()}
        set_choices(**chosen, **dict.fromkeys(("class", "kind", "flips")))

    chart = flips_chart(flips)
    fields = [*SIDES]
    show_chart(chart, f"matrix-{name}", text, click=filter_images, fields=fields, now=now)


def _choose_prediction(flips: pd.DataFrame, side: str, key: str) -> str | None:
    """Return the prediction of one side that the images must have; None for any."""
    label = f"Prediction {side}"
    options = sorted(flips[side].unique())
    settings = {"placeholder": "Any", "width": 190, "resets": ("flips",)}
    return choose_from(st.selectbox, label, options, key, None, **settings)
