"""Groups and individuals ([P] 4.1), the groups that exemplars come from ([F] 3.2), and properties of images."""

import functools
from collections.abc import Mapping
from typing import Any

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_question
from tfaudit.app.controls import choose_option, choose_variant, draw_tabs, has_variants
from tfaudit.app.display import show_chart, show_notes, show_table
from tfaudit.app.drill_down import RANGE, on_points, on_rows, show_images
from tfaudit.app.exemplars import CHANGED
from tfaudit.app.image_panel import open_image
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.app.nouns import with_noun
from tfaudit.app.quantities import quantity_of_property
from tfaudit.app.url_state import choose_from, single_choice
from tfaudit.audits.attributes.declaration import ATTRIBUTES
from tfaudit.audits.groups.chart import groups_chart, individuals_chart
from tfaudit.audits.groups.declaration import GROUPS
from tfaudit.audits.trends.declaration import TRENDS


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    columns = study_audit.data.group_columns
    if not columns and study_audit.data.individuals is None:
        st.info(
            "This study names no groups and no individuals. `tfaudit audit --groups FILE` adds them; `tfaudit run` "
            "stores those that the data set names."
        )
        return
    show_question(GROUPS)
    if not has_variants(study_audit):
        return
    key = choose_variant(study_audit)
    column = columns[0] if columns else None
    if len(columns) > 1:
        labels = dict(zip(columns, unique_labels(columns), strict=True))
        lists: dict[str, Any] = {"format_func": labels.__getitem__}
        column = choose_from(st.selectbox, "Group by", columns, "by", columns[0], **lists)
    else:
        single_choice("by", column)
    views = {
        "Groups": _groups,
        "Individuals": _individuals,
        "Exemplars": _exemplars,
        "Images": _properties,
    }
    empty = {
        "Individuals": study_audit.data.individuals is None,
        "Exemplars": not columns,
        "Images": not study_audit.data.measures_images,
    }
    draw_tabs(
        {
            name: functools.partial(draw, study_audit, key, column)
            for name, draw in views.items()
            if not empty.get(name)
            or st.query_params.get("groups") == name  # a link to it leads to what it takes
        },
        "groups",
    )


def _groups(study_audit: StudyAudit, key: str, column: str | None) -> None:
    result = study_audit.groups(key, column)
    chart = groups_chart(result.table, result.individuals.head(0), result.fits, result.name)
    rows = GROUPS.table.rows(result)

    def opened(row: Mapping[str, Any]) -> None:
        if column is not None and row.get("group") is not None:
            show_images(study_audit, {"grouping": column, "group": row["group"]})

    text = (
        "A line per group: its accuracy before and after compression, with intervals over images and members. A click "
        "shows its images."
    )
    clicks = on_points("groups", opened)
    show_chart(chart, f"groups-{key}", text, clicks=clicks, fields=["group"])
    show_table(
        rows, f"groups-{key}", GROUPS.table.columns, clicks=on_rows("groups table", rows, opened)
    )
    show_notes(result.notes)


def _individuals(study_audit: StudyAudit, key: str, column: str | None) -> None:
    individuals = study_audit.data.individuals
    if individuals is None:
        none = "No column of this study names individuals with several images, such as writers, patients or devices."
        st.info(with_noun(none))
        return
    result = study_audit.groups(key, column)
    left, right = st.columns(2)
    opened = functools.partial(_open_individual, study_audit)
    with left:
        chart = individuals_chart(result.individuals, result.fits, result.name)
        text = (
            "A point per individual: accuracy after against before; below the dashed line it lost; a line per group. A "
            "click shows the images."
        )
        clicks = on_points("individuals", opened)
        show_chart(chart, f"individuals-{key}", text, clicks=clicks, fields=["individual"])
    with right:
        st.markdown(
            f"**Individuals ({escape_name(str(individuals.name))}), the largest losses first**"
        )
        table = GROUPS.tables["individuals"]
        losses = table.rows(result)
        rows = on_rows("individuals table", losses, opened)
        show_table(losses, f"individuals-{key}", table.columns, table="individuals", clicks=rows)
        st.markdown("**Fitted lines of accuracy after on accuracy before, one per group**")
        show_table(result.fits, f"fits-{key}", GROUPS.tables["fits"].columns, table="fits")
    show_notes(result.notes)


def _open_individual(study_audit: StudyAudit, row: Mapping[str, Any]) -> None:
    """Lead to the images of an individual that was clicked."""
    if (one := row.get("individual", row.get("unit"))) is not None:
        show_images(study_audit, {"individual": one})


def _exemplars(study_audit: StudyAudit, key: str, _: str | None) -> None:
    if not study_audit.data.group_columns:
        st.info(with_noun("No column of this study names groups or attributes of images."))
        return
    result = study_audit.attributes(key)
    show_question(ATTRIBUTES)
    st.markdown(with_noun(f"{result.pies:,} PIEs, {result.others:,} other images."))

    def opened(row: Mapping[str, Any]) -> None:
        if row.get("attribute") is not None:
            show_images(study_audit, row, show=CHANGED)

    text = "A line per attribute: its share among the PIEs and among the other images. A click shows the PIEs with it."
    clicks = on_points("attributes", opened)
    show_chart(
        result.chart(), f"attributes-{key}", text, clicks=clicks, fields=["attribute", "value"]
    )
    rows = ATTRIBUTES.table.rows(result)
    clickable = on_rows("attributes table", rows, opened)
    show_table(
        rows, f"attributes-{key}", ATTRIBUTES.table.columns, table="attributes", clicks=clickable
    )
    show_notes(result.notes)


def _properties(study_audit: StudyAudit, key: str, _: str | None) -> None:
    results = {result.property: result for result in study_audit.trends(key)}
    if not results:
        st.info(
            "Tilt and activation are measured on small grey images of equal size: digits, letters, drawings."
        )
        return
    show_question(TRENDS)
    result = results[choose_option("Property", list(results), "property")]
    quantity = quantity_of_property(study_audit, result.property)

    def opened(row: Mapping[str, Any]) -> None:
        """Show the images in a range of the property, or one image, or those of an individual."""
        if "range_low" in row:
            grouping = (
                {"grouping": result.column}
                if result.column in study_audit.data.group_columns
                else {}
            )
            show_images(study_audit, {**row, **grouping, "quantity": quantity})
        elif study_audit.data.individuals is not None:
            _open_individual(study_audit, row)
        elif row.get("unit") is not None:
            open_image(int(row["unit"]))

    left, right = st.columns(2)
    fields = ["group", *RANGE]
    with left:
        lines = (
            f"Accuracy of images by their {result.property}, before and after, with fitted lines. A click on a point "
            "shows the images in its range."
        )
        clicks = on_points("property in ranges", opened)
        show_chart(result.chart(), f"property-{key}", lines, clicks=clicks, fields=fields)
    with right:
        if study_audit.data.individuals is not None:
            points = (
                f"A point per individual: accuracy after against before, coloured by {result.property}. A click shows "
                "the images."
            )
            clicks = on_points("property of individuals", opened)
            show_chart(
                result.scatter(),
                f"property-{key}-individuals",
                points,
                clicks=clicks,
                fields=["unit"],
            )
    left, right = st.columns(2)
    with left:
        change = f"Change of accuracy against {result.property}, with a parabola per group. A click shows the images."
        clicks = on_points("change by property", opened)
        show_chart(
            result.change_chart(), f"property-{key}-change", change, clicks=clicks, fields=["unit"]
        )
    with right:
        bars = f"Histogram of {result.property} in every group. A click on a bar shows its images."
        clicks = on_points("histogram of property", opened)
        show_chart(
            result.histogram(), f"property-{key}-histogram", bars, clicks=clicks, fields=fields
        )
    show_table(result.frame(), f"property-{key}", TRENDS.table.columns, table="trends")
    show_notes(result.notes)
