"""Accuracy against properties of the images."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.trends import Trends
from tfaudit.report.sections.section import Figure, ReportTable, Section, notes_of


def trends_section(study_audit: StudyAudit) -> Section | None:
    """Return accuracy against tilt and ink of small grey images, where the data name groups or individuals."""
    data = study_audit.data
    if not len(data.groups.columns):
        return None
    results = {(key, i): result for key in data.compressed_keys for i, result in enumerate(study_audit.trends(key))}
    if not results:
        return None
    figures = [
        figure
        for (key, i), result in results.items()
        for figure in _figures(result, f"property-{i}-{key}", data.titles[key], data.individuals is not None)
    ]
    tables = tuple(_table(result, data.titles[key]) for (key, _), result in results.items())
    return Section.of_audit("trends", tuple(figures), tables, notes_of(results.values()))


def _figures(result: Trends, name: str, title: str, individuals: bool) -> list[Figure]:
    title = f"{title}: {result.property}"
    description = f"Accuracy against {result.property}, before and after, with fitted lines."
    figures = [Figure(name, result.chart(), description, title)]
    description = f"Change of accuracy against {result.property}, with a parabola per group."
    figures.append(Figure(f"{name}-change", result.change_chart(), description, f"{title}, change"))
    description = f"Histogram of {result.property} in every group."
    figures.append(Figure(f"{name}-histogram", result.histogram(), description, f"{title}, distribution"))
    if individuals:
        description = f"Accuracy of every individual after against before, coloured by {result.property}."
        figures.append(Figure(f"{name}-individuals", result.scatter(), description, f"{title}, by individual"))
    return figures


def _table(result: Trends, title: str) -> ReportTable:
    title, headings = f"{title}: slopes on {result.property}", {"group": result.column}
    bend = ("curvature", "curvature_low", "curvature_high", "curvature_p")
    names = ("group", "measure", "units", "intercept", "slope", "slope_low", "slope_high", "p", *bend)
    return ReportTable.of(title, result.frame(), names, "trends", headings=headings, folded=True)
