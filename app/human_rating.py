"""The human study, [F] 3.2 and appendix C: blinded raters judge exemplars and other images."""

import dataclasses
from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import pandas as pd
import streamlit as st

from tfaudit.analysis.stored_images import has_images
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.controls import choose_option, variant_labels
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.app.nouns import with_noun
from tfaudit.app.rating_form import rate
from tfaudit.app.url_state import choose_from, set_choices
from tfaudit.audits.survey.declaration import SURVEY
from tfaudit.audits.survey.sample import SurveySample, survey_sample
from tfaudit.audits.survey.survey import survey
from tfaudit.errors import InputError
from tfaudit.store.ratings.answers import Answers, open_answers
from tfaudit.store.ratings.names import folded_name, rater_name

Facts: TypeAlias = dict[Hashable, Any]  # a row of `Answers.studies`

SIZES = (100, 50, 20, 10, 8, 6, 4, 2)
"""Default numbers of images: the largest that a variant allows. An exact number would reveal its number of PIEs."""

NOT_BLIND = (
    "The labels that the models predict before and after compression differ for PIEs only, and would give them away: "
    "they are shown with the last question alone, so its answers are not blind."
)

READ_ONLY = ("study", "images", "raters")
PROGRESS = ("rater", "complete", "images", "last")


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    store = study_audit.data.store
    answers = open_answers(store.directory, read_only=store.read_only)
    study_audit.data.require_same_examples()
    examples = study_audit.data.split, study_audit.data.fingerprints.examples
    rows = answers.studies(*examples).iloc[::-1].to_dict("records")
    studies = {int(row["study"]): dict(row) for row in rows}
    if store.read_only:
        st.info(
            "This viewer is read-only: nobody rates here, and no human study is begun or unblinded."
        )
        show_table(pd.DataFrame(rows, columns=list(READ_ONLY)), "human-studies", READ_ONLY)
        return
    table = study_audit.summary.table
    variants = table[(table["pies"] > 0) & (table["pies"] < len(study_audit.data.groups))][
        "variant"
    ].tolist()
    if not has_images(store, study_audit.data.split):
        st.info("This study stores no images, so there is nothing to rate.")
        return
    if studies:
        _study(study_audit, answers, studies)
    elif variants:
        text = (
            "What do people see in the images that compression changes? Raters judge a shuffled sample, half of which "
            "are such images (PIEs), without knowing which. Their answers are stored in the directory of the study. "
            f"{NOT_BLIND}"
        )
        st.markdown(with_noun(text))
    else:
        none = "No variant has both PIEs and other images: there is nothing to compare, and nothing to rate."
        st.info(with_noun(none))
    if others := answers.num_outdated(*examples):
        st.caption(
            f"Human studies of images that have since been replaced, stored but not shown: {others}."
        )
    if variants:
        with st.expander(
            "Begin another study" if studies else "Begin a study", expanded=not studies
        ):
            _begin(study_audit, answers, variants)


def _study(study_audit: StudyAudit, answers: Answers, studies: Mapping[int, Facts]) -> None:
    """Draw the chosen human study: the rating form, or progress and analysis."""
    if "begun" in st.session_state:
        set_choices(series=str(st.session_state.pop("begun")))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _choose_study(study_audit, studies)
        draw = choose_option("Part", {"Rate": _rate, "Progress and analysis": _progress}, "part")
    draw(study_audit, answers, chosen, studies[chosen])


def _choose_study(study_audit: StudyAudit, studies: Mapping[int, Facts]) -> int:
    def label(study: int) -> str:
        facts = studies[study]
        (title,) = unique_labels([study_audit.data.titles.get(facts["variant"], facts["variant"])])
        return f"{study}: {title}, {facts['images']} images, seed {facts['seed']}"

    options = list(studies)
    return choose_from(
        st.selectbox, "Study", options, "series", options[0], format_func=label, width=420
    )


def _begin(study_audit: StudyAudit, answers: Answers, variants: list[str]) -> None:
    labels = variant_labels(study_audit)
    variant = st.selectbox(
        "Variant", variants, format_func=labels.__getitem__, key="variant of sample", width=420
    )
    (pies,) = study_audit.summary.table.query("variant == @variant")["pies"].astype(int)
    most = 2 * min(pies, len(study_audit.data.groups) - pies)
    with st.form("begin", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        text = "An even number, at most twice the variant's number of PIEs, which stays hidden. Half are PIEs."
        value = next(size for size in SIZES if size <= most)
        key = f"images of {variant}"
        images = st.number_input(
            with_noun("Images"), min_value=2, step=2, value=value, key=key, help=text
        )
        seed = st.number_input(
            "Seed",
            min_value=0,
            step=1,
            value=0,
            key="seed of sample",
            help="Seed of the random sample",
        )
        _submit("Begin")
    if not st.session_state.pop("Begin pressed", False):
        return
    if images % 2 or images > most:
        raise InputError("images", str(images), "an even number up to twice the variant's PIEs")
    split = study_audit.data.split
    checksum = study_audit.data.fingerprints.examples
    ids = study_audit.data.store.examples(split, images=False, groups=False)["example"].tolist()
    sample = _sample(study_audit, variant, images, seed)
    st.session_state["begun"] = answers.begin(
        sample, variant=variant, split=split, seed=seed, examples=checksum, example_ids=ids
    )
    st.rerun()


def _sample(study_audit: StudyAudit, variant: str, images: int, seed: int) -> SurveySample:
    exemplars = study_audit.exemplars(variant)
    names = tuple(
        unique_labels(exemplars.class_names)
    )  # two classes of one name would look like one
    return survey_sample(dataclasses.replace(exemplars, class_names=names), images, seed=seed)


def _rate(study_audit: StudyAudit, answers: Answers, study: int, _: Facts) -> None:
    text = st.query_params.get("rater") or st.session_state.get("rater", "")
    try:
        rater = rater_name(text) if text else ""
    except InputError as error:
        st.error(escape(str(error)))
        rater = ""
    if not rater:
        _ask_name(answers, study)
        return
    # In the session, too: other pages drop it from the URL.
    st.session_state["rater"] = st.query_params["rater"] = rater
    if (str(study_audit.data.store.directory), study) in st.session_state.get("unblinded", set()):
        st.warning(
            "You have seen the analysis of this study: your answers from now on are not blind."
        )
    rate(study_audit, answers, study, rater)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Rater: {escape_name(rater)}")
        st.button("Not you?", type="tertiary", on_click=_forget_rater)


def _ask_name(answers: Answers, study: int) -> None:
    """Draw a form that disappears once it is filled in: shortcuts of answers must not end in its field.

    A name that is taken is asked about: two raters of one name would overwrite each other's answers.
    """
    with st.form("who rates"):
        name = st.text_input(
            "Your name", max_chars=60, help="Finds your place again. Case does not matter."
        )
        _submit("Start")
    if st.session_state.pop("Start pressed", False):
        st.session_state["name asked about"] = rater_name(name) if name else ""
    if not (rater := st.session_state.get("name asked about", "")):
        return
    if answers.join(study, rater):
        _start(rater)
        st.rerun()
    progress = answers.progress(study)
    complete = progress.loc[
        progress["rater"].map(folded_name) == folded_name(rater), "complete"
    ].sum()
    st.warning(
        f"**{escape_name(rater)}** has answered {complete} images of this study. If that was somebody else, give "
        "another name above, such as one with an initial: two raters of one name would change each other's answers."
    )
    st.button(f"I am {escape_name(rater)}, go on", on_click=_start, args=(rater,))


def _start(rater: str) -> None:
    st.session_state.pop("name asked about", None)
    st.session_state["rater"] = st.query_params["rater"] = rater


def _submit(label: str) -> None:
    """Draw a form's button whose press is stored: a returned one is lost if the page runs again first."""
    pressed = f"{label} pressed", True
    st.form_submit_button(
        label, type="primary", on_click=st.session_state.__setitem__, args=pressed
    )


def _forget_rater() -> None:
    st.session_state.pop("rater", None)
    st.query_params.pop("rater", None)


def _progress(study_audit: StudyAudit, answers: Answers, study: int, facts: Facts) -> None:
    progress = answers.progress(study)
    if progress.empty:
        st.info("Nobody has answered yet.")
        return
    most = int(facts["images"])
    complete = st.column_config.ProgressColumn(
        with_noun("images answered"), format="%d", min_value=0, max_value=most
    )
    show_table(progress, f"progress-{study}", PROGRESS, settings={"complete": complete})
    unblinded = st.session_state.setdefault("unblinded", set())
    place = str(study_audit.data.store.directory), study
    if place not in unblinded:
        st.markdown(
            with_noun(
                "The analysis reveals which images are PIEs. Do not open it if you still want to rate."
            )
        )
        st.button(
            "Unblind and analyse",
            type="primary",
            icon=":material/visibility:",
            on_click=unblinded.add,
            args=(place,),
        )
        return
    _analysis(study_audit, answers, study, facts)


def _analysis(study_audit: StudyAudit, answers: Answers, study: int, facts: Facts) -> None:
    table = answers.answers(study)
    result = survey(table, alpha=study_audit.data.alpha)
    st.header(with_noun("What raters see in images that change (PIEs) and in others"))
    left, right = st.columns(2)
    with left:
        show_chart(
            result.chart(),
            f"human-study-{study}",
            "Share of PIEs and of other images with each attribute.",
        )
    with right:
        show_notes([*_outdated(study_audit, answers, study, facts), NOT_BLIND, *result.notes])
    show_table(result.frame(), f"human-study-{study}", SURVEY.table.columns, table="survey")
    st.header("Answers")
    show_table(table, f"answers-{study}")


def _outdated(study_audit: StudyAudit, answers: Answers, study: int, facts: Facts) -> list[str]:
    """Return a note if the same sample would be drawn differently today."""
    try:
        sample = _sample(study_audit, facts["variant"], int(facts["images"]), int(facts["seed"]))
    except (InputError, KeyError):
        sample = None
    if sample is not None and answers.shows_sample(study, sample):
        return []
    return [
        "The PIEs have changed since the sample of this study was drawn; the sample stays the same."
    ]
