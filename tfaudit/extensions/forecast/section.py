"""Forecast: made by hand because it shows the images to look at first."""

import dataclasses

import numpy as np

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audits.flips.image_changes import UNCHANGED, image_changes
from tfaudit.outlets.exemplar_cards import Card, cards
from tfaudit.outlets.sections.audit import audit_section
from tfaudit.outlets.sections.section import Section

SHOWN = 24
"""Number of images in a report; the viewer shows more."""


def forecast_section(study_audit: StudyAudit) -> Section | None:
    """Return what the margins have told, and the images with the smallest ones."""
    section = audit_section(study_audit, "forecast")
    if section is None:
        return None
    heading = "Examples to look at first: the smallest margins before compression"
    return dataclasses.replace(section, gallery=(heading, _first_images(study_audit)))


def _first_images(study_audit: StudyAudit) -> list[Card]:
    """Return cards that say by how many variants each image changes."""
    data = study_audit.data
    rows = study_audit.result("smallest_margins", BASELINE).head(SHOWN)
    places = rows["index"].to_numpy()
    before = study_audit.counts(BASELINE)
    keys = data.compressed_keys
    changes = [image_changes(before, study_audit.counts(key)).iloc[places] for key in keys]
    changed = np.sum([frame["kind"] != UNCHANGED for frame in changes], axis=0)
    rows = rows.rename(columns={"class": "label", "prediction": "baseline_mode"}).assign(
        baseline_share=before.share()[places],
        changed_by=[_in_words(count, len(keys)) for count in changed],
    )
    return cards(rows, data.store.images(data.split, places.tolist()))


def _in_words(count: int, variants: int) -> str:
    if not count:
        return "no"
    return "yes" if variants == 1 else f"by {count} of {variants} variants"
