"""The section of an audit, made from its declaration and its results."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import JOINT_AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.declaration import Declaration, Table
from tfaudit.audits.gate.limits import Limits
from tfaudit.charts.renderer import can_draw
from tfaudit.errors import missing_extra
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.sections.section import Figure, Section, titled_notes

ROWS = 40  # the main tables of a section are folded if together they have more rows


@dataclasses.dataclass(frozen=True)
class TitledResult:
    """A result in a section.

    Attributes:
        result: result of an audit.
        title: title of the variant, and of the group or similar part; empty for the only result of a study.
        name: the title as it occurs in file names.
        variant: title of the variant alone; by default `title`.
    """

    result: Any
    title: str = ""
    name: str = ""
    variant: str = ""


def audit_section(study_audit: StudyAudit, name: str) -> Section | None:
    """Return the section of a row of `AUDITS`, or None if the study allows the audit for no variant."""
    audit = AUDITS[name]
    data = study_audit.data
    assert audit.shown is not None
    shown = []
    for key, title in data.titles.items():
        if not audit.applies(data, key):
            continue
        for arguments in audit.arguments(data, key):
            given = [str(value) for value in arguments.values() if value is not None]
            results = study_audit.result(name, key, **arguments)
            parts = results if isinstance(results, tuple) else (results,)
            for number, result in enumerate(parts):
                names = [key, *given, *([str(number)] if len(parts) > 1 else [])]
                shown.append(
                    TitledResult(result, ", ".join([title, *given]), "-".join(names), title)
                )
    section = section_of(audit.shown, shown)
    if section is None or audit.gallery is None:
        return section
    return dataclasses.replace(section, gallery=audit.gallery(study_audit))


def joint_section(study_audit: StudyAudit, limits: Limits, name: str) -> Section | None:
    """Return the section of an audit of all variants, or None if it has no result; it says which library it lacks."""
    audit = JOINT_AUDITS[name]
    try:
        result = audit.compute(study_audit, limits)
    except ModuleNotFoundError as error:
        note = f"{missing_extra(error, 'this section') or error}."
        return Section.of(audit.shown, (), (), (note,))
    return None if result is None else section_of(audit.shown, [TitledResult(result)])


def section_of(declaration: Declaration, results: Sequence[TitledResult]) -> Section | None:
    """Return the charts, tables, findings and notes of results, or None if the results contain none."""
    results = [shown for shown in results if declaration.says_something(shown.result)]
    if not results:
        return None
    overview = [joint_table(declaration.overview, results)] if declaration.overview else []
    return Section.of(
        declaration,
        [*_figures(declaration, results)],
        [*overview, *_tables(declaration, results)],
        titled_notes([(shown.title, shown.result) for shown in results]),
        corruption_strip=declaration.corruption_strip(results[0].result),
        findings=[
            finding
            for shown in results
            for finding in declaration.findings(shown.title, shown.result)
        ],
    )


def _figures(declaration: Declaration, results: Sequence[TitledResult]) -> Iterator[Figure]:
    """Yield the charts of each result, then the charts that all variants share; none if they cannot be drawn."""
    if not can_draw():
        return
    for shown in results:
        for chart in declaration.charts:
            if chart.shared or not chart.shown(shown.result):
                continue
            whole = [("", "", shown.result)]
            for key, variant, part in chart.each(shown.result) if chart.each else whole:
                question = f"{declaration.title}: {shown.title or declaration.question}"
                yield Figure(
                    _name(declaration.name, shown.name, chart.name, key),
                    chart.draw(part),
                    chart.description.format(result=shown.result) or question,
                    _title(shown.title, variant, chart.title.format(result=shown.result)),
                    variant=variant or shown.variant or shown.title,
                )
    yield from _shared_figures(declaration, results)


def _shared_figures(declaration: Declaration, results: Sequence[TitledResult]) -> Iterator[Figure]:
    """Yield the charts that all variants share, one of each title."""
    drawn = set()
    for chart in filter(lambda chart: chart.shared, declaration.charts):
        for result in (shown.result for shown in results if chart.shown(shown.result)):
            title = chart.title.format(result=result)
            if title not in drawn:
                drawn.add(title)
                name = _name(declaration.name, str(len(drawn)), chart.name)
                yield Figure(
                    name, chart.draw(result), chart.description.format(result=result), title
                )


def joint_table(table: Table, results: Sequence[TitledResult]) -> Grid:
    """Return a table with the rows of all results, each with the title of its result."""
    rows = table.joint({shown.title: shown.result for shown in results})
    return Grid.declared(table.title.format(result=results[0].result), table, rows)


def _tables(declaration: Declaration, results: Sequence[TitledResult]) -> Iterator[Grid]:
    """Yield the tables of each result; tables other than the main one only if they have rows."""
    tables = tuple(declaration.tables.values())
    if not tables and declaration.overview is None:
        tables = (declaration.table,)
    length = sum(len(tables[0].rows(shown.result)) for shown in results) if tables else 0
    for shown in results:
        for table in tables:
            rows = table.rows(shown.result)
            is_main = table is tables[0]
            if table.report_rows(rows).empty and not (is_main and rows.empty):
                continue
            title = _title(shown.title, table.title.format(result=shown.result)) or "Table"
            headings = table.headings(shown.result)
            folded = is_main and length > ROWS
            yield Grid.declared(title, table, rows, headings=headings, folded=folded)
        for title, rows in shown.result.tables().items():
            title = _title(shown.title, title)
            yield Grid.of(title, rows, table=declaration.name, folded=True)


def _title(*parts: str) -> str:
    return ": ".join(filter(None, parts))


def _name(*parts: str) -> str:
    return "-".join(filter(None, parts)).replace("_", "-")
