"""Slices of images that lose most, and the images of one of them."""

import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app import audit_page
from tfaudit.app.controls import shown_variant
from tfaudit.app.exemplars import draw_cards
from tfaudit.app.image_panel import page_of
from tfaudit.app.url_state import choose_from
from tfaudit.app.viewer_page import ViewerPage
from tfaudit.audits.flips.image_changes import image_changes

SLICES = (
    "A slice is a cluster of examples that look alike to the dense model, chosen on one half of them and tested "
    "on the other."
)

PAGE = ViewerPage(__name__, "Slices", ("slices",), "groups", definition=SLICES)

PAGE_SIZE = 12


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    audit = AUDITS["slices"]
    audit_page.page(study_audit, "slices")
    key = shown_variant(study_audit)
    if key is None or not audit.applies(study_audit.data, key):
        return
    result = study_audit.result("slices", key)
    names = dict(zip(result.table["slice"], result.table["description"], strict=True))
    if not names:
        return
    number = choose_from(
        st.selectbox,
        "Examples of slice",
        list(names),
        "slice",
        next(iter(names)),
        format_func=lambda one: f"{one}: {names[one]}",
        resets=("page",),
    )
    changes = image_changes(study_audit.counts(BASELINE), study_audit.counts(key))
    st.caption("Examples that most models lose come first.")
    draw_cards(study_audit, key, page_of(changes.iloc[result.images(number)], PAGE_SIZE, "page"))
