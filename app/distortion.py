"""Do the classes drift apart? Recall distortion, [R]: slopes, their intervals, accuracy meanwhile, class by class."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from tfaudit.app.choosing import choose_variant, choose_variants, draw_tabs
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.audit.distortion.recall_distortion import Distortion
from tfaudit.audit.distortion.slope_tables import level_table
from tfaudit.audit.distortion.slopes import pooled_frame, slope_frame, slope_intervals
from tfaudit.charts.distortion import MOST_POINTS, balance_chart
from tfaudit.charts.slopes import interval_chart, slope_chart, tradeoff_chart
from tfaudit.report.sections.distortion import BY, SAYS, distortion_notes, distortions, places, slope_questions

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

_number = st.column_config.NumberColumn
_slope = functools.partial(_number, format="%.3f")
_variance = functools.partial(_number, format="%.5f", help="Over the classes, mean over members")
SLOPES = {
    "title": st.column_config.TextColumn("variant", pinned=True),
    "members": _number(),
    "mark": st.column_config.TextColumn(help="< classes closer together, > further apart, ? no evidence"),
    "alpha": _slope("slope", help="Mean over the members"),
    "low": _slope("from", help="Interval of the mean; those of a family hold together"),
    "high": _slope("to", help="Upper end"),
    "slope_between_dense": _slope("two dense", help="Slope of one dense model on another"),
    "accuracy_before": _number("top-1 before", format="percent"),
    "accuracy_after": _number("after", format="percent"),
    "variance_before": _variance("variance before"),
    "variance_after": _variance("after"),
}
CLASSES = {
    "class": st.column_config.TextColumn(pinned=True),
    "examples": _number("images"),
    "rate_before": _number("recall before", format="percent"),
    "rate_after": _number("after", format="percent"),
    "balance_before_pp": _number("balance before", format="%+.2f", help="Recall less accuracy, points"),
    "balance_after_pp": _number("balance after", format="%+.2f", help="Recall less accuracy, points"),
    "normalised_before": _number("normalised before", format="percent", help="Balance as a share of the accuracy"),
    "normalised_after": _number("normalised after", format="percent", help="Balance as a share of the accuracy"),
    "intensification": _number(format="%.2f", help="Normalised after / before: wild where it is near 0 before"),
}

PANELS = 4
"""Of the scatter matrix, side by side."""


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Recall distortion")
    found = distortions(study_audit)
    if not found:
        st.info(
            "No compressed member carries the number of a dense one, so none can be set against its parent; "
            "`tfaudit run` goes on where it stopped."
        )
        return
    st.markdown(prose(SAYS))
    views = {"Slopes": _slopes, "Scatter matrix": _matrix, "Classes": _classes, "Questions": _questions}
    draw_tabs({name: functools.partial(draw, study_audit, found) for name, draw in views.items()}, "distortion")
    show_notes(distortion_notes(study_audit, found))


def _slopes(study_audit: StudyAudit, found: Mapping[str, Distortion]) -> None:
    slopes, intervals = _tables(study_audit, found)
    chosen = choose_variants(study_audit, list(found))
    if not chosen:
        st.caption("Choose at least one variant.")
        return
    there = places(study_audit)
    shown = [there[key] for key in chosen]
    slopes, intervals = (
        rows[pd.MultiIndex.from_frame(rows[list(BY)]).isin(shown)].reset_index(drop=True)
        for rows in (slopes, intervals)
    )
    if slopes.groupby(list(BY)).size().max() > 1:
        left, right = st.columns(2)
        with left:
            st.subheader("Slopes")
            show_chart(slope_chart(slopes, intervals), "slopes", "A box and a dot per model for every variant.")
            st.subheader("Mean slopes")
            show_chart(interval_chart(intervals), "slope-intervals", "Mean slope with its interval.")
    else:
        st.caption("No variant here has two members with slopes, which boxes and intervals need.")
        right = st.container()
    with right:
        st.subheader("Accuracy against intensification")
        show_chart(
            tradeoff_chart(level_table(slopes)),
            "accuracy-slope",
            "Mean accuracy and mean slope of every variant with standard errors.",
        )
    rows = pd.DataFrame(
        [{"title": study_audit.data.titles[key], **_placed(there[key]), **found[key].summary()} for key in chosen]
    )
    show_table(rows.drop(columns="mark").merge(intervals[[*BY, "low", "high", "mark"]], on=list(BY)), "slopes", SLOPES)


def _matrix(study_audit: StudyAudit, found: Mapping[str, Distortion]) -> None:
    """[R] figures 5-8: a panel per variant."""
    chosen = choose_variants(study_audit, list(found))
    if not chosen:
        st.caption("Choose at least one variant.")
        return
    titles = dict(zip(chosen, labels([study_audit.data.titles[key] for key in chosen]), strict=True))
    panels = {titles[key]: found[key] for key in chosen}
    points = {title: each.frame() for title, each in panels.items()}
    many = sum(map(len, points.values())) > MOST_POINTS
    if many:
        points = {title: each.classes_frame().assign(member="mean") for title, each in panels.items()}
    st.caption(f"Each point is a class{', mean over the members' if many else ' in one member'}; a panel per variant.")
    show_chart(
        balance_chart(
            pd.concat([each.assign(level=title) for title, each in points.items()]),
            pooled_frame(panels),
            columns=PANELS,
        ),
        "balances",
        "A panel per variant, a point per class: recall balance after against before, with the pooled slope.",
    )


def _classes(study_audit: StudyAudit, found: Mapping[str, Distortion]) -> None:
    key = choose_variant(study_audit)
    if key not in found:
        st.info(
            f"{plain(study_audit.data.titles[key])} has no slope: its members have no dense partners, or get "
            "nothing right."
        )
        return
    each = found[key]
    points = each.frame()
    means = each.classes_frame()
    many = len(points) > MOST_POINTS
    st.caption(
        f"Each point is a class, mean over {len(each.members)} members: one per member would be {len(points):,}."
        if many
        else "Each point is a class in one member."
    )
    show_chart(
        balance_chart((means.assign(member="mean") if many else points).assign(level=""), pooled_frame({"": each})),
        f"balances-{key}",
        "A point per class: normalised recall balance after against before, with the pooled slope.",
    )
    show_table(means.sort_values("balance_after_pp", kind="stable"), f"balances-{key}", CLASSES)


def _questions(study_audit: StudyAudit, found: Mapping[str, Distortion]) -> None:
    slopes, _ = _tables(study_audit, found)
    asked = slope_questions(study_audit, slopes)
    if not asked:
        st.info("The questions of [R] 7 are about pruned variants, and this study has none.")
    for i, (title, answers, form) in enumerate(asked):
        st.markdown(f"**{prose(title)}**")
        flat = answers.reset_index().rename(columns=str)
        config = {
            name: _number(format="%" + form)
            if pd.api.types.is_float_dtype(flat[name])
            else st.column_config.TextColumn(pinned=True)
            for name in flat
        }
        show_table(flat, f"slope-questions-{i + 1}", config)


def _tables(study_audit: StudyAudit, found: Mapping[str, Distortion]) -> tuple[pd.DataFrame, pd.DataFrame]:
    there = places(study_audit)
    slopes = slope_frame({there[key]: each for key, each in found.items()}, by=BY)
    return slopes, slope_intervals(slopes, alpha=study_audit.data.alpha)


def _placed(place: tuple[str, float | str]) -> dict[str, float | str]:
    return dict(zip(BY, place, strict=True))
