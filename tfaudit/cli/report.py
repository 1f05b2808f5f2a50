"""`tfaudit report`: the table of a study and its report.html."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import Directory, app, err, out

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["report", "show"]


@app.command()
def report(
    directory: Directory,
    charts: Annotated[Path | None, typer.Option(help="Also write every chart as PNG, SVG and PDF to here.")] = None,
    groups: Annotated[
        Path | None, typer.Option(help="Table of what the examples belong to, such as writer, joined by their ids.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Table of a human study: rater, example, is_pie, a column per question.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of the example ids; else `example`, `example_id` or `id`.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests; intervals are at 1 - alpha.")] = 0.05,
    permutations: Annotated[
        int, typer.Option(help="Members are reassigned at random so often to see what chance gives; 0 for not.")
    ] = 1000,
) -> None:
    """Prints the table of a study and writes its report.html anew."""
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.readers.prediction_files import read_columns
    from tfaudit.readers.sources import open_table
    from tfaudit.report.chart_files import save_charts
    from tfaudit.store.store import open_store

    store = open_store(directory)
    beside = None
    if groups:
        ids = store.examples(images=False, groups=False)["example"].to_numpy()
        beside = read_columns(groups, ids, len(ids), str(directory), id_name=id_column)
    told = open_table(answers).frame() if answers else None
    study_audit = StudyAudit.read(store, alpha=alpha, permutations=permutations, groups=beside, answers=told)
    show(study_audit)
    if charts:
        for path in save_charts(study_audit, charts):
            out.print(path, soft_wrap=True)


def show(study_audit: StudyAudit, *, table: bool = True) -> None:
    """Prints the table, unless it is not wanted, and writes the report."""
    from tfaudit.report.html import write_report
    from tfaudit.report.tables import terminal_table

    with err.status("Auditing") as status:
        study_audit.prepare(lambda share, words: status.update(words))
    audit = study_audit.summary
    if table and audit.table["members"].max() == 1 and audit.exemplars:
        _show_pairs(study_audit)
    elif table:
        out.print(terminal_table(audit))
    out.print(f"report: {write_report(study_audit)}", soft_wrap=True)


def _show_pairs(study_audit: StudyAudit) -> None:
    """The table of `tfaudit compare`: populations of one have no tests of populations."""
    from tfaudit.report.pair_tables import pair_tables

    audit, titles = study_audit.summary, study_audit.data.titles
    pairs = {titles[key]: study_audit.model_pair(key) for key in study_audit.data.compressed_keys}
    sizes = audit.table.set_index("title")["bytes"].rename({titles[audit.baseline]: "baseline"}).dropna()
    known = {str(name): int(size) for name, size in sizes.items()}
    out.print(pair_tables(pairs, alpha=audit.alpha, sizes=known))
