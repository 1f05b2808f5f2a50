"""Accuracy against properties of the images; made by hand because an image shows how tilt is measured."""

import dataclasses

from tfaudit.analysis.stored_images import tilt_example
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.charts.renderer import can_draw
from tfaudit.outlets.sections.audit import audit_section
from tfaudit.outlets.sections.section import Figure, Section

FIRST = 200
"""Number of images of which one shows how the tilt is measured."""


def trends_section(study_audit: StudyAudit) -> Section | None:
    """Return accuracy against tilt and ink of small grey images; None unless the data name groups or individuals."""
    section = audit_section(study_audit, "trends")
    if section is None:
        return None
    return dataclasses.replace(section, figures=(*section.figures, *_tilt_example(study_audit)))


def _tilt_example(study_audit: StudyAudit) -> tuple[Figure, ...]:
    """Return a figure of how tilt is measured on one of the first images; () if it is not measured."""
    data = study_audit.data
    if not can_draw() or not any(
        values.name == "absolute tilt" for values in data.image_properties
    ):
        return ()
    count = len(data.store.examples(data.split, images=False, groups=False))
    example = tilt_example(data.store.images(data.split, range(min(FIRST, count))))
    if example is None:
        return ()
    from tfaudit.audits.trends.chart import tilt_chart

    description = "A grey image, and its brighter pixels with the least-squares line through them."
    return (Figure("tilt", tilt_chart(*example), description, "How the tilt is measured"),)
