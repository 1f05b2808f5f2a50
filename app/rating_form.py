"""The form of the human study: one image and one question at a time.

Six questions of three answers at once would need eighteen shortcuts; one question needs three, and hands and eyes stay
where they are. The question about all three labels comes last, and labels 2 and 3 with it: they differ for PIEs alone.
"""

from importlib.resources import files
from typing import Any

import pandas as pd
import streamlit as st
from markupsafe import Markup
from streamlit.components.v2 import component

from tfaudit.analysis.stored_images import preview_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.nouns import with_noun
from tfaudit.audits.survey.questions import CATEGORIES, QUESTIONS
from tfaudit.errors import InputError
from tfaudit.store.ratings.answers import Answers, ImageAnswers

CHOICES = (("Yes", "Y", 1), ("No", "N", 0), ("Cannot say", "U", None))
"""Label of a button, its shortcut, and the answer that is stored."""

ASKED = tuple(sorted(QUESTIONS, key=lambda question: question.labels))
"""The questions in the order in which they are asked."""

_KEYS = component(
    "tfaudit.rating_keys", js=files("tfaudit.app").joinpath("rating_keys.js").read_text()
)

_BOX = "width:100%;max-height:min(60vh,32rem,62vw);"  # leaves the buttons in sight on a telephone


@st.fragment
def rate(study_audit: StudyAudit, answers: Answers, study: int, rater: str) -> None:
    """Draw the first question that the rater has not answered, or an earlier one that they went back to."""
    for its_answers, entry in st.session_state.pop("pending", []):
        try:
            its_answers.record(*entry)
        except InputError as error:
            st.error(escape(str(error)))  # and the question shows again
    try:
        study_audit.data.require_same_examples()  # they may be replaced while the rater thinks
        _show(study_audit, answers, study, rater)
    except InputError as error:
        st.error(escape(str(error)))


def _show(study_audit: StudyAudit, answers: Answers, study: int, rater: str) -> None:
    st.session_state["rating"] = str(study_audit.data.store.directory), answers
    sheet = answers.sheet(study)
    first = answers.next_place(study, rater)
    last = len(sheet) * len(ASKED)
    step = front = (
        last
        if first is None
        else first * len(ASKED) + _first_open_question(answers, study, rater, sheet, first)
    )
    if (earlier := st.session_state.get(_step_key(study, rater))) is not None:
        step = min(earlier, front)
    st.session_state["asked"] = study, rater, step
    place = step // len(ASKED)
    share = (len(sheet) if first is None else first) / len(sheet)
    st.progress(share, with_noun(f"Image {min(place + 1, len(sheet))} of {len(sheet)}"))
    if step == last:
        st.success(
            with_noun(f"All {len(sheet)} images are answered. Thank you!"), icon=":material/check:"
        )
    else:
        image = sheet.iloc[place]
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _picture(study_audit, int(image["position"]))
        with right:
            labels = range(1, ASKED[step % len(ASKED)].labels + 1)
            st.markdown(
                "  \n".join(f"Label {i}: **{escape_name(image[f'label_{i}'])}**" for i in labels)
            )
            stored = answers.of_image(study, rater, image["example"])
            _question((study, rater, image["example"]), stored, step)
            _categories((study, rater, image["example"]), stored, place)
    _navigation(study, rater, step, front)
    _other_raters(answers, study, rater)
    if place + 1 < len(sheet):
        _image(
            study_audit, int(sheet["position"].iloc[place + 1])
        )  # cached when the rater comes to it


def _first_open_question(
    answers: Answers, study: int, rater: str, sheet: pd.DataFrame, place: int
) -> int:
    """Return the position of the first question about an image that lacks an answer."""
    stored = answers.of_image(study, rater, sheet["example"].iloc[place]).answers
    return next(i for i, question in enumerate(ASKED) if question.key not in stored)


def _question(image: tuple[int, str, str], stored: ImageAnswers, step: int) -> None:
    number = step % len(ASKED)
    question = ASKED[number]
    text = (
        st.container()
    )  # filled last, so that a question that can be read can be answered, by button and by key
    with st.container(horizontal=True, gap="small"):
        for label, shortcut, value in CHOICES:
            chosen = question.key in stored.answers and stored.answers[question.key] == value
            form: Any = {"type": "primary" if chosen else "secondary", "width": "stretch"}
            form |= {"on_click": _answer, "args": (image, question.key, value, step)}
            st.button(f"{label} :gray-badge[{shortcut}]", f"{label} {step}", **form)
    _listen(*image[:2], step)
    with text:
        st.caption(f"Question {number + 1} of {len(ASKED)}")
        st.markdown(escape(question.text))


def _answer(image: tuple[int, str, str], question: str, value: int | None, step: int) -> None:
    if (*image[:2], step) != st.session_state["asked"]:
        return  # browsers let one key press a button and the one that replaces it
    _record(image, question, value, step)


def _record(image: tuple[int, str, str], question: str, value: int | None, step: int) -> None:
    """Leave an answer to the run that follows, which shows the next question."""
    _store((*image, {question: value}))
    key = _step_key(*image[:2])
    if st.session_state.get(key) is not None:
        st.session_state[key] = step + 1


def _listen(study: int, rater: str, step: int) -> None:
    """Take keys: buttons with shortcuts would lose one that is pressed before the page has drawn the next question."""
    place = step // len(ASKED)
    data = {
        "study": study,
        "rater": rater,
        "image": f"{_directory()} {study} {rater} {place}",
        "step": step,
        "end": (place + 1) * len(ASKED),
        "keys": [shortcut.lower() for _, shortcut, _ in CHOICES],
        "taken": st.session_state.get("taken keys", {}),
    }
    _KEYS(data=data, key="keys", on_typed_change=_take_keys)


def _take_keys() -> None:
    """Store the answers of all keys that have not been taken yet."""
    typed = st.session_state["keys"]["typed"]
    study, rater, asked = st.session_state["asked"]
    taken = st.session_state.setdefault("taken keys", {})
    values = {key.lower(): value for _, key, value in CHOICES}
    sheet = st.session_state["rating"][1].sheet(study)
    for number, step, key in typed["keys"]:
        if number <= taken.get(typed["id"], 0):
            continue
        taken[typed["id"]] = number
        place, question = divmod(step, len(ASKED))
        if (typed["study"], typed["rater"], place) == (
            study,
            rater,
            asked // len(ASKED),
        ) and key in values:
            _record(
                (study, rater, sheet["example"].iloc[place]), ASKED[question].key, values[key], step
            )


def _navigation(study: int, rater: str, step: int, front: int) -> None:
    place = step // len(ASKED)
    targets = [
        ("Back", "Left", step - 1, step > 0),
        ("Forward", "Right", step + 1, step < front),
        ("Previous image", "Shift+Left", (place - 1) * len(ASKED), place > 0),
        ("Where I stopped", "Shift+Right", front, step < front),
    ]
    with st.container(horizontal=True, gap="small"):
        for label, shortcut, target, possible in targets:
            form: Any = {"type": "tertiary", "shortcut": shortcut, "disabled": not possible}
            stored = None if target == front else target
            st.button(
                label, f"{label} {step}", on_click=_go, args=(study, rater, step, stored), **form
            )


def _go(study: int, rater: str, step: int, target: int | None) -> None:
    if (study, rater, step) == st.session_state["asked"]:
        st.session_state[_step_key(study, rater)] = target


def _categories(image: tuple[int, str, str], stored: ImageAnswers, place: int) -> None:
    key = f"categories {_directory()} {image[0]} {image[1]} {place}"
    meanings = "\n".join(f"- **{name}**: {escape(meaning)}" for name, meaning in CATEGORIES.items())
    form: Any = {
        "selection_mode": "multi",
        "default": list(stored.categories),
        "help": meanings,
        "wrap": True,
    }
    change: Any = {"on_change": _choose_categories, "args": (image, key)}
    st.pills("Categories, if any", list(CATEGORIES), key=key, **form, **change)


def _choose_categories(image: tuple[int, str, str], key: str) -> None:
    _store((*image, {}, list(st.session_state[key])))


def _store(entry: tuple[object, ...]) -> None:
    """Leave an entry to the run that follows: a callback could not show an error on the page."""
    st.session_state.setdefault("pending", []).append((st.session_state["rating"][1], entry))


def _step_key(study: int, rater: str) -> str:
    return f"earlier step {_directory()} {study} {rater}"


def _directory() -> str:
    """Return the directory of the study whose images are rated: human studies of another one have equal numbers."""
    return st.session_state["rating"][0]


def _picture(study_audit: StudyAudit, position: int) -> None:
    preview = preview_of(_image(study_audit, position))
    if preview.text:
        st.html(
            Markup(
                '<p style="{}overflow:auto;white-space:pre-line;font-size:1.1rem">{}</p>'
            ).format(_BOX, preview.text)
        )
        return
    if not preview.source:
        st.html(
            f'<div role="img" aria-label="No image stored" style="{_BOX}aspect-ratio:4/3;display:grid;'
            'place-items:center;border:1px dashed currentColor;border-radius:.5rem;opacity:.6">no image stored</div>'
        )
        return
    crisp = "image-rendering:pixelated;" if preview.tiny else ""
    st.html(
        f'<img src="{preview.source}" alt="The image to rate" style="{_BOX}object-fit:contain;{crisp}">'
    )


def _image(study_audit: StudyAudit, position: int) -> bytes:
    data = study_audit.data
    return _read(study_audit, str(data.store.directory), data.split, data.fingerprint, position)


@st.cache_data(max_entries=200, show_spinner=False)  # six questions show one image
def _read(
    _study_audit: StudyAudit, directory: str, split: str, fingerprint: str, position: int
) -> bytes:
    return _study_audit.data.store.images(split, [position])[0]


def _other_raters(answers: Answers, study: int, rater: str) -> None:
    progress = answers.progress(study)
    others = progress[progress["rater"].str.casefold() != rater.casefold()]
    if len(others):
        done = ", ".join(
            f"{escape_name(name)} {count:,}"
            for name, count in others[["rater", "complete"]].to_numpy()
        )
        st.caption(f"Images answered by other raters: {done}")
