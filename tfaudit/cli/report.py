"""`tfaudit report`: the table of a study and its report.html."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import Directory, app, out

if TYPE_CHECKING:
    import pandas as pd

    from tfaudit.audit.summary import Summary
    from tfaudit.report.sections.section import Section
    from tfaudit.store import Store

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
    from tfaudit.prediction_files import read_beside, read_table
    from tfaudit.report.images import save_charts
    from tfaudit.store import open_store

    store = open_store(directory)
    beside = None
    if groups:
        ids = store.examples(images=False, groups=False)["example"].to_numpy()
        beside = read_beside(groups, ids, len(ids), str(directory), id_name=id_column)
    told = read_table(answers).frame() if answers else None
    audit, sections = show(store, alpha=alpha, permutations=permutations, groups=beside, answers=told)
    if charts:
        for path in save_charts(store, charts, audit=audit, sections=sections):
            out.print(path, soft_wrap=True)


def show(
    store: Store,
    *,
    alpha: float = 0.05,
    permutations: int = 1000,
    groups: pd.DataFrame | None = None,
    answers: pd.DataFrame | None = None,
    table: bool = True,
) -> tuple[Summary, tuple[Section, ...]]:
    """Prints the table, unless it is not wanted, writes the report and returns what both show.

    See `read_study` and `study_sections` for the options.
    """
    from tfaudit.report.html import write_report
    from tfaudit.report.sections.order import study_sections
    from tfaudit.report.study import read_study
    from tfaudit.report.tables import terminal_table

    audit = read_study(store, alpha=alpha, permutations=permutations)
    sections = study_sections(store, audit, groups=groups, answers=answers)
    if table and audit.table["members"].max() == 1 and audit.exemplars:
        _show_pairs(store, audit)
    elif table:
        out.print(terminal_table(audit))
    out.print(f"report: {write_report(store, audit=audit, sections=sections)}", soft_wrap=True)
    return audit, sections


def _show_pairs(store: Store, audit: Summary) -> None:
    """The table of `tfaudit compare`: populations of one have no tests of populations."""
    from tfaudit.audit.pairs import compare
    from tfaudit.cli.compare import show_pairs

    baseline, titles = store.predictions(audit.baseline), audit.table.set_index("variant")["title"]
    pairs = {titles[key]: compare(baseline, store.predictions(key), alpha=audit.alpha) for key in audit.exemplars}
    sizes = audit.table.set_index("title")["bytes"].rename({titles[audit.baseline]: "baseline"}).dropna()
    show_pairs(pairs, alpha=audit.alpha, sizes={str(name): int(size) for name, size in sizes.items()})
