"""Whom compression hurts: groups and individuals, [P] 4.1, and the groups that exemplars come from, [F] 3.2."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import streamlit as st

from tfaudit.app.choosing import choose_among, choose_variant, draw_tabs, has_variants
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import labels, plain, prose
from tfaudit.charts.groups import groups_chart, individuals_chart
from tfaudit.report.sections.groups import SAYS

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

_number = st.column_config.NumberColumn
_text = st.column_config.TextColumn
GROUPS = {
    "group": _text(pinned=True),
    "examples": _number("images"),
    "accuracy_before": _number("accuracy before", format="percent"),
    "accuracy_after": _number("after", format="percent"),
    "difference_pp": _number("change", format="%+.2f", help="Percentage points"),
    "normalised_pp": _number("normalised", format="%+.2f", help="Less the change of the overall accuracy, points"),
    "low_pp": _number("from", format="%+.2f", help="Lower end of the interval of what was tested"),
    "high_pp": _number("to", format="%+.2f", help="Upper end"),
    "test": _text(),
    "p": _number(format="%.2g"),
    "p_holm": _number("p, Holm", format="%.2g"),
    "p_bh": _number("p, BH", format="%.2g"),
    "direction": _text(),
}
INDIVIDUALS = {
    "individual": _text(pinned=True),
    "group": _text(),
    "examples": _number("images"),
    "accuracy_before": _number("accuracy before", format="percent"),
    "accuracy_after": _number("after", format="percent"),
    "difference_pp": _number("change", format="%+.1f", help="Percentage points"),
}
FITS = {
    "group": _text(pinned=True),
    "individuals": _number(),
    "slope": _number(format="%.3f", help="Of accuracy after on accuracy before"),
    "slope_low": _number("from", format="%.3f", help="Lower end of its interval"),
    "slope_high": _number("to", format="%.3f", help="Upper end"),
    "intercept": _number(format="%+.3f"),
    "r": _number(format="%.3f", help="Correlation"),
}
ATTRIBUTES = {
    "attribute": _text(pinned=True),
    "value": _text(),
    "examples": _number("images"),
    "share_pie": _number("of PIEs", format="percent"),
    "share_non_pie": _number("of others", format="percent"),
    "ratio": _number(format="%.2f", help="Above 1: PIEs have it more often"),
    "difference_pp": _number("difference", format="%+.2f", help="Percentage points"),
    "low_pp": _number("from", format="%+.2f", help="Lower end of its interval"),
    "high_pp": _number("to", format="%+.2f", help="Upper end"),
    "test": _text(),
    "p": _number(format="%.2g"),
    "p_holm": _number("p, Holm", format="%.2g", help="Over all rows"),
}
PROPERTIES = {
    "group": _text(pinned=True),
    "measure": _text("accuracy"),
    "units": _number("points"),
    "slope": _number(format="%+.4g", help="Accuracy, a share, per unit of the property"),
    "slope_low": _number("from", format="%+.4g", help="Lower end of its interval"),
    "slope_high": _number("to", format="%+.4g", help="Upper end"),
    "p": _number(format="%.2g", help="Of slope 0"),
}


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Groups")
    people = study_audit.data.individuals
    if not study_audit.data.group_columns and people is None:
        st.info(
            "The examples of this study name no groups and no individuals. `tfaudit audit` takes them from a file with "
            "`--groups FILE`; `tfaudit run` keeps those that the data set names."
        )
        return
    st.markdown(prose(SAYS))
    if not has_variants(study_audit):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = choose_variant(study_audit)
        column = None
        if len(study_audit.data.group_columns) > 1:
            names = dict(zip(study_audit.data.group_columns, labels(study_audit.data.group_columns), strict=True))
            column = st.selectbox("Group by", list(names), format_func=names.__getitem__, key="by", bind="query-params")
        elif study_audit.data.group_columns:
            column = study_audit.data.group_columns[0]
    views = {"Groups": _groups, "Individuals": _individuals, "Exemplars": _exemplars, "Images": _properties}
    draw_tabs({name: functools.partial(draw, study_audit, key, column) for name, draw in views.items()}, "groups")


def _groups(study_audit: StudyAudit, key: str, column: str | None) -> None:
    found = study_audit.groups(key, column)
    show_chart(
        groups_chart(found.table, found.individuals.head(0), found.fits, found.name),
        f"groups-{key}",
        "Accuracy of every group before and after, with intervals over members.",
    )
    show_table(found.frame().sort_values("difference_pp", kind="stable"), f"groups-{key}", GROUPS)
    show_notes(found.notes)


def _individuals(study_audit: StudyAudit, key: str, column: str | None) -> None:
    if study_audit.data.individuals is None:
        st.info("No column of this study names individuals, such as writers, patients or devices, who come up again.")
        return
    found = study_audit.groups(key, column)
    left, right = st.columns(2)
    with left:
        show_chart(
            individuals_chart(found.individuals, found.fits, found.name),
            f"individuals-{key}",
            "Accuracy of every individual after against before, with a line per group.",
        )
    with right:
        st.markdown(f"**Individuals ({plain(str(study_audit.data.individuals.name))}), the hardest hit first**")
        hit = found.individuals_frame().sort_values(["difference_pp", "examples"], kind="stable")
        show_table(hit, f"individuals-{key}", INDIVIDUALS)
        st.markdown("**Accuracy after on accuracy before: a line per group**")
        show_table(found.fits, f"fits-{key}", FITS)
    show_notes(found.notes)


def _exemplars(study_audit: StudyAudit, key: str, _: str | None) -> None:
    if not study_audit.data.group_columns:
        st.info("No column of this study names groups or attributes that an exemplar could have more often.")
        return
    found = study_audit.attributes(key)
    st.markdown(f"Which groups do the {found.pies:,} PIEs come from more often than the {found.others:,} other images?")
    show_chart(found.chart(), f"attributes-{key}", "Share of PIEs and of other images with each attribute.")
    show_table(found.frame().sort_values("p", kind="stable"), f"attributes-{key}", ATTRIBUTES)
    show_notes(found.notes)


def _properties(study_audit: StudyAudit, key: str, _: str | None) -> None:
    measured = study_audit.trends(key)
    if not measured:
        st.info("Tilt and activation are measured of small grey images of one size: digits, letters, drawings.")
        return
    names = [each.property for each in measured]
    found = measured[names.index(choose_among("Property", names, "property"))]
    left, right = st.columns(2)
    with left:
        lines = f"Accuracy against {found.property}, before and after, with lines."
        show_chart(found.chart(), f"property-{key}", lines)
    with right:
        if study_audit.data.individuals is not None:
            points = f"Accuracy of every individual after against before, coloured by {found.property}."
            show_chart(found.scatter(), f"property-{key}-individuals", points)
    show_table(found.frame(), f"property-{key}", PROPERTIES)
    show_notes(found.notes)
