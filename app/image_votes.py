"""One image in every variant: its class, its groups, and the votes of every population."""

import pandas as pd
import streamlit as st

from tfaudit.analysis.stored_images import preview_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import variant_labels
from tfaudit.app.display import show_chart, show_table
from tfaudit.app.exemplar_cards import STYLE, preview_html
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.charts.predictions import votes_chart
from tfaudit.errors import InputError


def chosen_image(examples: int) -> int | None:
    """Return the position of the image that the URL names; None without one, or with a warning a wrong one."""
    text = st.query_params.get("image")
    if text is None:
        return None
    if text.isdecimal() and int(text) < examples:
        return int(text)
    st.warning(escape(str(InputError("image", repr(text), f"0 to {examples - 1}"))))
    return None


def _forget_image() -> None:
    st.query_params.pop("image", None)


@st.dialog("One image in every variant", width="medium", position="right", on_dismiss=_forget_image)
def show_image(study_audit: StudyAudit, position: int) -> None:
    """Draw the image, enlarged, with its class, groups and the votes of every variant."""
    tallies = {key: study_audit.counts(key) for key in study_audit.data.titles}
    classes = unique_labels(tallies[BASELINE].class_names)
    label = classes[tallies[BASELINE].labels[position]]
    data = study_audit.data
    example = str(data.store.examples(data.split, images=False, groups=False)["example"].iloc[position])
    (image,) = data.store.images(data.split, [position])
    with st.container(width=320):
        st.html(STYLE + preview_html(preview_of(image), label, example))
    st.markdown(f"**{escape_name(example)}**, of class **{escape_name(label)}**")
    groups = [f"{name}: {value}" for name, value in data.groups.iloc[position].items()]
    if groups:
        st.caption(escape(", ".join(groups)))
    titles = variant_labels(study_audit)
    votes = pd.concat(tally.image(position).assign(title=titles[key]) for key, tally in tallies.items())
    votes["name"] = [classes[prediction] for prediction in votes["answer"]]
    show_chart(votes_chart(votes, label), f"votes-{position}", "Share of the votes for each class in every variant.")
    show_table(votes, f"votes-{position}", ("title", "name", "votes", "share"), table="votes")
