"""The human study, [F] 3.2 and appendix C: raters who do not know which images are exemplars say what they see."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import streamlit as st

from tfaudit.app.choosing import choose_among
from tfaudit.app.rating import rate
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.audit.survey.sample import survey_sample
from tfaudit.audit.survey.survey import survey
from tfaudit.errors import InputError
from tfaudit.ratings.answers import Answers, open_answers
from tfaudit.ratings.names import rater_name

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.audit.survey.sample import SurveySample

__all__ = ["page"]

Facts: TypeAlias = dict[Hashable, Any]
"""A row of `Answers.studies`."""

SIZES = (100, 50, 20, 10, 8, 6, 4, 2)
"""How many images are offered first: the largest of these that a variant allows. More would tell its PIEs."""

_number = st.column_config.NumberColumn
ANALYSIS = {
    "attribute": st.column_config.TextColumn(pinned=True),
    "share_pie": _number("of PIEs", format="percent", help="Images with the attribute, of those that raters agree on"),
    "share_non_pie": _number("of others", format="percent"),
    "ratio": _number(format="%.2f", help="Above 1: PIEs have it more often"),
    "p": _number(format="%.2g", help="Fisher's exact test"),
    "p_holm": _number("p, Holm", format="%.2g", help="Over the six questions"),
    "kappa": _number(format="%.2f", help="Fleiss', agreement of the raters beyond chance"),
    "pies": _number("PIEs", help="PIEs with the attribute"),
    "pies_judged": _number("of", help="PIEs that were judged"),
    "non_pies": _number("others", help="Other images with the attribute"),
    "non_pies_judged": _number("of ", help="Other images that were judged"),
    "undecided": _number(help="Images whose raters are divided evenly"),
    "answers": _number(),
    "raters": _number(),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Label")
    answers = open_answers(study_audit.data.store.directory)
    study_audit.data.require_same_examples()
    drawn_from = study_audit.data.split, study_audit.data.fingerprints.examples
    rows = answers.studies(*drawn_from).iloc[::-1].to_dict("records")
    studies = {int(row["study"]): dict(row) for row in rows}
    table = study_audit.summary.table
    able = table[(table["pies"] > 0) & (table["pies"] < len(study_audit.data.groups))]["variant"].tolist()
    if studies:
        _study(study_audit, answers, studies)
    elif able:
        st.markdown(
            "What do people see in the images that compression changes? Raters judge a shuffled sample, half of it "
            "such images (PIEs), and are not told which. What they answer is kept beside the study."
        )
    else:
        st.info("No variant has both PIEs and other images: there is nothing to compare, and nothing to label.")
    if others := answers.num_outdated(*drawn_from):
        st.caption(f"Studies of images that have been replaced since: {others}. They are kept, and not shown.")
    if able:
        with st.expander("Begin another study" if studies else "Begin a study", expanded=not studies):
            _begin(study_audit, answers, able)


def _study(study_audit: StudyAudit, answers: Answers, studies: Mapping[int, Facts]) -> None:
    """A study under way: to rate in, or to look at."""
    if "begun" in st.session_state:
        st.session_state["series"] = st.session_state.pop("begun")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _choose(study_audit, studies)
        part = choose_among("Part", ["Rate", "Progress and analysis"], "part")
    if part == "Rate":
        _rate(study_audit, answers, chosen)
    else:
        _progress(study_audit, answers, chosen, studies[chosen])


def _choose(study_audit: StudyAudit, studies: Mapping[int, Facts]) -> int:
    def name(study: int) -> str:
        facts = studies[study]
        (title,) = labels([study_audit.data.titles.get(facts["variant"], facts["variant"])])
        return f"{study}: {title}, {facts['images']} images, seed {facts['seed']}"

    return st.selectbox("Study", list(studies), format_func=name, key="series", bind="query-params", width=420)


def _begin(study_audit: StudyAudit, answers: Answers, able: list[str]) -> None:
    names = dict(zip(able, labels([study_audit.data.titles[key] for key in able]), strict=True))
    variant = st.selectbox("Variant", able, format_func=names.__getitem__, key="variant of sample", width=420)
    (pies,) = study_audit.summary.table.query("variant == @variant")["pies"].astype(int)
    most = 2 * min(pies, len(study_audit.data.groups) - pies)
    with st.form("begin", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        images = st.number_input(
            "Images",
            min_value=2,
            step=2,
            value=next(size for size in SIZES if size <= most),
            key=f"images of {variant}",
            help="Even: half are PIEs. At most twice the variant's PIEs, whose number is not told here.",
        )
        seed = st.number_input("Seed", min_value=0, step=1, value=0, key="seed of sample", help="Of the drawing")
        _submit("Begin")
    if not st.session_state.pop("Begin asked", False):
        return
    if images % 2 or images > most:
        raise InputError("images", str(images), "an even number up to twice the variant's PIEs")
    ids = study_audit.data.store.examples(study_audit.data.split, images=False, groups=False)["example"]
    sample = _sample(study_audit, variant, images, seed)
    st.session_state["begun"] = answers.begin(
        sample,
        variant=variant,
        split=study_audit.data.split,
        seed=seed,
        examples=study_audit.data.fingerprints.examples,
        example_ids=ids.tolist(),
    )
    st.rerun()


def _sample(study_audit: StudyAudit, variant: str, images: int, seed: int) -> SurveySample:
    found = study_audit.exemplars(variant)
    apart = tuple(labels(found.class_names))  # two classes of one name would look like one
    return survey_sample(dataclasses.replace(found, class_names=apart), images, seed=seed)


def _rate(study_audit: StudyAudit, answers: Answers, study: int) -> None:
    given = st.query_params.get("rater") or st.session_state.get("rater", "")
    try:
        rater = rater_name(given) if given else ""
    except InputError as problem:
        st.error(prose(str(problem)))
        rater = ""
    if not rater:
        _ask_name()
        return
    # In the session, too: other pages drop it from the URL.
    st.session_state["rater"] = st.query_params["rater"] = rater
    if (str(study_audit.data.store.directory), study) in st.session_state.get("unblinded", set()):
        st.warning("You have seen the analysis of this study: what you answer from now on is not blind.")
    rate(study_audit, answers, study, rater)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Rater: {plain(rater)}")
        st.button("Not you?", type="tertiary", on_click=_forget)


def _ask_name() -> None:
    """A form that goes once it is filled in: keys that are meant as answers must not end in its field."""
    with st.form("who rates"):
        name = st.text_input("Your name", max_chars=60, help="To find your place again; upper and lower case are one.")
        _submit("Start")
        if st.session_state.pop("Start asked", False) and name:
            st.session_state["rater"] = st.query_params["rater"] = rater_name(name)
            st.rerun()


def _submit(words: str) -> None:
    """A form's button whose press is remembered: one that is only returned is lost where a next run comes first."""
    asked = f"{words} asked", True
    st.form_submit_button(words, type="primary", on_click=st.session_state.__setitem__, args=asked)


def _forget() -> None:
    st.session_state.pop("rater", None)
    st.query_params.pop("rater", None)


def _progress(study_audit: StudyAudit, answers: Answers, study: int, facts: Facts) -> None:
    progress = answers.progress(study)
    if progress.empty:
        st.info("Nobody has answered yet.")
        return
    columns = {
        "rater": st.column_config.TextColumn(pinned=True),
        "complete": st.column_config.ProgressColumn(
            "images answered", format="%d", min_value=0, max_value=int(facts["images"])
        ),
        "images": _number("of"),
        "last": st.column_config.DatetimeColumn("last answer"),
    }
    show_table(progress, f"progress-{study}", columns)
    unblinded = st.session_state.setdefault("unblinded", set())
    place = str(study_audit.data.store.directory), study
    if place not in unblinded:
        st.markdown("The analysis tells which images are PIEs. Who still wants to rate must not see it.")
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
    given = answers.answers(study)
    found = survey(given, alpha=study_audit.data.alpha)
    st.subheader("What raters see in PIEs and in other images")
    left, right = st.columns(2)
    with left:
        show_chart(found.chart(), f"human-study-{study}", "Share of PIEs and of other images with each attribute.")
    with right:
        show_notes([*_changes(study_audit, answers, study, facts), *found.notes])
    show_table(found.frame(), f"human-study-{study}", ANALYSIS)
    st.subheader("Answers")
    show_table(given, f"answers-{study}")


def _changes(study_audit: StudyAudit, answers: Answers, study: int, facts: Facts) -> list[str]:
    """A note where the study would be drawn otherwise today."""
    try:
        sample = _sample(study_audit, facts["variant"], int(facts["images"]), int(facts["seed"]))
    except (InputError, KeyError):
        sample = None
    if sample is not None and answers.shows_sample(study, sample):
        return []
    return ["Other images are PIEs now than when this study was drawn; it stays as drawn."]
