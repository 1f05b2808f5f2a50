"""Attributes that exemplars have more often than other images."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.attributes.attributes import MANY, Attributes
from tfaudit.outlets.sections.section import ReportTable, Section, chart_per_variant, notes_of

LONG = 12  # longer tables are folded


def attributes_section(study_audit: StudyAudit) -> Section | None:
    """Return the attributes of PIEs against those of other images, where a variant has both."""
    data = study_audit.data
    if not data.group_columns or not study_audit.summary.exemplars:
        return None
    results = {key: study_audit.attributes(key) for key in data.compressed_keys}
    results = {key: result for key, result in results.items() if result.pies and result.others}
    if not results:
        return None
    return Section.of_audit(
        "attributes",
        chart_per_variant("attributes", results, data.titles, "Share of PIEs and of other images."),
        tuple(_table(result, data.titles[key]) for key, result in results.items()),
        notes_of(results.values()),
    )


def _table(result: Attributes, title: str) -> ReportTable:
    frame = result.frame().sort_values("p", kind="stable").head(MANY)
    frame["name"] = frame["attribute"].where(frame["value"] == "yes", frame["attribute"] + ": " + frame["value"])
    names = ("name", "share_pie", "share_non_pie", "ratio", "p", "p_holm", "test")
    title = f"{title}: {result.pies:,} PIE{'s' * (result.pies != 1)} and {result.others:,} other images"
    return ReportTable.of(title, frame, names, "attributes", folded=len(frame) > LONG)
