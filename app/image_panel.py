"""One image in every variant: votes and probabilities, the images before and after it, and the image when corrupted."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from tfaudit.analysis.stored_images import preview_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import shown_variant, variant_labels
from tfaudit.app.display import go_to, show_chart, show_table
from tfaudit.app.exemplar_cards import STYLE, preview_html
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.app.prediction_charts import votes_chart
from tfaudit.app.url_state import choose, number_reader, option_reader, set_choices, url_choice

VOTES = ("title", "name", "votes", "share", "probability")


def open_image(position: int) -> None:
    """Open the panel of an image; the URL parameter is `image`."""
    set_choices(image=str(position))


def set_neighbours(positions: Sequence[int]) -> None:
    """Set the images that the page shows, in their order: the panel leads from one to the next."""
    st.session_state["neighbours"] = list(positions)


def page_of(rows: pd.DataFrame, size: int, key: str) -> pd.DataFrame:
    """Draw the choice of a page of a gallery, in the URL as `key`, and return its rows; the index numbers the images.

    The panel of an image leads through all rows.
    """
    set_neighbours(rows.index.tolist())
    pages = -(-len(rows) // size)
    read = number_reader(key, 1, pages, int)
    if pages > 1:
        number = choose(lambda _, **settings: st.pagination(pages, **settings), "", key, 1, read)
    else:
        number = url_choice(key, 1, read)
    return rows.iloc[(number - 1) * size : number * size]


def show_chosen_image(study_audit: StudyAudit) -> None:
    """Draw the panel of the image that the URL names."""
    if _position(study_audit) is not None:
        title = "One example in every variant"
        st.dialog(title, width="medium", position="right", on_dismiss=_close)(_panel)(study_audit)


def _position(study_audit: StudyAudit) -> int | None:
    read = number_reader("image", 0, len(study_audit.counts(BASELINE).labels) - 1, int)
    return url_choice("image", None, read)


def _close() -> None:
    set_choices(image=None)


def _panel(study_audit: StudyAudit) -> None:
    """Draw the image, enlarged, with its class, groups and the votes of every variant."""
    position = _position(study_audit)
    data = study_audit.data
    if position is None:
        return
    _neighbours(position)
    baseline = study_audit.counts(BASELINE)
    classes = unique_labels(baseline.class_names)
    label = classes[baseline.labels[position]]
    examples = data.store.examples(data.split, images=False, groups=False)
    example = str(examples["example"].iloc[position])
    (image,) = data.store.images(data.split, [position])
    picture, facts = _places()
    with picture:
        preview = preview_of(image)
        st.html(STYLE + str(preview_html(preview, label, example)))
        if preview.source:
            _offer_zoom()
    with facts:
        st.markdown(f"Example **{escape_name(example)}**, of class **{escape_name(label)}**")
        _scores(study_audit, position, classes)
        groups = [f"{name}: {value}" for name, value in data.groups.iloc[position].items()]
        if groups:
            st.caption(escape(", ".join(groups)))
        if any(condition.is_computed for condition in data.conditions) and st.button(
            "The same image under corruption", icon=":material/foggy:"
        ):
            go_to("corruptions", corruptions="One image", picture=str(position), image=None)
    votes = pd.concat(
        study_audit.counts(key).image(position).assign(title=title)
        for key, title in variant_labels(study_audit).items()
    )
    votes["name"] = [classes[prediction] for prediction in votes["answer"]]
    text = "A bar per variant, divided by the classes that its members predict for it; the true class is blue."
    show_chart(votes_chart(votes, label), f"votes-{position}", text)
    show_table(votes, f"votes-{position}", VOTES, table="votes")


def _is_zoomed() -> bool:
    return url_choice("zoom", False, option_reader("zoom", {"true": True}))


def _places() -> tuple[Any, Any]:
    """Return containers for the picture and for its facts: side by side, or the facts below an enlarged picture."""
    if _is_zoomed():
        return st.container(key="zoom"), st.container()
    left, right = st.columns([2, 3], vertical_alignment="center")
    return left.container(key="zoom"), right


def _offer_zoom() -> None:
    """Draw the button that enlarges the picture or makes it small again; a click on the picture presses it."""
    zoomed = _is_zoomed()
    st.button(
        "Smaller" if zoomed else "Larger",
        key="zoom picture",
        icon=f":material/zoom_{'out' if zoomed else 'in'}:",
        type="tertiary",
        on_click=set_choices,
        kwargs={"zoom": None if zoomed else "true"},
    )


def _scores(study_audit: StudyAudit, position: int, classes: Sequence[str]) -> None:
    """Draw the predictions before and after compression, with the votes and the mean probability of each."""
    if not study_audit.data.compressed_keys:
        return
    key = shown_variant(study_audit)
    sides = {"before": BASELINE, f"after, {study_audit.data.titles[key]}": key}
    for side, shown in sides.items():
        counts = study_audit.counts(shown)
        predictions = [
            f"**{escape_name(classes[row['answer']])}** ({_surely(row, len(counts.members))})"
            for row in counts.image(position).to_dict("records")
        ]
        st.markdown(f"{escape_name(side)}: {', '.join(predictions)}")


def _surely(row: Mapping[Hashable, Any], members: int) -> str:
    """Return how many of several members predict a class, and the mean probability that they give it."""
    votes = [f"{row['votes']:g} of {members}"] if members > 1 else []
    probability = (
        [f"probability {100 * row['probability']:.0f}\u00a0%"] if "probability" in row else []
    )
    return ", ".join([*votes, *probability]) or "predicted"


def _neighbours(position: int) -> None:
    """Draw buttons for the images before and after this one on the page; the arrow keys press them."""
    shown = st.session_state.get("neighbours", [])
    if position not in shown:
        return
    place = shown.index(position)
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, shortcut, other in (
            ("Previous", "Left", place - 1),
            ("Next", "Right", place + 1),
        ):
            possible = 0 <= other < len(shown)
            st.button(
                name,
                key=f"{name} image",
                shortcut=shortcut,
                disabled=not possible,
                on_click=open_image,
                args=(shown[other],) if possible else (),
            )
        st.caption(f"{place + 1:,} of {len(shown):,}", width="content")
