"""Groups and individuals ([P] 4.1), the groups that exemplars come from ([F] 3.2), and properties of images."""

import functools
from typing import Any

import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_question
from tfaudit.app.choices import choose_from
from tfaudit.app.controls import choose_option, choose_variant, draw_tabs, has_variants, on_selection
from tfaudit.app.display import POINT, go_to_later, show_chart, show_notes, show_table
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.charts.groups import groups_chart, individuals_chart

ACCURACIES = ("examples", "accuracy_before", "accuracy_after", "change_pp")
TEST = ("low_pp", "high_pp", "test", "p", "p_holm")
LOSS = ("change_low_pp", "change_high_pp", "change_p", "change_p_holm", "change_p_bh", "verdict")
DISPROPORTION = tuple(f"relative_{name}" for name in ("pp", "low_pp", "high_pp", "p", "p_holm", "p_bh", "verdict"))
PUBLISHED = ("published_pp", "published_p", "published_direction")
GROUPS = ("group", *ACCURACIES, *LOSS, *DISPROPORTION, *PUBLISHED)
INDIVIDUALS = ("individual", "group", *ACCURACIES)
FITS = ("group", "individuals", "slope", "slope_low", "slope_high", "intercept", "r")
ATTRIBUTES = ("attribute", "value", "examples", "share_pie", "share_non_pie", "ratio", "difference_pp", *TEST)
PROPERTIES = ("group", "measure", "units", "intercept", "slope", "slope_low", "slope_high", "p")
CURVATURE = ("curvature", "curvature_low", "curvature_high", "curvature_p")


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    columns = study_audit.data.group_columns
    if not columns and study_audit.data.individuals is None:
        st.info(
            "This study names no groups and no individuals. `tfaudit audit --groups FILE` adds them; `tfaudit run` "
            "stores those that the data set names."
        )
        return
    show_question(AUDITS["groups"])
    if not has_variants(study_audit):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = choose_variant(study_audit)
        column = columns[0] if columns else None
        if len(columns) > 1:
            labels = dict(zip(columns, unique_labels(columns), strict=True))
            lists: dict[str, Any] = {"format_func": labels.__getitem__}
            column = choose_from(st.selectbox, "Group by", columns, "by", columns[0], **lists)
    views = {"Groups": _groups, "Individuals": _individuals, "Exemplars": _exemplars, "Images": _properties}
    draw_tabs({name: functools.partial(draw, study_audit, key, column) for name, draw in views.items()}, "groups")


def _groups(study_audit: StudyAudit, key: str, column: str | None) -> None:
    result = study_audit.groups(key, column)
    chart = groups_chart(result.table, result.individuals.head(0), result.fits, result.name)
    rows = result.frame().sort_values("change_pp", kind="stable")

    def show_images(group: object) -> None:
        if column is not None:
            choices = {"attribute": f"{column}: {group}", "show": "all images", "order": "most right votes lost"}
            go_to_later("exemplars", **choices, exemplars=None, page=None)

    def choose_point(selection: Any) -> None:
        for point in selection.get(POINT, ()):
            if point.get("group") is not None:
                show_images(point["group"])

    def choose_row(selection: Any) -> None:
        for row, _ in selection["cells"]:
            show_images(rows["group"].iloc[row])

    text = (
        "A line per group: its accuracy before and after compression, with intervals over images and members. A click "
        "shows its images."
    )
    clicks = on_selection("groups", None, choose_point)
    show_chart(chart, f"groups-{key}", text, clicks=clicks, fields=["group"])
    show_table(rows, f"groups-{key}", GROUPS, clicks=on_selection("groups table", None, choose_row))
    show_notes(result.notes)


def _individuals(study_audit: StudyAudit, key: str, column: str | None) -> None:
    individuals = study_audit.data.individuals
    if individuals is None:
        st.info("No column of this study names individuals with several images, such as writers, patients or devices.")
        return
    result = study_audit.groups(key, column)
    left, right = st.columns(2)
    with left:
        chart = individuals_chart(result.individuals, result.fits, result.name)
        text = "A point per individual: accuracy after against before; below the dashed line it lost; a line per group."
        show_chart(chart, f"individuals-{key}", text)
    with right:
        st.markdown(f"**Individuals ({escape_name(str(individuals.name))}), the largest losses first**")
        losses = result.individuals_frame().sort_values(["change_pp", "examples"], kind="stable")
        show_table(losses, f"individuals-{key}", INDIVIDUALS, table="individuals")
        st.markdown("**Fitted lines of accuracy after on accuracy before, one per group**")
        show_table(result.fits, f"fits-{key}", FITS, table="fits")
    show_notes(result.notes)


def _exemplars(study_audit: StudyAudit, key: str, _: str | None) -> None:
    if not study_audit.data.group_columns:
        st.info("No column of this study names groups or attributes of images.")
        return
    result = study_audit.attributes(key)
    show_question(AUDITS["attributes"])
    st.markdown(f"{result.pies:,} PIEs, {result.others:,} other images.")
    show_chart(
        result.chart(),
        f"attributes-{key}",
        "A line per attribute: its share among the PIEs and among the other images.",
    )
    rows = result.frame().sort_values("p", kind="stable")
    show_table(rows, f"attributes-{key}", ATTRIBUTES, table="attributes")
    show_notes(result.notes)


def _properties(study_audit: StudyAudit, key: str, _: str | None) -> None:
    results = {result.property: result for result in study_audit.trends(key)}
    if not results:
        st.info("Tilt and activation are measured on small grey images of equal size: digits, letters, drawings.")
        return
    show_question(AUDITS["trends"])
    result = results[choose_option("Property", list(results), "property")]
    left, right = st.columns(2)
    with left:
        lines = f"Accuracy of images by their {result.property}, before and after, with fitted lines."
        show_chart(result.chart(), f"property-{key}", lines)
    with right:
        if study_audit.data.individuals is not None:
            points = f"A point per individual: accuracy after against before, coloured by {result.property}."
            show_chart(result.scatter(), f"property-{key}-individuals", points)
    left, right = st.columns(2)
    with left:
        change = f"Change of accuracy against {result.property}, with a parabola per group."
        show_chart(result.change_chart(), f"property-{key}-change", change)
    with right:
        show_chart(result.histogram(), f"property-{key}-histogram", f"Histogram of {result.property} in every group.")
    show_table(result.frame(), f"property-{key}", (*PROPERTIES, *CURVATURE), table="trends")
    show_notes(result.notes)
