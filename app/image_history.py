"""One image over all levels: what it is, and what every population says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from tfaudit.analysis.stored_images import data_uri, is_tiny
from tfaudit.app.cards import picture
from tfaudit.app.showing import show_chart, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.charts.votes import votes_chart

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["chosen_image", "forget_image", "show_image"]

VOTES = {
    "title": st.column_config.TextColumn("variant", pinned=True),
    "name": st.column_config.TextColumn("answer"),
    "votes": st.column_config.NumberColumn(),
    "share": st.column_config.NumberColumn(format="percent"),
}


def chosen_image(examples: int) -> int | None:
    """Position of the image that the URL names; None where it names none, or one that is not there, which is said."""
    given = st.query_params.get("image")
    if given is None:
        return None
    if given.isdecimal() and int(given) < examples:
        return int(given)
    st.warning(f"image: {plain(given)}, allowed are 0 to {examples - 1}")
    return None


def forget_image() -> None:
    """The URL names no image any more."""
    st.query_params.pop("image", None)


@st.dialog("One image at every level", width="medium", position="right", on_dismiss=forget_image)
def show_image(study_audit: StudyAudit, position: int) -> None:
    """Draws the image, large, beside its class, groups and the votes of every variant.

    Args:
        study_audit: of the study.
        position: of the image.
    """
    tallies = {key: study_audit.counts(key) for key in study_audit.data.titles}
    baseline = tallies[study_audit.summary.baseline]
    classes = labels(baseline.class_names)
    truth = classes[baseline.labels[position]]
    examples = study_audit.data.store.examples(study_audit.data.split, images=False, groups=False)
    example = str(examples["example"].iloc[position])
    (image,) = study_audit.data.store.images(study_audit.data.split, [position])
    with st.container(width=320):
        st.html(picture(data_uri(image), truth, example, tiny=is_tiny(image)))
    st.markdown(f"**{plain(example)}**, of class **{plain(truth)}**")
    facts = [f"{name}: {value}" for name, value in study_audit.data.groups.iloc[position].items()]
    if facts:
        st.caption(prose(", ".join(facts)))
    named = dict(zip(study_audit.data.titles, labels(list(study_audit.data.titles.values())), strict=True))
    votes = pd.concat(each.image(position).assign(title=named[key]) for key, each in tallies.items())
    votes["name"] = [classes[answer] for answer in votes["answer"]]
    show_chart(votes_chart(votes, truth), f"votes-{position}", "Share of the votes for each answer at every level.")
    show_table(votes, f"votes-{position}", VOTES)
