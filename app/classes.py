"""What a variant does to every class: [F] figure 2, sorted and corrected as in [A]; a click opens one class."""

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.class_details import show_class
from tfaudit.app.controls import change_count, choose_class, choose_option, choose_variant, has_variants, new_selection
from tfaudit.app.display import link_to, show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, unique_labels
from tfaudit.audit.classes import CENTERINGS, CORRECTIONS, ClassImpact
from tfaudit.charts.class_selection import CLASS, RANGE, class_choice_chart, range_choice_chart
from tfaudit.charts.classes import ALL_NAMED, ranked_classes

CORRECTION_LABELS = {"none": "uncorrected", "holm": "Holm", "bh": "Benjamini-Hochberg"}
CENTERING_LABELS = {"member": "member", "population": "population", "none": "nothing"}

ORDERS = {
    "normalised difference": ("normalised_pp", True),
    "absolute difference": ("difference_pp", True),
    "p": ("p", True),
    "name": ("class", True),
    "examples": ("examples", False),
}
"""Orders of the classes: a column, and whether its lowest values come first."""

RECALLS = ("recall_before", "recall_after", "difference_pp")
NORMALISED = ("normalised_pp", "normalised_low_pp", "normalised_high_pp")
COLUMNS = ("class", "examples", *RECALLS, *NORMALISED, "p", "p_holm", "p_bh", "direction")


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    if not has_variants(study_audit):
        return
    variant = choose_variant(study_audit)
    if variant not in study_audit.summary.impacts:
        st.info(
            "Welch's test per class needs populations of two members or more; `tfaudit run RECIPE --population N` "
            "trains them. Single models are compared on another page."
        )
        link_to("compare", "Compare two models", ":material/compare_arrows:")
        _one_class(study_audit, variant)
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        correction = choose_option("Significance", CORRECTIONS, "correction", CORRECTION_LABELS.__getitem__)
        label = "Centred on the accuracy of the"
        centering = choose_option(label, CENTERINGS, "centering", CENTERING_LABELS.__getitem__)
        order = st.selectbox("Sort by", list(ORDERS), key="sort", bind="query-params", width=220)
        search = st.text_input("Search", placeholder="Part of a name", key="search", bind="query-params", width=220)
    impact = study_audit.class_impact(variant, centering)
    st.markdown(escape(_count_sentence(impact, correction)))
    column, ascending = ORDERS[order]
    ranked = ranked_classes(impact.frame(correction), column, ascending=ascending)
    shown = _in_range(ranked, order, study_audit, variant) if len(ranked) > ALL_NAMED else ranked
    shown = shown[shown["class"].str.contains(search, case=False, regex=False)]
    if shown.empty:
        st.info("No class that was tested has such a name in this range.")
    # Rows are selected by position: a table of other rows, or in another order, has a state of its own.
    state = f"{study_audit.data.store.directory} {variant} {change_count('class')}"
    table = f"table {state} {correction} {centering} {order} {search} {st.query_params.get('range', '')}"
    lines = f"lines {state}"
    names = unique_labels(study_audit.counts(variant).class_names)
    if clicked := new_selection(lines, CLASS):
        st.session_state["class"] = names[clicked[0]["position"]]
    if rows := new_selection(table, "rows"):
        st.session_state["class"] = names[shown["position"].iloc[rows[0]]]
    classes, details = st.container(), st.container()
    with details:
        chosen = _one_class(study_audit, variant)
    with classes:
        _draw(shown, variant, chosen, table, lines)
        show_notes(impact.notes)


def _one_class(study_audit: StudyAudit, variant: str) -> int | None:
    """Draw the results about the chosen class, and return it."""
    st.subheader("One class")
    chosen = choose_class(study_audit.counts(variant).class_names)
    if chosen is None:
        st.caption("Choose a class to see its recall in every member, its confusions and its exemplars.")
    else:
        show_class(study_audit, variant, chosen)
    return chosen


def _count_sentence(impact: ClassImpact, correction: str) -> str:
    """Return how many classes are significant after the correction, and in which direction."""
    counts = impact.summary()
    directions = pd.Series(impact.frame(correction)["direction"])
    harmed, favoured = ((directions == name).sum() for name in ("harmed", "favoured"))
    chance = f", {counts['expected_by_chance']:.3g} expected by chance" if correction == "none" else ""
    return (
        f"{harmed + favoured:,} of {counts['tested']:,} classes change significantly "
        f"({CORRECTION_LABELS[correction]}, p ≤ {impact.alpha:g}{chance}): {harmed:,} harmed, {favoured:,} favoured."
    )


def _in_range(ranked: pd.DataFrame, order: str, study_audit: StudyAudit, variant: str) -> pd.DataFrame:
    """Draw all classes and return those in the brushed range; the URL parameter is `range`."""
    key = f"overview {study_audit.data.store.directory}"
    brushed = new_selection(key, RANGE)
    if brushed is not None:
        _forget_range()
        if ranks := brushed.get("rank"):
            low, high = (min(max(round(rank), 1), len(ranked)) for rank in (min(ranks), max(ranks)))
            st.query_params["range"] = f"{low}-{high}"
    low, high = _parse_range(st.query_params.get("range", ""), len(ranked))
    whole = (low, high) == (1, len(ranked))
    chart = range_choice_chart(ranked, order, None if whole else (low, high))
    text = "All classes: absolute and normalised change of recall. The table below holds the same values."
    show_chart(chart, f"all-classes-{variant}", text, on_select=True, selection=RANGE, key=key)
    if whole:
        st.caption("Drag over the chart to choose a range of classes.")
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Classes {low:,} to {high:,} by {order}.")
            st.button("Show all", type="tertiary", icon=":material/zoom_out_map:", on_click=_forget_range)
    return ranked[ranked["rank"].between(low, high)]


def _forget_range() -> None:
    st.query_params.pop("range", None)


def _parse_range(text: str, count: int) -> tuple[int, int]:
    """Return the two ranks of a text such as "12-40"; all ranks if it is malformed."""
    low, _, high = text.partition("-")
    valid = low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= count
    return (int(low), int(high)) if valid else (1, count)


def _draw(shown: pd.DataFrame, variant: str, chosen: int | None, table: str, lines: str) -> None:
    if shown.empty:
        return
    charted = shown
    if len(shown) > ALL_NAMED:
        charted = pd.concat([shown.head(ALL_NAMED // 2), shown.tail(ALL_NAMED // 2)])
        st.caption(f"The first and the last {ALL_NAMED // 2} of {len(shown):,} classes; the table holds all.")
    chart = class_choice_chart(charted, chosen)
    text = "One line per class: a bar for the change of recall, plum if significant; a point for the normalised change."
    show_chart(chart, f"classes-{variant}", text, on_select=True, selection=CLASS, key=lines)
    show_table(shown, f"classes-{variant}", COLUMNS, table="classes", key=table, select=True)
