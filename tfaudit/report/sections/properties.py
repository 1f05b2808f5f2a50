"""What the images that compression forgets look like."""

from __future__ import annotations

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.trends import Trends
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["properties_section"]


def properties_section(study_audit: StudyAudit) -> Section | None:
    """Accuracy against tilt and activation of small grey images, where the data name groups or individuals."""
    if not len(study_audit.data.groups.columns):
        return None
    found = {
        (key, i): each for key in study_audit.data.compressed_keys for i, each in enumerate(study_audit.trends(key))
    }
    if not found:
        return None
    return Section(
        "properties",
        "Properties of the images",
        "Accuracy against how far a digit leans and how much ink it holds, before and after, with a line per group: "
        "where the lines part, compression hurts one kind of image more.",
        "[P] 4.1 and C",
        tuple(
            figure for (key, i), each in found.items() for figure in _figures(each, f"property-{i}-{key}", study_audit)
        ),
        tuple(_table(each, study_audit.data.titles[key]) for (key, _), each in found.items()),
        tuple(dict.fromkeys(note for each in found.values() for note in each.notes)),
    )


def _figures(found: Trends, name: str, study_audit: StudyAudit) -> list[Figure]:
    title = f"{study_audit.data.titles[name.split('-', 2)[2]]}: {found.property}"
    lines = f"Accuracy against {found.property}, before and after, with lines."
    figures = [Figure(name, found.chart(), lines, title)]
    if study_audit.data.individuals is not None:
        points = f"Accuracy of every individual after against before, coloured by {found.property}."
        figures.append(Figure(f"{name}-individuals", found.scatter(), points, f"{title}, by individual"))
    return figures


def _table(found: Trends, title: str) -> Table:
    frame = found.frame()
    return Table(
        f"{title}: slopes on {found.property}",
        (
            column(frame, "group", found.column),
            column(frame, "measure", "accuracy"),
            column(frame, "units", "points", ",d"),
            column(frame, "slope", "slope", "+.4g", meaning="accuracy, a share, per unit of the property"),
            column(frame, "slope_low", "from", "+.4g", meaning="lower end of its interval"),
            column(frame, "slope_high", "to", "+.4g", meaning="upper end"),
            column(frame, "p", "p", ".2g", meaning="of slope 0"),
        ),
        folded=True,
    )
