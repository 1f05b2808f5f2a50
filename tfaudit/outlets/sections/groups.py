"""Groups and individuals before and after compression."""

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.groups.chart import largest_losses_first
from tfaudit.audits.groups.groups import Groups
from tfaudit.outlets.sections.section import ReportTable, Section, chart_per_variant, notes_of

HARDEST_HIT = 10  # individuals in the table of those who lose most
LONG = 12  # longer tables are folded

CHANGE = ("examples", "accuracy_before", "accuracy_after", "change_pp")
RELATIVE = ("relative_pp", "relative_verdict")


def groups_section(study_audit: StudyAudit) -> Section | None:
    """Return accuracy before and after per group, and per individual where a column names them."""
    data = study_audit.data
    if not data.group_columns and data.individuals is None:
        return None
    columns: list[str | None] = [*data.group_columns] or [None]
    by_variant = {key: [study_audit.groups(key, column) for column in columns] for key in data.compressed_keys}
    first = {key: results[0] for key, results in by_variant.items()}
    tables = [_group_table(result, data.titles[key]) for key, results in by_variant.items() for result in results]
    tables += [_individuals_table(result, data.titles[key]) for key, result in first.items() if len(result.individuals)]
    description = "Accuracy of every group before and after; a point per individual where they are known."
    return Section.of_audit(
        "groups",
        chart_per_variant("groups", first, data.titles, description),
        tuple(tables),
        notes_of(result for results in by_variant.values() for result in results),
    )


def _group_table(result: Groups, title: str) -> ReportTable:
    frame = largest_losses_first(result.frame())
    names = ("group", *CHANGE, "change_low_pp", "change_high_pp", "change_p_holm", "verdict", *RELATIVE)
    headings = {"group": result.name}
    return ReportTable.of(f"{title}: by {result.name}", frame, names, headings=headings, folded=len(frame) > LONG)


def _individuals_table(result: Groups, title: str) -> ReportTable:
    frame = result.individuals_frame().sort_values(["change_pp", "examples"], kind="stable").head(HARDEST_HIT)
    title = f"{title}: the {len(frame)} individuals who lose most, of {len(result.individuals):,}"
    names, headings = ("individual", "group", *CHANGE), {"group": result.name}
    return ReportTable.of(title, frame, names, "individuals", headings=headings, folded=True)
