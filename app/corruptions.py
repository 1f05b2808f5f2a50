"""What compression costs under corruption: [F] figures 4 and 7, severities, classes, exemplars, and one image."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from tfaudit.app.choosing import choose_among, choose_variant, choose_variants, draw_tabs
from tfaudit.app.one_image import one_image
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.audit.corruption.robustness import Robustness
from tfaudit.charts.class_corruptions import class_corruption_chart, largest_change, told_apart
from tfaudit.charts.corruptions import relative_change_chart, severity_chart
from tfaudit.report.sections.robustness import SAYS, robustness_levels, robustness_notes

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

MOST_CLASSES = 40
"""In the heat map: those hit most, or those that were searched for."""

FIRST_PANELS = 6
"""Corruptions whose severities are drawn before anybody chooses: those that cost most."""

_number = st.column_config.NumberColumn
_change = _number("change", format="%+.2f", help="Percentage points")
CHANGES = {
    "corruption": st.column_config.TextColumn(pinned=True),
    "title": st.column_config.TextColumn("variant"),
    "accuracy_before": _number("before", format="percent"),
    "accuracy_after": _number("after", format="percent"),
    "difference_pp": _change,
    "low_pp": _number("from", format="%+.2f", help="Lower end of the interval of the change"),
    "high_pp": _number("to", format="%+.2f", help="Upper end"),
    "relative_change": _number("relative", format="percent", help="Change as a share of the accuracy before"),
    "p": _number(format="%.2g"),
    "p_holm": _number("p, Holm", format="%.2g", help="Over the corruptions"),
    "excess_pp": _number("excess", format="%+.2f", help="Change beyond that on clean images, points"),
    "excess_p_holm": _number("p of excess, Holm", format="%.2g"),
}
SEVERITIES = {
    "corruption": st.column_config.TextColumn(pinned=True),
    "severity": _number(),
    **{name: how for name, how in CHANGES.items() if not name.startswith(("corruption", "excess"))},
}
MEANS = {
    "title": st.column_config.TextColumn("variant", pinned=True),
    "accuracy_before": _number("before", format="percent", help="Accuracy under corruption"),
    "accuracy_after": _number("after", format="percent", help="Accuracy under corruption"),
    "difference_pp": _change,
    "low_pp": _number("from", format="%+.2f", help="Lower end of the interval of the change"),
    "high_pp": _number("to", format="%+.2f", help="Upper end"),
    "p": _number(format="%.2g"),
    "clean_difference_pp": _number("clean", format="%+.2f", help="Change on clean images, points"),
    "excess_pp": _number("excess", format="%+.2f", help="Change under corruption beyond the clean one, points"),
    "excess_p": _number("p of excess", format="%.2g"),
    "mce": _number("mCE", format="percent", help="Mean corruption error; the baseline's is 100 %"),
    "relative_mce": _number("relative mCE", format="percent", help="Of the loss from clean to corrupted images"),
}
CELLS = {
    "class": st.column_config.TextColumn(pinned=True),
    "corruption": st.column_config.TextColumn(),
    "examples": _number("images"),
    "recall_before": _number("recall before", format="percent"),
    "recall_after": _number("after", format="percent"),
    "difference_pp": _change,
    "normalised_pp": _number("normalised", format="%+.2f", help="Beyond the change of the accuracy, points"),
    "clean_normalised_pp": _number("clean", format="%+.2f", help="The same on clean images"),
    "p": _number(format="%.2g"),
    "p_holm": _number("p, Holm", format="%.2g", help="Over all cells of the variant"),
    "p_bh": _number("p, BH", format="%.2g", help="Over all cells of the variant"),
}
FLIPS = {
    "corruption": st.column_config.TextColumn(pinned=True),
    "severity": _number(),
    "title": st.column_config.TextColumn("variant"),
    "flips": _number(help="Images whose modal answer differs between baseline and variant"),
    "pies": _number("PIEs", help="On clean images"),
    "pie_share": _number("of all", format="percent", help="Share of PIEs among all images"),
    "flip_pie_share": _number("of flips", format="percent", help="Share of PIEs among the flips"),
    "ratio": _number(format="%.2f"),
    "pie_flip_share": _number("PIEs that flip", format="percent"),
    "p": _number(format="%.2g", help="Of no more PIEs among the flips than among the others"),
    "p_holm": _number("p, Holm", format="%.2g"),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Corruptions")
    found = robustness_levels(study_audit)
    if not found:
        st.info(
            "No variant was evaluated under corruption. A recipe whose study names `corruptions` or `benchmarks` does "
            "it: `tfaudit run RECIPE` goes on with what is there and makes only the evaluations."
        )
        return
    st.markdown(prose(SAYS))
    views = {
        "Corruptions": _corruptions,
        "Severities": _severities,
        "Classes": _classes,
        "One image": one_image,
        "Exemplars": _exemplars,
    }
    draw_tabs({name: functools.partial(draw, study_audit, found) for name, draw in views.items()}, "corruptions")
    show_notes(robustness_notes(study_audit, found))


def _corruptions(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        k = _rank(found)
        graded = sorted({severity for each in found.values() for _, severity in each.conditions if severity})
        severity = (
            choose_among("Severity", [0, *graded], "severity", lambda each: str(each) if each else "mean") or None
        )
    chosen = choose_variants(study_audit, list(found))
    if not chosen:
        return
    levels = {study_audit.data.titles[key]: found[key] for key in chosen}
    show_chart(
        relative_change_chart({title: each.changes(severity) for title, each in levels.items()}, k=k),
        f"relative-change-top{k}" + (f"-severity{severity}" if severity else ""),
        f"Change of top-{k} accuracy per corruption, relative to the baseline's, with intervals.",
    )
    st.subheader("Means over severities and corruptions, top-1")
    means = pd.DataFrame([{"title": title, **each.summary()} for title, each in levels.items()])
    show_table(means, "corruption-means", MEANS)
    st.subheader("Corruption by corruption")
    rows = _titled(levels, lambda each: each.frame() if severity is None else each.severity_frame())
    rows = rows[rows["k"] == k]
    if severity is not None:
        rows = rows[rows["severity"] == severity]
    show_table(rows, "corruptions", {name: how for name, how in CHANGES.items() if name in rows})


def _severities(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> None:
    rows = _titled({study_audit.data.titles[key]: each for key, each in found.items()}, Robustness.severity_frame)
    rows = rows[rows["severity"] > 0]
    if rows.empty:
        st.info("None of the sets that the study was evaluated on has severities.")
        return
    k = _rank(found)
    falls = rows[rows["k"] == k].groupby("corruption")["relative_change"].min().sort_values(kind="stable")
    names = list(dict.fromkeys(rows["corruption"]))
    first = [name for name in names if name in falls.index[:FIRST_PANELS]]
    shown = st.multiselect("Corruptions", names, default=first, key="panels", bind="query-params")
    chosen = choose_variants(study_audit, list(found))
    if not chosen or not shown:
        st.caption("Choose at least one corruption and one variant.")
        return
    levels = {study_audit.data.titles[key]: found[key] for key in chosen}
    baseline = study_audit.data.titles[study_audit.summary.baseline]
    show_chart(
        severity_chart(
            {title: each.curves() for title, each in levels.items()},
            baseline=baseline,
            k=k,
            corruptions=shown,
            side=200,
        ),
        f"severities-top{k}",
        "Accuracy over severity, a panel per corruption, a line per variant.",
    )
    drawn = rows["corruption"].isin(shown) & (rows["k"] == k) & rows["title"].isin(list(levels))
    show_table(rows[drawn], "severities", SEVERITIES)


def _classes(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> None:
    key = choose_variant(study_audit)
    if key not in found:
        st.info(f"{plain(study_audit.data.titles[key])} was not evaluated under corruption.")
        return
    cells, change = found[key].class_frame(), found[key].tested_change
    names = told_apart(cells)
    classes = list(dict.fromkeys(names))
    shortened = dict(zip(classes, labels(classes), strict=True))
    searched = st.multiselect(
        "Classes",
        classes,
        format_func=shortened.__getitem__,
        placeholder=f"Type to search; without a choice the {MOST_CLASSES} hit most" * (len(classes) > MOST_CLASSES)
        or "Type to search",
        key="hit",
        bind="query-params",
        max_selections=MOST_CLASSES,
    )
    shown = cells.assign(**{"class": names})
    shown = shown[names.isin(searched)] if searched else shown
    if shown["difference_pp"].isna().all():
        st.info("These classes have no images under corruption.")
        return
    show_chart(
        class_corruption_chart(
            shown, study_audit.data.alpha, change=change, reach=largest_change(cells, change), most=MOST_CLASSES
        ),
        f"class-corruptions-{key}",
        "Change of recall by class and corruption; a dot where it is significant.",
    )
    show_table(shown.sort_values("p", kind="stable"), f"class-corruptions-{key}", CELLS)


def _exemplars(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> None:
    rows = _titled({study_audit.data.titles[key]: each for key, each in found.items()}, Robustness.flip_frame)
    if rows.empty:
        st.info(
            "The sets that the study was evaluated on show other images than the clean ones: no exemplars among them."
        )
        return
    st.markdown("Are the images whose modal answer flips under corruption the exemplars (PIEs) of the clean images?")
    show_table(rows, "corruption-flips", FLIPS)


def _rank(found: Mapping[str, Robustness]) -> int:
    ranks = [int(k) for k in next(iter(found.values())).overall["k"]]
    return choose_among("Accuracy", ranks, "rank", lambda k: f"top-{k}")


def _titled(levels: Mapping[str, Robustness], frame: Callable[[Robustness], pd.DataFrame]) -> pd.DataFrame:
    """The frames of several results, by title, under each other."""
    return pd.concat([frame(each).assign(title=title) for title, each in levels.items()], ignore_index=True)
