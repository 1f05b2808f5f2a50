"""Changes of every class under a variant: recall lost, absolutely and against the average; a click opens a class."""

import functools
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.class_details import show_details_of_class, show_images_of_class
from tfaudit.app.controls import (
    choose_class,
    choose_option,
    choose_variant,
    has_variants,
    is_unfolded,
)
from tfaudit.app.display import link_to, show_alert, show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, unique_labels
from tfaudit.app.selection_chart import (
    CLASS,
    RANGE,
    class_choice_chart,
    range_choice_chart,
)
from tfaudit.app.url_state import choose, choose_from, set_choices, single_choice, url_choice
from tfaudit.audits.classes.chart import ALL_NAMED, CANNOT_TELL, QUESTIONS, ranked_classes
from tfaudit.audits.classes.classes import ClassImpact, worst_class
from tfaudit.audits.classes.declaration import CLASSES
from tfaudit.errors import InputError, listed

CORRECTIONS = {"Holm": "holm", "Benjamini-Hochberg": "bh", "uncorrected": "none"}
CENTERINGS = {
    "member": "member",
    "population": "population",
    "nothing": "none",
    "ratio to accuracy": "ratio",
}
ASKED = {"lost recall": "change", "more than the average": "relative"}

ORDERS = {
    "change": ("{}_pp", True),
    "p": ("{}_p", True),
    "name": ("class", True),
    "examples": ("examples", False),
}
"""Orders of the classes: a column, by question, and whether its lowest values come first."""


def _page_of_single_models(study_audit: StudyAudit, variant: str) -> None:
    st.info(
        "Changes of classes need populations of two members or more; `tfaudit run RECIPE --population N` "
        "trains them. Single models are compared on another page."
    )
    link_to("compare", "Before and after", ":material/compare_arrows:")
    one = choose_class(study_audit.counts(variant).class_names)
    if one is not None:
        show_images_of_class(study_audit, variant, one)
        show_details_of_class(study_audit, variant, one)


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    if not has_variants(study_audit):
        return
    variant = choose_variant(study_audit)
    if variant not in study_audit.summary.impacts:
        _page_of_single_models(study_audit, variant)
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question = choose_option("Question", ASKED, "question")
        title = "Correction for the number of classes"
        correction = choose_option(title, CORRECTIONS, "correction")
        order = choose_from(st.selectbox, "Sort by", list(ORDERS), "sort", "change", width=150)
        search = choose(
            st.text_input, "Search", "search", "", str, placeholder="Part of a name", width=180
        )
    impact = study_audit.classes(variant)
    frame = impact.frame(correction)
    st.markdown(escape(_count_sentence(frame, impact, question, correction)))
    if impact.collapsed.any():
        show_alert(_collapse_sentence(frame))
    column, ascending = ORDERS[order]
    ranked = ranked_classes(frame, column.format(question), ascending=ascending, question=question)
    if len(ranked) > ALL_NAMED:
        shown = _in_range(ranked, order, question, variant)
    else:
        shown = ranked
        single_choice("range", None)
    shown = shown[shown["class"].str.contains(search, case=False, regex=False)]
    if shown.empty:
        st.info("No class with examples has such a name in this range.")
    names = unique_labels(study_audit.counts(variant).class_names)
    left, right = st.columns([2, 3], gap="medium")
    with right:
        one = choose_class(names, worst_class(frame))
        if one is not None:
            show_images_of_class(study_audit, variant, one)

    def open_class(row: Mapping[str, Any]) -> None:
        set_choices(**{"class": names[row["position"]]})

    name = f"classes-{variant}"
    if not shown.empty:
        with left:
            charted = _at_most_all_named(shown)
            text = (
                "A bar per class: the change of its recall in percentage points, faint where it may be chance; the "
                "line is the confidence interval. A click on a class shows its examples."
            )
            chart = class_choice_chart(charted, one, question)
            show_chart(chart, name, text, click=open_class, selection=CLASS, now=one)
        now = (one, question, correction, order, search, len(shown))
        show_table(shown, name, CLASSES.table.columns, table="classes", click=open_class, now=now)
    if one is not None:
        show_details_of_class(study_audit, variant, one)
    _published(study_audit, variant, correction)
    show_notes(impact.notes)


def _count_sentence(
    frame: pd.DataFrame, impact: ClassImpact, question: str, correction: str
) -> str:
    """Return how many classes have each verdict after the correction."""
    counts = frame.loc[frame["examples"] > 0, QUESTIONS[question].verdict].value_counts()
    names = (*QUESTIONS[question].colours, CANNOT_TELL)
    worst, *others = (f"{counts.get(name, 0):,} {name}" for name in names)
    are = "" if question == "change" else " are"
    first = worst.replace(" ", f" of {counts.sum():,} classes{are} ", 1)
    verdicts = ", ".join([first, *others])
    (corrected,) = (text for text, name in CORRECTIONS.items() if name == correction)
    within = f"{names[2]}: the interval lies within ±{impact.margin_pp:g} points"
    return f"{verdicts} ({corrected}, p ≤ {impact.alpha:g}; {within})."


def _collapse_sentence(frame: pd.DataFrame) -> str:
    """Return which classes collapsed, the largest loss first."""
    rows = frame[frame["collapsed"]].sort_values("change_pp").to_dict("records")
    text = (
        "{class} (mean recall {recall_before:.1%} → {recall_after:.1%}, lowest {lowest_recall:.1%})"
    )
    return f"Collapsed: {listed([text.format_map(row) for row in rows])}."


def _published(study_audit: StudyAudit, variant: str, correction: str) -> None:
    """Draw the test of [F], which takes the test images as fixed."""
    if not is_unfolded("As published: Welch's test of the centred recall, [F] 2.2", "published"):
        return
    with st.container(border=True):
        label = "Centred on the accuracy of the"
        centering = choose_option(label, CENTERINGS, "centering")
        impact = (
            study_audit.classes(variant)
            if centering == "member"
            else study_audit.centred_classes(variant, centering=centering)
        )
        counts = impact.summary()
        expected = ""
        # Permutations have that centering.
        if centering == "member" and AUDITS["chance"].applies(study_audit.data, variant):
            null = study_audit.chance(variant).classes
            expected = f"; chance alone: {null.mean:.2g}" if null else ""
        sentence = (
            f"{counts['published_significant']} of {counts['published_tested']} classes are significant "
            f"uncorrected, p ≤ {impact.alpha:g}"
            f"{expected}. The test takes the examples as fixed and the "
            "members as independent; a class is worse or better off than the model as a whole."
        )
        st.caption(sentence)
        table = CLASSES.tables["published"]
        frame = impact.frame(correction).dropna(subset=["published_p"])
        frame = frame.sort_values("published_pp", kind="stable")
        show_table(frame, f"published-{variant}", table.columns, table=table.catalogue)


def _in_range(ranked: pd.DataFrame, order: str, question: str, variant: str) -> pd.DataFrame:
    """Draw all classes and return those in the brushed range; the URL parameter is `range`."""
    text = st.query_params.get("range")
    read = functools.partial(_parse_range, count=len(ranked))
    low, high = url_choice("range", (1, len(ranked)), read)

    def choose_range(ends: Mapping[str, Any]) -> None:
        ranks = [min(max(round(rank), 1), len(ranked)) for rank in sorted(ends.get("rank") or ())]
        set_choices(range=f"{ranks[0]}-{ranks[-1]}" if ranks else None)

    chart = range_choice_chart(ranked, order, None if text is None else (low, high), question)
    reading = (
        "A line per class, the largest loss first: its change with its interval. "
        "Drag to choose a range of classes."
    )
    name = f"all-classes-{variant}"
    show_chart(chart, name, reading, click=choose_range, selection=RANGE, interval=True, now=text)
    if text is None:
        st.caption("Drag over the chart to choose a range of classes.")
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Classes {low:,} to {high:,} by {order}.")
            st.button(
                "Show all",
                type="tertiary",
                icon=":material/zoom_out_map:",
                on_click=set_choices,
                kwargs={"range": None},
            )
    return ranked[ranked["rank"].between(low, high)]


def _parse_range(text: str, count: int) -> tuple[int, int]:
    """Return the two ranks of a text such as "12-40"."""
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= count):
        raise InputError("range", repr(text), f"two ranks from 1 to {count}, such as '1-{count}'")
    return int(low), int(high)


def _at_most_all_named(shown: pd.DataFrame) -> pd.DataFrame:
    """Return the classes that a chart can name: all, or the first and the last ones."""
    if len(shown) <= ALL_NAMED:
        return shown
    half = ALL_NAMED // 2
    st.caption(f"The first and the last {half} of {len(shown):,} classes; the table holds all.")
    return pd.concat([shown.head(half), shown.tail(half)])
