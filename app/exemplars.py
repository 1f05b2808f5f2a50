"""Images whose majority prediction changes with compression, and all others: a gallery, their difficulty, their number.

The gallery has filters by class, by kind of change, by the prediction before and after, and by attributes.
"""

import functools
from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.app.controls import (
    choose_class,
    choose_variant,
    draw_tabs,
    has_variants,
    variant_labels,
)
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.drill_down import ALL, CHANGED, show_images
from tfaudit.app.exemplar_cards import show_cards
from tfaudit.app.image_panel import open_image, page_of
from tfaudit.app.markdown import escape, unique_labels
from tfaudit.app.quantities import image_range
from tfaudit.app.url_state import add_notice, choose_from, choose_several
from tfaudit.audits.exemplars.chart import difficulty_bars, pie_count_chart
from tfaudit.audits.exemplars.exemplars import Exemplars
from tfaudit.audits.flips.image_changes import (
    NEWLY_CORRECT,
    NEWLY_WRONG,
    OTHER_WRONG,
    UNCHANGED,
    image_changes,
)
from tfaudit.outlets.exemplar_cards import cards
from tfaudit.outlets.phrases import retraining

PAGE_SIZE = 24  # images on one page of the gallery

KINDS = (CHANGED, NEWLY_WRONG, NEWLY_CORRECT, OTHER_WRONG, UNCHANGED, ALL)
ORDERS = {"most decisive": "decisiveness", "most right votes lost": "lost_share", "as stored": ""}

PIES = (
    "example",
    "label",
    "baseline_mode",
    "second",
    "margin",
    "compressed_mode",
    "kind",
    "baseline_share",
    "compressed_share",
    "decisiveness",
    "lost_share",
)
DIFFICULTY = ("population", "group", "k", "examples", "accuracy", "low", "high")
COUNTS = (
    "title",
    "changed_predictions",
    "pies",
    "share",
    "expected",
    "low",
    "high",
    "p",
    "verdict",
    "baseline_mode_right",
    "compressed_mode_right",
)


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    if not has_variants(study_audit):
        return
    variant = choose_variant(study_audit)
    exemplars = study_audit.exemplars(variant)
    views = {"Gallery": _gallery, "Difficulty": _difficulty, "By variant": _by_variant}
    draw_tabs(views, "exemplars", study_audit, variant, exemplars)


def _gallery(study_audit: StudyAudit, variant: str, exemplars: Exemplars) -> None:
    images = image_changes(study_audit.counts(BASELINE), study_audit.counts(variant))
    names = unique_labels(exemplars.class_names)
    choose_filter = functools.partial(choose_from, st.selectbox, resets=("page",))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label = choose_class(exemplars.class_names)
        kind = choose_filter("Examples", KINDS, "show", CHANGED, width=190)
        sides = {
            side: choose_filter(
                f"Prediction {side}", names, key, None, placeholder="Any", width=190
            )
            for side, key in (("before", "from"), ("after", "to"))
        }
        mask = _choose_attributes(study_audit, variant)
        order = choose_filter("Sort by", list(ORDERS), "order", next(iter(ORDERS)), width=210)
    if label is not None:
        mask &= images["label"] == label
    mask &= _is_of_kind(images["kind"], kind)
    minority = ""
    for side, name in sides.items():
        if name is not None:
            answer = names.index(name)
            counts = study_audit.counts(BASELINE if side == "before" else variant)
            by_some = mask & (counts.predicted(answer) > 0)
            mask &= images[side] == answer
            if by_some.any() and not mask.any():
                mask = by_some
                minority = f" No majority predicts {name} {side} compression: these are examples where some members do."
    rows = images[mask]
    if by := ORDERS[order]:
        rows = rows.sort_values(by, ascending=False, kind="stable")
    total = len(exemplars.index)
    matching = f"{len(rows):,} of {len(images):,} examples match the filters, {order}{' first' if by else ''}"
    st.markdown(
        escape(f"{matching}; {total:,} of all examples change their prediction (PIEs).{minority}")
    )
    if len(rows):
        draw_images(study_audit, variant, named(study_audit, variant, rows))
    elif kind == CHANGED and not total:
        st.info("No example changes its prediction: this variant has no PIEs.")
    else:
        st.info("No example matches these filters.")


def _is_of_kind(kinds: pd.Series, kind: str) -> pd.Series:
    """Return which images belong to one of `KINDS`."""
    if kind == ALL:
        return pd.Series(True, kinds.index)
    return kinds != UNCHANGED if kind == CHANGED else kinds == kind


def draw_images(study_audit: StudyAudit, variant: str, rows: pd.DataFrame) -> None:
    """Draw one page of the images, `named` rows, and the table of all."""
    above = st.container()
    with st.container(horizontal_alignment="center"):
        shown = page_of(rows, PAGE_SIZE, "page")
    with above:
        _draw(study_audit, variant, shown)
    with st.expander("As a table"):
        show_table(
            rows,
            f"images-{variant}",
            PIES,
            click=lambda row: open_image(row["index"]),
            now=st.query_params.to_dict(),
        )


def draw_cards(study_audit: StudyAudit, variant: str, rows: pd.DataFrame) -> None:
    """Draw a card per row of `image_changes`."""
    _draw(study_audit, variant, named(study_audit, variant, rows))


def _draw(study_audit: StudyAudit, variant: str, rows: pd.DataFrame) -> None:
    data = study_audit.data
    members = len(study_audit.counts(BASELINE).members), len(study_audit.counts(variant).members)
    images = data.store.images(data.split, rows.index.tolist())
    show_cards(cards(rows, images), members, rows.index.tolist())


def named(study_audit: StudyAudit, variant: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `image_changes` with the names of images and classes, as a frame of exemplars has them."""
    data = study_audit.data
    classes = study_audit.counts(BASELINE).class_names
    ids = data.store.examples(data.split, images=False, groups=False)["example"].to_numpy()
    named = rows.assign(
        example=ids[rows.index], label=np.array(classes, object)[rows["label"]]
    ).rename(columns={"before_share": "baseline_share", "after_share": "compressed_share"})
    sides = (("before", "baseline_mode", BASELINE), ("after", "compressed_mode", variant))
    for side, column, key in sides:
        counts = study_audit.counts(key)
        best = counts.modal_classes()
        named[column] = best.names(classes)[rows.index]
        named[f"{side}_right"] = best.among_best(counts.labels)[rows.index] > 0
    return named


def _choose_attributes(study_audit: StudyAudit, variant: str) -> pd.Series:
    """Return which images are in the chosen groups of the data.

    The individuals and the ranges of quantities of a link are options, too; all of them would be too many.
    """
    data = study_audit.data
    linked = st.query_params.get_all("attribute")
    groups = data.groups[data.group_columns].reset_index(drop=True)
    masks: dict[str, Callable[[], pd.Series]] = {
        f"{column}: {value}": functools.partial(groups[column].eq, value)
        for column in groups
        for value in groups[column].dropna().unique()
    }
    masks |= _linked_individuals(data)
    for text in linked:
        if text not in masks and (within := image_range(study_audit, variant, text)) is not None:
            masks[text] = within.copy
    names = dict(zip(unique_labels(sorted(masks)), sorted(masks), strict=True))
    mask = pd.Series(True, groups.index)
    if not names:
        for text in linked:
            add_notice(f"attribute: got {text!r}, but this study has no groups")
        return mask
    text = "Groups in the data. Only examples that belong to every chosen group are shown."
    for label in choose_several(
        "Attributes",
        list(names),
        "attribute",
        [],
        resets=("page",),
        placeholder="Any",
        help=text,
        width=230,
    ):
        mask &= masks[names[label]]().to_numpy(bool)
    return mask


def _linked_individuals(data: StudyData) -> dict[str, Callable[[], pd.Series]]:
    """Return which images come from the individuals that the URL names; they are too many for a list."""
    individuals = data.individuals
    linked = st.query_params.get_all("attribute")
    if individuals is None or not linked:
        return {}
    texts = {f"{individuals.name}: {value}": value for value in individuals.unique()}
    return {
        text: functools.partial(individuals.eq, texts[text]) for text in linked if text in texts
    }


def _difficulty(study_audit: StudyAudit, variant: str, exemplars: Exemplars) -> None:
    sentence = "Mean accuracy on the PIEs, on the other examples and on all examples, with intervals over the members."
    st.markdown(sentence)
    text = (
        "Two bars per set of examples: the accuracy of the baseline's members and of the compressed ones. A click "
        "shows the examples."
    )
    name = f"difficulty-{variant}"
    click = functools.partial(show_images, study_audit)
    chart = difficulty_bars(exemplars.difficulty)
    show_chart(chart, name, text, click=click, fields=["group"])
    show_table(exemplars.difficulty, name, DIFFICULTY, table="difficulty", click=click)


def _by_variant(study_audit: StudyAudit, variant: str, _: Exemplars) -> None:
    summary = study_audit.summary
    labels = variant_labels(study_audit)
    changed = summary.table.set_index("variant")["changed_predictions"]
    baseline = study_audit.variant(BASELINE).changed
    told = retraining(baseline, len(study_audit.counts(BASELINE).labels))
    band = " The band shows how many PIEs chance alone would give." if summary.chances else ""
    st.markdown(escape(told + band))
    by_chance = {
        key: chance.frame().iloc[0].drop("count").to_dict()
        for key, chance in summary.chances.items()
    }
    rows = [
        {
            "title": labels[key],
            "changed_predictions": changed[key],
            **result.summary(),
            **by_chance.get(key, {"expected": np.nan}),  # a summary's own is over ties
        }
        for key, result in summary.exemplars.items()
    ]
    counts = pd.DataFrame(rows).reindex(columns=list(COUNTS))
    text = "A dot per variant at its number of PIEs"
    text += "; the band holds the central 95 % expected by chance." if summary.chances else "."
    name = "exemplars-by-level"
    click = functools.partial(show_images, study_audit)
    show_chart(pie_count_chart(counts), name, text, click=click, fields=["title"], now=variant)
    known = [column for column in COUNTS if counts[column].notna().any()]
    show_table(counts, name, known, table="chance", click=click, now=variant)
    show_notes(
        tuple(dict.fromkeys(note for chance in summary.chances.values() for note in chance.notes))
    )
