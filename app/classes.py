"""What a variant does to every class: [F] figure 2, with the buttons of [A]; a click on a class looks into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from tfaudit.app.choosing import choose_among, choose_class, choose_variant, clicked, has_variants, times_chosen
from tfaudit.app.one_class import show_class
from tfaudit.app.showing import link_to, show_chart, show_notes, show_table
from tfaudit.app.text import labels, prose
from tfaudit.audit.classes import CENTERINGS, CORRECTIONS, ClassImpact
from tfaudit.charts.class_selection import CLASS, RANGE, class_choice_chart, range_choice_chart
from tfaudit.charts.classes import ALL_NAMED, ranked_classes

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

CORRECTED = {"none": "uncorrected", "holm": "Holm", "bh": "Benjamini-Hochberg"}
CENTRED = {"member": "member", "population": "population", "none": "nothing"}

ORDERS = {
    "normalised difference": ("normalised_pp", True),
    "absolute difference": ("difference_pp", True),
    "p": ("p", True),
    "name": ("class", True),
    "examples": ("examples", False),
}
"""What classes are sorted by: a column, and whether its lowest values come first."""

_number = st.column_config.NumberColumn
_recall: dict[str, Any] = {"format": "percent", "help": "Mean over the members"}
COLUMNS = {
    "class": st.column_config.TextColumn(pinned=True),
    "examples": _number("images"),
    "recall_before": _number("recall before", **_recall),
    "recall_after": _number("after", **_recall),
    "difference_pp": _number("change", format="%+.2f", help="Percentage points"),
    "normalised_pp": _number("normalised", format="%+.2f", help="Beyond the change of what it is centred on, points"),
    "normalised_low_pp": _number("from", format="%+.2f", help="Lower end of the interval of the normalised change"),
    "normalised_high_pp": _number("to", format="%+.2f", help="Upper end"),
    "p": _number(format="%.2g", help="Welch's test"),
    "p_holm": _number("p, Holm", format="%.2g"),
    "p_bh": _number("p, BH", format="%.2g"),
    "direction": st.column_config.TextColumn(help="After the chosen correction"),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Classes")
    if not has_variants(study_audit):
        return
    variant = choose_variant(study_audit)
    if variant not in study_audit.summary.impacts:
        st.info(
            "Welch's test per class compares populations of two members or more: train more with "
            "`tfaudit run RECIPE --population`. One model against one is tested on a page of its own."
        )
        link_to("compare", "Compare two models", ":material/compare_arrows:")
        _one_class(study_audit, variant)
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        correction = choose_among("Significance", CORRECTIONS, "correction", CORRECTED.__getitem__)
        centering = choose_among("Centred on the accuracy of the", CENTERINGS, "centering", CENTRED.__getitem__)
        order = st.selectbox("Sort by", list(ORDERS), key="sort", bind="query-params", width=220)
        search = st.text_input("Search", placeholder="Part of a name", key="search", bind="query-params", width=220)
    impact = study_audit.class_impact(variant, centering)
    st.markdown(prose(_counted(impact, correction)))
    column, ascending = ORDERS[order]
    ranked = ranked_classes(impact.frame(correction), column, ascending=ascending)
    shown = _in_range(ranked, order, study_audit, variant) if len(ranked) > ALL_NAMED else ranked
    shown = shown[shown["class"].str.contains(search, case=False, regex=False)]
    if shown.empty:
        st.info("No class that was tested has such a name in this range.")
    # Rows are selected by their place: another choice of rows, or another order, is another table.
    state = f"{study_audit.data.store.directory} {variant} {times_chosen('class')}"
    table = f"table {state} {correction} {centering} {order} {search} {st.query_params.get('range', '')}"
    lines = f"lines {state}"
    _choose(shown, labels(study_audit.counts(variant).class_names), table, lines)
    classes, one = st.container(), st.container()
    with one:
        chosen = _one_class(study_audit, variant)
    with classes:
        _draw(shown, variant, chosen, table, lines)
        show_notes(impact.notes)


def _one_class(study_audit: StudyAudit, variant: str) -> int | None:
    """What is known of the class that was chosen, and which one that is."""
    st.subheader("One class")
    chosen = choose_class(study_audit.counts(variant).class_names)
    if chosen is None:
        st.caption("Choose a class to see its members, what it is taken for, and its exemplars.")
    else:
        show_class(study_audit, variant, chosen)
    return chosen


def _counted(impact: ClassImpact, correction: str) -> str:
    """How many classes are significant after the correction, and whom they speak of."""
    counts = impact.summary()
    directions = pd.Series(impact.frame(correction)["direction"])
    harmed, favoured = ((directions == name).sum() for name in ("harmed", "favoured"))
    chance = f", {counts['expected_by_chance']:.3g} expected by chance" if correction == "none" else ""
    return (
        f"{harmed + favoured:,} of {counts['tested']:,} classes change significantly ({CORRECTED[correction]}, "
        f"p ≤ {impact.alpha:g}{chance}): {harmed:,} harmed, {favoured:,} favoured."
    )


def _in_range(ranked: pd.DataFrame, order: str, study_audit: StudyAudit, variant: str) -> pd.DataFrame:
    """The classes of the ranks that were brushed in the overview; the URL calls them `range`."""
    key = f"overview {study_audit.data.store.directory}"
    brushed = clicked(key, RANGE)
    if brushed is not None:
        _forget_range()
        if ranks := brushed.get("rank"):
            low, high = (min(max(round(rank), 1), len(ranked)) for rank in (min(ranks), max(ranks)))
            st.query_params["range"] = f"{low}-{high}"
    low, high = _range(st.query_params.get("range", ""), len(ranked))
    whole = (low, high) == (1, len(ranked))
    show_chart(
        range_choice_chart(ranked, order, None if whole else (low, high)),
        f"all-classes-{variant}",
        "All classes side by side: absolute and normalised change of recall. The table below holds the same figures.",
        on_select=True,
        selection=RANGE,
        key=key,
    )
    if whole:
        st.caption("Drag over the chart to choose a range of classes.")
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Classes {low:,} to {high:,} by {order}.")
            st.button("Show all", type="tertiary", icon=":material/zoom_out_map:", on_click=_forget_range)
    return ranked[ranked["rank"].between(low, high)]


def _forget_range() -> None:
    st.query_params.pop("range", None)


def _range(text: str, count: int) -> tuple[int, int]:
    """Two ranks such as "12-40"; all of them where the text says nothing that can be meant."""
    low, _, high = text.partition("-")
    known = low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= count
    return (int(low), int(high)) if known else (1, count)


def _choose(shown: pd.DataFrame, names: list[str], table: str, lines: str) -> None:
    """Takes the class that was clicked in the chart or in the table."""
    if chosen := clicked(lines, CLASS):
        st.session_state["class"] = names[chosen[0]["position"]]
    if rows := clicked(table, "rows"):
        st.session_state["class"] = names[shown["position"].iloc[rows[0]]]


def _draw(shown: pd.DataFrame, variant: str, chosen: int | None, table: str, lines: str) -> None:
    if shown.empty:
        return
    named = shown
    if len(shown) > ALL_NAMED:
        named = pd.concat([shown.head(ALL_NAMED // 2), shown.tail(ALL_NAMED // 2)])
        st.caption(f"The first and the last {ALL_NAMED // 2} of {len(shown):,}; the table holds all.")
    show_chart(
        class_choice_chart(named, chosen),
        f"classes-{variant}",
        "A line per class: a bar for the change of recall, plum where significant, a point for the normalised change.",
        on_select=True,
        selection=CLASS,
        key=lines,
    )
    show_table(shown, f"classes-{variant}", COLUMNS, key=table, select=True)
