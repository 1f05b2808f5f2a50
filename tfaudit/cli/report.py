"""`tfaudit report`: the table of a study and its report.html."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import Directory, app, out

if TYPE_CHECKING:
    from tfaudit.audit.summary import Summary
    from tfaudit.store import Store

__all__ = ["report", "show"]


@app.command()
def report(
    directory: Directory,
    charts: Annotated[Path | None, typer.Option(help="Also write every chart as PNG, SVG and PDF to here.")] = None,
) -> None:
    """Prints the table of a study and writes its report.html anew."""
    from tfaudit.report.images import save_charts
    from tfaudit.store import open_store

    store = open_store(directory)
    audit = show(store)
    if charts:
        for path in save_charts(store, charts, audit=audit):
            out.print(path, soft_wrap=True)


def show(store: Store, *, alpha: float = 0.05, permutations: int = 1000) -> Summary:
    """Prints the table and writes the report of one audit, and returns it; see `read_study` for the options."""
    from tfaudit.report.html import write_report
    from tfaudit.report.study import read_study
    from tfaudit.report.tables import terminal_table

    audit = read_study(store, alpha=alpha, permutations=permutations)
    out.print(terminal_table(audit))
    out.print(f"report: {write_report(store, audit=audit)}", soft_wrap=True)
    return audit
