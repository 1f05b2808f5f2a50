"""Attributes that exemplars have more often than other images."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.attributes.attributes import MANY, Attributes
from tfaudit.audits.attributes.declaration import ATTRIBUTES
from tfaudit.errors import plural
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
    return Section.of(
        ATTRIBUTES,
        chart_per_variant("attributes", results, data.titles, "Share of PIEs and of other images."),
        tuple(_table(result, data.titles[key]) for key, result in results.items()),
        notes_of(results.values()),
    )


def _table(result: Attributes, title: str) -> ReportTable:
    frame = ATTRIBUTES.table.rows(result).head(MANY)
    title = f"{title}: {plural(result.pies, 'PIE')} and {result.others:,} other images"
    return ReportTable.declared(title, ATTRIBUTES.table, frame, folded=len(frame) > LONG)
