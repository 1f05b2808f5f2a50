"""The images whose modal label changes with compression: a gallery, how hard they are, how many by chance."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from tfaudit.app.cards import show_cards
from tfaudit.app.choosing import choose_among, choose_class, choose_variant, draw_tabs, has_variants
from tfaudit.app.image_history import chosen_image, show_image
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import labels, prose
from tfaudit.audit.chance import Chance
from tfaudit.audit.exemplars import Exemplars
from tfaudit.charts.exemplar_counts import pie_count_chart
from tfaudit.charts.exemplars import difficulty_bars
from tfaudit.errors import InputError
from tfaudit.ratings.answers import open_answers
from tfaudit.report.exemplar_cards import by_decisiveness, cards

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

PAGE = 24
"""Images on one page of the gallery."""

_number = st.column_config.NumberColumn
COLUMNS = {
    "example": st.column_config.TextColumn("image", pinned=True),
    "label": st.column_config.TextColumn("true class"),
    "baseline_mode": st.column_config.TextColumn("before"),
    "compressed_mode": st.column_config.TextColumn("after"),
    "baseline_share": _number("votes before", format="percent", help="Share of the members that answer so"),
    "compressed_share": _number("after", format="percent"),
    "decisiveness": _number(format="percent", help="Chance that two members, one from each side, answer so"),
    "baseline_entropy": _number("entropy before", format="%.2f", help="Of the votes, bits"),
    "compressed_entropy": _number("after", format="%.2f"),
}
DIFFICULTY = {
    "population": st.column_config.TextColumn(),
    "group": st.column_config.TextColumn(),
    "k": _number("guesses"),
    "examples": _number("images"),
    "accuracy": _number(format="percent"),
    "low": _number("from", format="percent", help="Lower end of the 95 % interval over the members"),
    "high": _number("to", format="percent", help="Upper end"),
}
COUNTS = {
    "title": st.column_config.TextColumn("variant", pinned=True),
    "pies": _number("PIEs"),
    "share": _number("of all", format="percent"),
    "baseline_mode_right": _number("right before", help="PIEs whose modal label is right before compression"),
    "compressed_mode_right": _number("right after"),
    "expected": _number("by chance", format="%.1f"),
    "low": _number("from", format="%.0f", help="Lower end of the central 95 % by chance"),
    "high": _number("to", format="%.0f", help="Upper end"),
    "p": _number(format="%.2g", help="Of so many by chance"),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Exemplars")
    if not has_variants(study_audit):
        return
    st.markdown("PIEs: images whose modal label, what most members answer, changes with compression, right or wrong.")
    variant = choose_variant(study_audit)
    found = study_audit.exemplars(variant)
    views = {"Gallery": _gallery, "Difficulty": _difficulty, "Levels": _levels}
    draw_tabs({name: functools.partial(draw, study_audit, variant, found) for name, draw in views.items()}, "exemplars")
    position = chosen_image(len(found.labels))
    if position is not None:
        show_image(study_audit, position)


def _gallery(study_audit: StudyAudit, variant: str, found: Exemplars) -> None:
    pies = by_decisiveness(_filtered(study_audit, found))
    st.markdown(f"{len(pies):,} of the {len(found.index):,} PIEs among {len(found.labels):,} images, the surest first.")
    if pies.empty:
        st.info("No PIE is left by these filters." if len(found.index) else "This variant has no PIEs.")
        return
    pages = -(-len(pies) // PAGE)
    # Another variant or filter begins at the first page, but a link to a page keeps it.
    chosen = [variant, *pies["index"].tolist()]
    if st.session_state.get("gallery", chosen) != chosen:
        st.session_state["page"] = 1
    st.session_state["gallery"] = chosen
    above, below = st.container(), st.container(horizontal_alignment="center")
    with below:
        number = st.pagination(pages, key="page", bind="query-params") if pages > 1 else 1
    shown = pies.iloc[(number - 1) * PAGE : number * PAGE]
    positions = shown["index"].tolist()
    members = len(study_audit.counts(study_audit.summary.baseline).members), len(study_audit.counts(variant).members)
    with above:
        chosen_card = show_cards(
            cards(shown, study_audit.data.store.images(study_audit.data.split, positions)), members, positions
        )
    if chosen_card is not None:
        st.query_params["image"] = str(chosen_card)
    with st.expander("As a table"):
        show_table(pies, f"exemplars-{variant}", COLUMNS)


def _filtered(study_audit: StudyAudit, found: Exemplars) -> pd.DataFrame:
    """The PIEs that the filters leave."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label = choose_class(found.class_names)
        right = choose_among("Baseline's mode", ("all", "right", "wrong"), "baseline")
        kept = _choose_attribute(study_audit, found)
    pies = found.pies
    keep = pd.Series(True, index=pies.index)
    if label is not None:
        keep &= found.labels[found.index] == label
    if right != "all":
        keep &= (found.baseline_mode == found.labels)[found.index] == (right == "right")
    if kept is not None:
        keep &= kept
    return pies[keep]


def _choose_attribute(study_audit: StudyAudit, found: Exemplars) -> pd.Series | None:
    """Which PIEs have an attribute: a group of the data, or what raters have seen; None without a choice."""
    groups = study_audit.data.groups[study_audit.data.group_columns].iloc[found.index].reset_index(drop=True)
    masks = {
        f"{column}: {value}": groups[column] == value
        for column in study_audit.data.group_columns
        for value in groups[column].dropna().unique()
    }
    examples = found.pies["example"].astype(str)
    try:
        seen = open_answers(study_audit.data.store.directory).labels(
            study_audit.data.split, study_audit.data.fingerprints.examples
        )
        masks |= {f"seen: {name}": examples.isin(rows["example"]) for name, rows in seen.groupby("label")}
    except InputError as problem:  # the gallery needs no answers
        st.warning(prose(str(problem)))
    if not masks:
        return None
    named = dict(zip(labels(sorted(masks)), sorted(masks), strict=True))
    chosen = st.selectbox(
        "Attribute",
        list(named),
        index=None,
        placeholder="Any",
        key="attribute",
        bind="query-params",
        help="A group that the data name, or what raters of the human study have seen.",
    )
    return None if chosen is None else masks[named[chosen]]


def _difficulty(study_audit: StudyAudit, variant: str, found: Exemplars) -> None:
    st.markdown("Mean accuracy on the PIEs, on the other images and on all, with an interval over the members.")
    show_chart(
        difficulty_bars(found.difficulty),
        f"difficulty-{variant}",
        "Accuracy on PIEs, on the other images and on all, of baseline and compressed members.",
    )
    show_table(found.difficulty, f"difficulty-{variant}", DIFFICULTY)


def _levels(study_audit: StudyAudit, variant: str, found: Exemplars) -> None:
    st.markdown("Two populations differ by chance, too: the band is what reassigning the members at random gives.")
    chances = study_audit.summary.chances
    rows = [
        {"title": study_audit.data.titles[key], **each.summary(), **_by_chance(chances.get(key))}
        for key, each in study_audit.summary.exemplars.items()
    ]
    counts = pd.DataFrame(rows).reindex(columns=list(COUNTS))
    show_chart(
        pie_count_chart(counts.assign(title=labels(list(counts["title"])))),
        "exemplars-by-level",
        "Number of PIEs of every variant, beside the central 95 % by chance.",
    )
    show_table(counts, "exemplars-by-level", COUNTS)
    show_notes(tuple(dict.fromkeys(note for each in chances.values() for note in each.notes)))


def _by_chance(found: Chance | None) -> dict[Hashable, Any]:
    return found.frame().iloc[0].drop("count").to_dict() if found else {}
