"""The form of the human study: one image and one question at a time.

Six questions of three answers at once would need eighteen shortcuts; one question needs three, and hands and eyes stay
where they are. The question about all three labels comes last, and labels 2 and 3 with it: they differ for PIEs alone.
"""

import dataclasses
from importlib.resources import files

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


@dataclasses.dataclass(frozen=True)
class Rating:
    """One rater's part in one human study."""

    study_audit: StudyAudit
    answers: Answers
    study: int
    rater: str

    @property
    def key(self) -> str:
        """Name of this part in the session: human studies of another directory have equal numbers."""
        return f"{self.study_audit.data.store.directory} {self.study} {self.rater}"

    def store(self, example: str, *entry: object) -> None:
        """Leave the arguments of `Answers.record` to the next run: a callback cannot show an error on the page."""
        pending = st.session_state.setdefault("pending", [])
        pending.append((self.answers, (self.study, self.rater, example, *entry)))

    def answer(self, example: str, question: str, value: int | None, step: int) -> None:
        """Leave an answer to the run that follows, which shows the next question."""
        self.store(example, {question: value})
        if self.earlier_step is not None:
            self.go_to(step + 1)

    @property
    def earlier_step(self) -> int | None:
        """The question that the rater went back to; None at the first one without an answer."""
        return st.session_state.get(f"earlier step {self.key}")

    def go_to(self, step: int | None) -> None:
        """Set the question that the rater went back to."""
        st.session_state[f"earlier step {self.key}"] = step

    def asks(self, step: int) -> bool:
        """Return whether the page asks this question: one key can press a button and the one that replaces it."""
        return st.session_state["asked"] == (self.study, self.rater, step)


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
        _show(Rating(study_audit, answers, study, rater))
    except InputError as error:
        st.error(escape(str(error)))


def _show(rating: Rating) -> None:
    sheet = rating.answers.sheet(rating.study)
    first = rating.answers.next_place(rating.study, rating.rater)
    last = len(sheet) * len(ASKED)
    front = last if first is None else first * len(ASKED) + _first_open(rating, sheet, first)
    earlier = rating.earlier_step
    step = front if earlier is None else min(earlier, front)
    st.session_state["asked"] = rating.study, rating.rater, step
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
            _picture(rating.study_audit, int(image["position"]))
        with right:
            labels = range(1, ASKED[step % len(ASKED)].labels + 1)
            st.markdown(
                "  \n".join(f"Label {i}: **{escape_name(image[f'label_{i}'])}**" for i in labels)
            )
            example = image["example"]
            stored = rating.answers.of_image(rating.study, rating.rater, example)
            _question(rating, example, stored, step)
            _categories(rating, example, stored, place)
    _navigation(rating, step, front)
    _other_raters(rating)
    if place + 1 < len(sheet):  # cached when the rater comes to it
        _image(rating.study_audit, int(sheet["position"].iloc[place + 1]))


def _first_open(rating: Rating, sheet: pd.DataFrame, place: int) -> int:
    """Return the position of the first question about an image that lacks an answer."""
    example = sheet["example"].iloc[place]
    stored = rating.answers.of_image(rating.study, rating.rater, example).answers
    return next(i for i, question in enumerate(ASKED) if question.key not in stored)


def _question(rating: Rating, example: str, stored: ImageAnswers, step: int) -> None:
    number = step % len(ASKED)
    question = ASKED[number]
    text = (
        st.container()
    )  # filled last, so that a question that can be read can be answered, by button and by key

    def answer(value: int | None) -> None:
        if rating.asks(step):
            rating.answer(example, question.key, value, step)

    with st.container(horizontal=True, gap="small"):
        for label, shortcut, value in CHOICES:
            chosen = question.key in stored.answers and stored.answers[question.key] == value
            st.button(
                f"{label} :gray-badge[{shortcut}]",
                f"{label} {step}",
                type="primary" if chosen else "secondary",
                width="stretch",
                on_click=answer,
                args=(value,),
            )
    _listen(rating, step)
    with text:
        st.caption(f"Question {number + 1} of {len(ASKED)}")
        st.markdown(escape(question.text))


def _listen(rating: Rating, step: int) -> None:
    """Take keys here, since buttons with shortcuts lose a key that is pressed before the next question is drawn."""
    place = step // len(ASKED)
    data = {
        "study": rating.study,
        "rater": rating.rater,
        "image": f"{rating.key} {place}",
        "step": step,
        "end": (place + 1) * len(ASKED),
        "keys": [shortcut.lower() for _, shortcut, _ in CHOICES],
        "taken": st.session_state.get("taken keys", {}),
    }
    _KEYS(data=data, key="keys", on_typed_change=lambda: _take_keys(rating))


def _take_keys(rating: Rating) -> None:
    """Store the answers of all keys that have not been taken yet."""
    typed = st.session_state["keys"]["typed"]
    *of, asked = st.session_state["asked"]
    taken = st.session_state.setdefault("taken keys", {})
    values = {key.lower(): value for _, key, value in CHOICES}
    sheet = rating.answers.sheet(rating.study)
    for number, step, key in typed["keys"]:
        if number <= taken.get(typed["id"], 0):
            continue
        taken[typed["id"]] = number
        place, question = divmod(step, len(ASKED))
        same_image = place == asked // len(ASKED) and [typed["study"], typed["rater"]] == of
        if same_image and key in values:
            example = sheet["example"].iloc[place]
            rating.answer(example, ASKED[question].key, values[key], step)


def _navigation(rating: Rating, step: int, front: int) -> None:
    place = step // len(ASKED)

    def go(target: int) -> None:
        if rating.asks(step):
            rating.go_to(None if target == front else target)

    targets = [
        ("Back", "Left", step - 1, step > 0),
        ("Forward", "Right", step + 1, step < front),
        ("Previous image", "Shift+Left", (place - 1) * len(ASKED), place > 0),
        ("Where I stopped", "Shift+Right", front, step < front),
    ]
    with st.container(horizontal=True, gap="small"):
        for label, shortcut, target, possible in targets:
            st.button(
                label,
                f"{label} {step}",
                type="tertiary",
                shortcut=shortcut,
                disabled=not possible,
                on_click=go,
                args=(target,),
            )


def _categories(rating: Rating, example: str, stored: ImageAnswers, place: int) -> None:
    key = f"categories {rating.key} {place}"
    meanings = "\n".join(f"- **{name}**: {escape(meaning)}" for name, meaning in CATEGORIES.items())
    st.pills(
        "Categories, if any",
        list(CATEGORIES),
        key=key,
        selection_mode="multi",
        default=list(stored.categories),
        help=meanings,
        wrap=True,
        on_change=lambda: rating.store(example, {}, list(st.session_state[key])),
    )


def _picture(study_audit: StudyAudit, position: int) -> None:
    preview = preview_of(_image(study_audit, position))
    if preview.text:
        shown = '<p style="{}overflow:auto;white-space:pre-line;font-size:1.1rem">{}</p>'
        st.html(Markup(shown).format(_BOX, preview.text))
    elif preview.source:
        crisp = "image-rendering:pixelated;" if preview.tiny else ""
        st.html(
            f'<img src="{preview.source}" alt="The image to rate" style="{_BOX}object-fit:contain;{crisp}">'
        )
    else:
        st.html(
            f'<div role="img" aria-label="No image stored" style="{_BOX}aspect-ratio:4/3;display:grid;'
            'place-items:center;border:1px dashed currentColor;border-radius:.5rem;opacity:.6">no image stored</div>'
        )


def _image(study_audit: StudyAudit, position: int) -> bytes:
    data = study_audit.data
    return _read(study_audit, str(data.store.directory), data.split, data.fingerprint, position)


@st.cache_data(max_entries=200, show_spinner=False)  # six questions show one image
def _read(
    _study_audit: StudyAudit, directory: str, split: str, fingerprint: str, position: int
) -> bytes:
    return _study_audit.data.store.images(split, [position])[0]


def _other_raters(rating: Rating) -> None:
    progress = rating.answers.progress(rating.study)
    others = progress[progress["rater"].str.casefold() != rating.rater.casefold()]
    if len(others):
        done = ", ".join(
            f"{escape_name(name)} {count:,}"
            for name, count in others[["rater", "complete"]].to_numpy()
        )
        st.caption(f"Images answered by other raters: {done}")
