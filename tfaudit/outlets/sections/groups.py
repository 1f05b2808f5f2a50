"""Groups and individuals before and after compression."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.groups.declaration import GROUPS
from tfaudit.audits.groups.groups import Groups
from tfaudit.outlets.sections.section import ReportTable, Section, chart_per_variant, notes_of

HARDEST_HIT = 10  # individuals in the table of those who lose most
LONG = 12  # longer tables are folded


def groups_section(study_audit: StudyAudit) -> Section | None:
    """Return accuracy before and after per group, and per individual where a column names them."""
    data = study_audit.data
    if not data.group_columns and data.individuals is None:
        return None
    columns: list[str | None] = [*data.group_columns] or [None]
    by_variant = {
        key: [study_audit.groups(key, column) for column in columns] for key in data.compressed_keys
    }
    first = {key: results[0] for key, results in by_variant.items()}
    tables = [
        _group_table(result, data.titles[key])
        for key, results in by_variant.items()
        for result in results
    ]
    tables += [
        _individuals_table(result, data.titles[key])
        for key, result in first.items()
        if len(result.individuals)
    ]
    description = (
        "Accuracy of every group before and after; a point per individual where they are known."
    )
    return Section.of(
        GROUPS,
        chart_per_variant("groups", first, data.titles, description),
        tuple(tables),
        notes_of(result for results in by_variant.values() for result in results),
    )


def _group_table(result: Groups, title: str) -> ReportTable:
    frame, headings = GROUPS.table.rows(result), {"group": result.name}
    folded = len(frame) > LONG
    return ReportTable.declared(
        f"{title}: by {result.name}", GROUPS.table, frame, headings=headings, folded=folded
    )


def _individuals_table(result: Groups, title: str) -> ReportTable:
    table = GROUPS.tables["individuals"]
    frame = table.rows(result).head(HARDEST_HIT)
    title = f"{title}: the {len(frame)} individuals who lose most, of {len(result.individuals):,}"
    return ReportTable.declared(title, table, frame, headings={"group": result.name}, folded=True)
