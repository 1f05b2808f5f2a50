"""Groups and individuals ([P] 4.1), the groups that exemplars come from ([F] 3.2), and properties of images."""

import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import declaration_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_question, show_result
from tfaudit.app.controls import choose_option, choose_variant, draw_tabs, has_variants
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.app.quantities import quantity_of_property
from tfaudit.app.url_state import choose_from, single_choice
from tfaudit.audits.attributes.declaration import ATTRIBUTES
from tfaudit.audits.groups.declaration import GROUPS


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
        label = dict(zip(columns, unique_labels(columns), strict=True)).__getitem__
        column = choose_from(st.selectbox, "Group by", columns, "by", columns[0], format_func=label)
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
        "Images": "trends" not in AUDITS or not study_audit.data.measures_images,
    }
    linked = st.query_params.get("groups")  # a link to an empty tab leads to what it takes
    shown = {name: draw for name, draw in views.items() if not empty.get(name) or linked == name}
    draw_tabs(shown, "groups", study_audit, key, column)


def _groups(study_audit: StudyAudit, key: str, column: str | None) -> None:
    result = study_audit.groups(key, column=column)
    known = {"grouping": column}
    show_result(study_audit, GROUPS, result, f"groups-{key}", tables=["groups"], known=known)


def _individuals(study_audit: StudyAudit, key: str, column: str | None) -> None:
    individuals = study_audit.data.individuals
    if individuals is None:
        none = "No column of this study names individuals with several examples, such as writers, patients or devices."
        st.info(none)
        return
    st.markdown(f"Individuals: {escape_name(str(individuals.name))}.")
    result = study_audit.groups(key, column=column)
    show_result(study_audit, GROUPS, result, f"groups-{key}", tables=["individuals", "fits"])


def _exemplars(study_audit: StudyAudit, key: str, _: str | None) -> None:
    if not study_audit.data.group_columns:
        st.info("No column of this study names groups or attributes of examples.")
        return
    result = study_audit.result("attributes", key)
    show_question(ATTRIBUTES)
    st.markdown(f"{result.pies:,} examples change (PIEs), {result.others:,} other examples.")
    show_result(study_audit, ATTRIBUTES, result, f"attributes-{key}")


def _properties(study_audit: StudyAudit, key: str, _: str | None) -> None:
    found = study_audit.result("trends", key) if "trends" in AUDITS else ()
    results = {result.property: result for result in found}
    if not results:
        st.info(
            "Tilt and activation are measured on small grey images of equal size: digits, letters, drawings."
        )
        return
    shown = declaration_of("trends")
    show_question(shown)
    result = choose_option("Property", results, "property")
    quantity = quantity_of_property(study_audit, result.property)
    known = {"grouping": result.column, "quantity": quantity}
    show_result(study_audit, shown, result, f"property-{key}", known=known)
