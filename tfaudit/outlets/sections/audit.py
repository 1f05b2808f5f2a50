"""The section of an audit that needs no section of its own."""

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.sections.section import Figure, ReportTable, Section, titled_notes

ROWS = 40  # tables that are together longer are folded


def audit_section(study_audit: StudyAudit, name: str) -> Section | None:
    """Return a chart and a table per variant, or None where the study allows the audit of no variant.

    The columns of the table are those of the result's `frame`, shown as the catalogue of columns says.

    Args:
        study_audit: of the study.
        name: of a row of `AUDITS`, whose results have `.chart()` and `.frame()`, and may have `.tables()` and `notes`.
    """
    audit, data = AUDITS[name], study_audit.data
    shown = audit.shown
    assert shown is not None
    results = {
        (key, *map(str, arguments.values())): study_audit.result(name, key, **arguments)
        for key in data.titles
        if audit.applies(data, key)
        for arguments in audit.arguments(data, key)
    }
    if not results:
        return None
    titles = {place: ", ".join([data.titles[place[0]], *place[1:]]) for place in results}
    frames = {place: shown.table.rows(result) for place, result in results.items()}
    folded = sum(map(len, frames.values())) > ROWS
    figures, tables = [], []
    for place, result in results.items():
        title = titles[place]
        figures.append(
            Figure("-".join([name, *place]), result.chart(), f"{shown.title}: {title}.", title)
        )
        tables.append(ReportTable.declared(title, shown.table, frames[place], folded=folded))
        further = result.tables()
        tables += [
            ReportTable.of(f"{title}: {of}", rows, table=name, folded=True)
            for of, rows in further.items()
        ]
    notes = titled_notes({titles[place]: result for place, result in results.items()})
    return Section.of(shown, tuple(figures), tuple(tables), notes)
