"""Accuracy against properties of the images."""

import dataclasses
from collections.abc import Iterable

from tfaudit.analysis.stored_images import tilt_example
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.trends.chart import tilt_chart
from tfaudit.audits.trends.declaration import TRENDS
from tfaudit.audits.trends.trends import Trends
from tfaudit.outlets.sections.section import Figure, ReportTable, Section, notes_of

FIRST = 200
"""Number of images of which one shows how the tilt is measured."""

SHOWN = 4
"""Largest number of variants whose charts are all shown at once; the charts of more are folded by variant."""


def trends_section(study_audit: StudyAudit) -> Section | None:
    """Return accuracy against tilt and ink of small grey images, where the data name groups or individuals."""
    data = study_audit.data
    if not len(data.groups.columns):
        return None
    results = {
        (key, i): result
        for key in data.compressed_keys
        for i, result in enumerate(study_audit.trends(key))
    }
    if not results:
        return None
    figures = _tilt_example(study_audit, results.values())
    properties: dict[int, Trends] = {}
    for (_, i), result in results.items():
        properties.setdefault(i, result)
    for i, result in properties.items():  # the same for all variants
        description = f"Histogram of {result.property} in every group."
        name, title = f"property-{i}-histogram", f"{result.property.capitalize()}: distribution"
        figures.append(Figure(name, result.histogram(), description, title))
    for (key, i), result in results.items():
        of_variant = _figures(
            result, f"property-{i}-{key}", data.titles[key], data.individuals is not None
        )
        folded = f"{data.titles[key]}: charts" if len(data.compressed_keys) > SHOWN else ""
        figures += [dataclasses.replace(figure, folded=folded) for figure in of_variant]
    tables = tuple(_table(result, data.titles[key]) for (key, _), result in results.items())
    return Section.of(TRENDS, tuple(figures), tables, notes_of(results.values()))


def _tilt_example(study_audit: StudyAudit, results: Iterable[Trends]) -> list[Figure]:
    """Return how the tilt of an image is measured, on one of the first."""
    if not any(result.property == "absolute tilt" for result in results):
        return []
    data = study_audit.data
    count = len(data.store.examples(data.split, images=False, groups=False))
    example = tilt_example(data.store.images(data.split, range(min(FIRST, count))))
    if example is None:
        return []
    description = "A grey image, and its brighter pixels with the least-squares line through them."
    return [Figure("tilt", tilt_chart(*example), description, "How the tilt is measured")]


def _figures(result: Trends, name: str, title: str, individuals: bool) -> list[Figure]:
    title = f"{title}: {result.property}"
    description = f"Accuracy against {result.property}, before and after, with fitted lines."
    figures = [Figure(name, result.chart(), description, title)]
    description = f"Change of accuracy against {result.property}, with a parabola per group."
    figures.append(Figure(f"{name}-change", result.change_chart(), description, f"{title}, change"))
    if individuals:
        description = (
            f"Accuracy of every individual after against before, coloured by {result.property}."
        )
        figures.append(
            Figure(f"{name}-individuals", result.scatter(), description, f"{title}, by individual")
        )
    return figures


def _table(result: Trends, title: str) -> ReportTable:
    title, headings = f"{title}: slopes on {result.property}", {"group": result.column}
    return ReportTable.declared(title, TRENDS.table, result.frame(), headings=headings, folded=True)
