"""One rater, one image, one question at a time: what a rater of the human study sees.

Six questions with three answers each would need eighteen keys; one question at a time needs three, and hands and eyes
stay where they are. An answer is kept before the next question shows.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import streamlit as st
from PIL import Image

from tfaudit.analysis.stored_images import data_uri
from tfaudit.app.text import plain, prose
from tfaudit.audit.survey.questions import CATEGORIES, QUESTIONS
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.ratings.answers import Answers, ImageAnswers

__all__ = ["rate"]

CHOICES = (("Yes", "Y", 1), ("No", "N", 0), ("Cannot say", "U", None))
"""What a button says, its key, and the answer that is kept."""

TINY = 96
"""Pixels of width below which the pixels of an image stay crisp when it is enlarged."""

_BOX = "width:100%;max-height:min(60vh,32rem,62vw);"  # on a telephone the buttons are in sight, too


@st.fragment
def rate(study_audit: StudyAudit, answers: Answers, study: int, rater: str) -> None:
    """Shows the first question that the rater has not answered, or an earlier one to look at again.

    Args:
        study_audit: of the study whose images are shown.
        answers: where they are kept.
        study: number of the human study.
        rater: a name.
    """
    for its_answers, said in st.session_state.pop("said", []):
        try:
            its_answers.record(*said)
        except InputError as problem:
            st.error(prose(str(problem)))  # and the question shows again
    try:
        study_audit.data.require_same_examples()  # they may be replaced while the rater thinks
        _show(study_audit, answers, study, rater)
    except InputError as problem:
        st.error(prose(str(problem)))


def _show(study_audit: StudyAudit, answers: Answers, study: int, rater: str) -> None:
    st.session_state["rating"] = str(study_audit.data.store.directory), answers
    sheet, first = answers.sheet(study), answers.next_place(study, rater)
    last = len(sheet) * len(QUESTIONS)
    step = front = last if first is None else first * len(QUESTIONS) + _open(answers, study, rater, sheet, first)
    if (back := st.session_state.get(_back(study, rater))) is not None:
        step = min(back, front)
    st.session_state["asked"] = study, rater, step
    place = step // len(QUESTIONS)
    share = (len(sheet) if first is None else first) / len(sheet)
    st.progress(share, f"Image {min(place + 1, len(sheet))} of {len(sheet)}")
    if step == last:
        st.success(f"All {len(sheet)} images are answered. Thank you!", icon=":material/check:")
    else:
        image = sheet.iloc[place]
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _picture(study_audit, int(image["position"]))
        with right:
            st.markdown("  \n".join(f"Label {i}: **{plain(image[f'label_{i}'])}**" for i in (1, 2, 3)))
            given = answers.of_image(study, rater, image["example"])
            _question((study, rater, image["example"]), given, step)
            _categories((study, rater, image["example"]), given, place)
    _moves(study, rater, step, front)
    _others(answers, study, rater)
    if place + 1 < len(sheet):
        _image(study_audit, int(sheet["position"].iloc[place + 1]))  # at hand when the rater comes to it


def _open(answers: Answers, study: int, rater: str, sheet: pd.DataFrame, place: int) -> int:
    """Which question of an image lacks an answer."""
    given = answers.of_image(study, rater, sheet["example"].iloc[place]).answers
    return next(i for i, question in enumerate(QUESTIONS) if question.key not in given)


def _question(image: tuple[int, str, str], given: ImageAnswers, step: int) -> None:
    number = step % len(QUESTIONS)
    question = QUESTIONS[number]
    text = st.container()  # filled after the buttons: as soon as a question can be read, its keys answer it
    with st.container(horizontal=True, gap="small"):
        for words, shortcut, value in CHOICES:
            chosen = question.key in given.answers and given.answers[question.key] == value
            st.button(
                words,
                key=f"{words} {step}",
                type="primary" if chosen else "secondary",
                shortcut=shortcut,
                width="stretch",
                on_click=_answer,
                args=(image, question.key, value, step),
            )
    with text:
        st.caption(f"Question {number + 1} of {len(QUESTIONS)}")
        st.markdown(prose(question.text))


def _answer(image: tuple[int, str, str], question: str, value: int | None, step: int) -> None:
    if (*image[:2], step) != st.session_state["asked"]:
        return  # while a button gives way to the next one, browsers let one key press both
    _say((*image, {question: value}))
    back = _back(*image[:2])
    if st.session_state.get(back) is not None:
        st.session_state[back] = step + 1


def _moves(study: int, rater: str, step: int, front: int) -> None:
    place = step // len(QUESTIONS)
    targets = [
        ("Back", "Left", step - 1, step > 0),
        ("Forward", "Right", step + 1, step < front),
        ("Previous image", "Shift+Left", (place - 1) * len(QUESTIONS), place > 0),
        ("Where I stopped", "Shift+Right", front, step < front),
    ]
    with st.container(horizontal=True, gap="small"):
        for words, shortcut, target, possible in targets:
            st.button(
                words,
                key=f"{words} {step}",
                type="tertiary",
                shortcut=shortcut,
                disabled=not possible,
                on_click=_go,
                args=(study, rater, step, None if target == front else target),
            )


def _go(study: int, rater: str, step: int, target: int | None) -> None:
    if (study, rater, step) == st.session_state["asked"]:
        st.session_state[_back(study, rater)] = target


def _categories(image: tuple[int, str, str], given: ImageAnswers, place: int) -> None:
    key = f"categories {_where()} {image[0]} {image[1]} {place}"
    meanings = "\n".join(f"- **{name}**: {prose(meaning)}" for name, meaning in CATEGORIES.items())
    st.pills(
        "Categories, if any",
        list(CATEGORIES),
        selection_mode="multi",
        default=list(given.categories),
        key=key,
        help=meanings,
        wrap=True,
        on_change=_choose,
        args=(image, key),
    )


def _choose(image: tuple[int, str, str], key: str) -> None:
    _say((*image, {}, list(st.session_state[key])))


def _say(said: tuple[object, ...]) -> None:
    """Keeps it for the run that follows: what goes wrong in a callback could not be told on the page."""
    st.session_state.setdefault("said", []).append((st.session_state["rating"][1], said))


def _back(study: int, rater: str) -> str:
    return f"looks back at {_where()} {study} {rater}"


def _where() -> str:
    """The directory of the study whose images are rated: another one's human studies have the same numbers."""
    return st.session_state["rating"][0]


def _picture(study_audit: StudyAudit, position: int) -> None:
    png = _image(study_audit, position)
    if not png:
        st.html(
            f'<div role="img" aria-label="No image stored" style="{_BOX}aspect-ratio:4/3;display:grid;'
            'place-items:center;border:1px dashed currentColor;border-radius:.5rem;opacity:.6">no image stored</div>'
        )
        return
    with Image.open(io.BytesIO(png)) as opened:
        crisp = "image-rendering:pixelated;" if opened.width < TINY else ""
    st.html(f'<img src="{data_uri(png)}" alt="The image to judge" style="{_BOX}object-fit:contain;{crisp}">')


def _image(study_audit: StudyAudit, position: int) -> bytes:
    return _read(
        study_audit,
        str(study_audit.data.store.directory),
        study_audit.data.split,
        study_audit.data.fingerprint,
        position,
    )


@st.cache_data(max_entries=200, show_spinner=False)  # six questions show one image
def _read(_study_audit: StudyAudit, directory: str, split: str, fingerprint: str, position: int) -> bytes:
    return _study_audit.data.store.images(split, [position])[0]


def _others(answers: Answers, study: int, rater: str) -> None:
    progress = answers.progress(study)
    others = progress[progress["rater"].str.casefold() != rater.casefold()]
    if len(others):
        done = ", ".join(f"{plain(name)} {count:,}" for name, count in others[["rater", "complete"]].to_numpy())
        st.caption(f"Images that others have answered: {done}")
