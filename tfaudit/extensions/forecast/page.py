"""What the margins of the dense model have told, and the images with the smallest ones."""

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app import audit_page
from tfaudit.app.controls import shown_variant
from tfaudit.app.exemplars import draw_images, named
from tfaudit.app.markdown import escape
from tfaudit.app.viewer_page import ViewerPage
from tfaudit.audits.flips.image_changes import UNCHANGED, image_changes

AFTER = ["compressed_mode", "compressed_share", "after_right", "kind", "lost_share"]
"""Columns of an image's predictions after compression."""

MARGINS = (
    "The margin of an example is the probability of its predicted class minus that of the second best, before "
    "compression. Small ones change first."
)

PAGE = ViewerPage(__name__, "Forecast", ("forecast",), "more", definition=MARGINS)


def page(study_audit: StudyAudit) -> None:
    """Draw the page; the images alone while nothing is compressed."""
    audit_page.page(study_audit, "forecast")
    data = study_audit.data
    if not data.has_probabilities(BASELINE):
        return
    first = study_audit.result("smallest_margins", BASELINE).set_index("index")
    st.header(f"Look at these {len(first):,} examples first")
    told = "The smallest margins between two classes before compression come first."
    key = shown_variant(study_audit) if data.compressed_keys else BASELINE
    changes = image_changes(study_audit.counts(BASELINE), study_audit.counts(key))
    rows = named(study_audit, key, changes.loc[first.index]).assign(
        baseline_mode=first["prediction"], second=first["second"], margin=first["margin"]
    )
    if key == BASELINE:
        rows = rows.drop(columns=AFTER)
    else:
        changed = changes["kind"] != UNCHANGED
        counts = f"{changed[first.index].sum():,} of these and {changed.sum():,} of all {len(changed):,} examples"
        told += f" With {data.titles[key]}, {counts} change their prediction."
    st.markdown(escape(told))
    draw_images(study_audit, key, rows)
