"""The images whose modal label changes with compression: a gallery, their difficulty, and the number by chance."""

import functools

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import choose_class, choose_option, choose_variant, draw_tabs, has_variants
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.exemplar_cards import show_cards
from tfaudit.app.image_votes import chosen_image, show_image
from tfaudit.app.markdown import escape, unique_labels
from tfaudit.audit.exemplars import Exemplars
from tfaudit.charts.exemplars import difficulty_bars, pie_count_chart
from tfaudit.errors import InputError
from tfaudit.ratings.answers import open_answers
from tfaudit.report.exemplar_cards import by_decisiveness, cards

PAGE_SIZE = 24  # images on one page of the gallery

VOTES = ("baseline_share", "compressed_share", "decisiveness", "baseline_entropy", "compressed_entropy")
PIES = ("example", "label", "baseline_mode", "compressed_mode", *VOTES)
DIFFICULTY = ("population", "group", "k", "examples", "accuracy", "low", "high")
RIGHT = ("baseline_mode_right", "compressed_mode_right")
COUNTS = ("title", "pies", "share", *RIGHT, "verdict", "expected", "low", "high", "p")


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    if not has_variants(study_audit):
        return
    variant = choose_variant(study_audit)
    single = study_audit.data.is_single(variant)
    label = "prediction" if single else "modal label, the class that most members predict,"
    st.markdown(f"Exemplars (PIEs) are the images whose {label} changes with compression.")
    exemplars = study_audit.exemplars(variant)
    views = {"Gallery": _gallery, "Difficulty": _difficulty, "Levels": _levels}
    tabs = {name: functools.partial(draw, study_audit, variant, exemplars) for name, draw in views.items()}
    draw_tabs(tabs, "exemplars")
    position = chosen_image(len(exemplars.labels))
    if position is not None:
        show_image(study_audit, position)


def _gallery(study_audit: StudyAudit, variant: str, exemplars: Exemplars) -> None:
    pies = by_decisiveness(exemplars.pies[_filter(study_audit, exemplars)])
    total = len(exemplars.index)
    st.markdown(f"{len(pies):,} of the {total:,} PIEs among {len(exemplars.labels):,} images, the most decisive first.")
    if pies.empty:
        st.info("No PIE matches these filters." if total else "This variant has no PIEs.")
        return
    pages = -(-len(pies) // PAGE_SIZE)
    # Another variant or filter begins at the first page; a link to a page keeps it.
    shown_before = [variant, *pies["index"].tolist()]
    if st.session_state.get("gallery", shown_before) != shown_before:
        st.session_state["page"] = 1
    st.session_state["gallery"] = shown_before
    above, below = st.container(), st.container(horizontal_alignment="center")
    with below:
        number = st.pagination(pages, key="page", bind="query-params") if pages > 1 else 1
    shown = pies.iloc[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    positions = shown["index"].tolist()
    members = len(study_audit.counts(BASELINE).members), len(study_audit.counts(variant).members)
    with above:
        images = study_audit.data.store.images(study_audit.data.split, positions)
        chosen = show_cards(cards(shown, images), members, positions)
    if chosen is not None:
        st.query_params["image"] = str(chosen)
    with st.expander("As a table"):
        show_table(pies, f"exemplars-{variant}", PIES)


def _filter(study_audit: StudyAudit, exemplars: Exemplars) -> pd.Series:
    """Draw the filters and return a mask of the PIEs that match."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label = choose_class(exemplars.class_names)
        right = choose_option("Baseline's mode", ("all", "right", "wrong"), "baseline")
        mask = _filter_attribute(study_audit, exemplars)
    if label is not None:
        mask &= exemplars.labels[exemplars.index] == label
    if right != "all":
        mask &= (exemplars.baseline_mode == exemplars.labels)[exemplars.index] == (right == "right")
    return mask


def _filter_attribute(study_audit: StudyAudit, exemplars: Exemplars) -> pd.Series:
    """Return a mask of the PIEs in the chosen group of the data, or with the attribute that raters have seen."""
    data = study_audit.data
    groups = data.groups[data.group_columns].iloc[exemplars.index].reset_index(drop=True)
    masks = {
        f"{column}: {value}": groups[column] == value for column in groups for value in groups[column].dropna().unique()
    }
    examples = exemplars.pies["example"].astype(str)
    try:
        answers = open_answers(data.store.directory, read_only=data.store.read_only)
        seen = answers.labels(data.split, data.fingerprints.examples)
        masks |= {f"seen: {name}": examples.isin(rows["example"]) for name, rows in seen.groupby("label")}
    except InputError as error:  # the gallery works without answers
        st.warning(escape(str(error)))
    chosen = None
    names = dict(zip(unique_labels(sorted(masks)), sorted(masks), strict=True))
    if names:
        text = "A group in the data, or an attribute that human raters have seen."
        chosen = st.selectbox(
            "Attribute", list(names), index=None, placeholder="Any", key="attribute", bind="query-params", help=text
        )
    return pd.Series(True, index=exemplars.pies.index) if chosen is None else masks[names[chosen]].copy()


def _difficulty(study_audit: StudyAudit, variant: str, exemplars: Exemplars) -> None:
    st.markdown("Mean accuracy on the PIEs, on the other images and on all images, with intervals over the members.")
    text = "Accuracy of baseline and compressed members on PIEs, on the other images and on all images."
    show_chart(difficulty_bars(exemplars.difficulty), f"difficulty-{variant}", text)
    show_table(exemplars.difficulty, f"difficulty-{variant}", DIFFICULTY, table="difficulty")


def _levels(study_audit: StudyAudit, variant: str, exemplars: Exemplars) -> None:
    st.markdown(
        "Two populations differ by chance, too: the band shows the number of PIEs after reassigning members at random."
    )
    summary, titles = study_audit.summary, study_audit.data.titles
    by_chance = {key: chance.frame().iloc[0].drop("count").to_dict() for key, chance in summary.chances.items()}
    rows = [
        {"title": titles[key], **result.summary(), **by_chance.get(key, {})}
        for key, result in summary.exemplars.items()
    ]
    counts = pd.DataFrame(rows).reindex(columns=list(COUNTS))
    chart = pie_count_chart(counts.assign(title=unique_labels(list(counts["title"]))))
    text = "Number of PIEs of every variant, with the central 95 % expected by chance."
    show_chart(chart, "exemplars-by-level", text)
    show_table(counts, "exemplars-by-level", COUNTS, table="chance")
    show_notes(tuple(dict.fromkeys(note for chance in summary.chances.values() for note in chance.notes)))
