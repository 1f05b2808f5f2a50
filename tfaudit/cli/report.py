"""`tfaudit report`: print the table of a study and write its report."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.cli.console import app, err, out
from tfaudit.cli.gate_limits import GateFile, read_limits
from tfaudit.cli.options import IdColumn, Permutations, StudyAlpha, option, refuse
from tfaudit.cli.outputs import output_file, output_folder, require_apart
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tfaudit.analysis.study_audit import StudyAudit


@app.command()
def report(
    directories: Annotated[
        list[Path],
        typer.Argument(help="Directory of a study that `tfaudit run` made; several are compared."),
    ],
    charts: Annotated[
        Path | None,
        output_folder("Also write every chart as PNG, SVG and PDF into this directory."),
    ] = None,
    groups: Annotated[
        Path | None,
        option("Table of the groups of the examples, such as their writers, joined by example id."),
    ] = None,
    markdown: Annotated[
        Path | None, output_file("Also write the verdict as Markdown here.")
    ] = None,
    card: Annotated[
        bool,
        option("With --markdown: with front matter and metrics, as a model card.", "--model-card"),
    ] = False,
    pdf: Annotated[
        bool,
        option(
            "Also print the report as PDF beside it, with a Chromium or Chrome of this machine."
        ),
    ] = False,
    answers: Annotated[
        Path | None,
        option(
            "Answers of people who rated `tfaudit export --format survey`: rater, image and a column per question; "
            "key.csv lies beside them, or they have its columns example and is_pie."
        ),
    ] = None,
    gate: GateFile = None,
    id_column: IdColumn = None,
    alpha: StudyAlpha = None,
    permutations: Permutations = 1000,
    out_file: Annotated[
        Path | None,
        output_file(
            "HTML file to write; by default report.html in the study, or studies.html of several.",
            "--out",
        ),
    ] = None,
) -> None:
    """Print the verdict on a study and its table, and write its report; or compare several studies.

    Example: tfaudit report runs/digits --markdown verdict.md
    """
    if card and markdown is None:
        raise InputError(
            "--model-card", "no --markdown", "--markdown FILE, the model card to write"
        )
    if len(directories) > 1:
        refuse(
            "with several studies",
            charts=charts,
            groups=groups,
            answers=answers,
            gate=gate,
            id=id_column,
            markdown=markdown,
            pdf=pdf,
        )
        _compare(directories, out_file or Path("studies.html"), alpha)
        return
    (directory,) = directories
    _check_files(directory, out_file, markdown, pdf=pdf)
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.charts.renderer import require_drawing
    from tfaudit.readers.prediction_files import read_columns
    from tfaudit.store.requested_files import write_requested
    from tfaudit.store.store import open_store

    if charts:
        require_drawing()  # before anything is written
    printed = _printer() if pdf else None
    limits = read_limits(gate)
    store = open_store(directory)
    added = None
    if groups:
        ids = store.examples(images=False, groups=False)["example"].to_numpy()
        added = read_columns(groups, ids, len(ids), str(directory), id_name=id_column)
    ratings = _answers(answers) if answers else None
    study_audit = StudyAudit.read(
        store, alpha=alpha, permutations=permutations, groups=added, answers=ratings
    )
    page = show(study_audit, limits, path=out_file)
    if printed:
        place = page.with_suffix(".pdf")
        write_requested("--pdf", place, printed(page))
        out.tell(f"pdf: {place}")
    if markdown:
        from tfaudit.outlets.markdown import model_card, study_markdown

        text = (model_card if card else study_markdown)(study_audit, limits)
        write_requested("--markdown", markdown, text.encode())
        out.tell(markdown)
    if charts:
        from tfaudit.outlets.chart_files import save_charts

        for path in save_charts(study_audit, charts, limits=limits):
            out.tell(path)


def _printer() -> Callable[[Path], bytes]:
    """Return the function that prints a page as PDF."""
    from tfaudit.outlets.registry import EXPORTS

    if "pdf" not in EXPORTS:
        raise InputError("--pdf", "no extension that prints", "one, such as exports")
    return EXPORTS["pdf"].content()  # type: ignore[no-any-return]


def _answers(path: Path) -> pd.DataFrame:
    """Return answers of raters, joined with the key beside them unless they have its columns."""
    from tfaudit.readers.sources import open_table

    answers, key = open_table(path).frame(), path.with_name("key.csv")
    if "is_pie" in answers or "image" not in answers or not key.exists():
        return answers
    return answers.merge(open_table(key).frame(), on="image", how="left")


def _check_files(directory: Path, chosen: Path | None, markdown: Path | None, *, pdf: bool) -> None:
    """Raise an `InputError` unless the page, and the PDF beside it, have places of their own."""
    page = chosen or directory / "report.html"
    if pdf and page.exists() and not page.is_file():
        got = f"--out {page}, beside which no PDF can be written"
        raise InputError("--pdf", got, "no --out, or one that is a file")
    files = {
        "--out" if chosen else "report": page,
        "--markdown": markdown,
        "--pdf": page.with_suffix(".pdf") if pdf else None,
    }
    require_apart({name: path for name, path in files.items() if path is not None})


def _compare(directories: list[Path], path: Path, alpha: float | None) -> None:
    """Print and write the tables of several studies side by side."""
    from tfaudit.analysis.across_studies import named_studies
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.outlets.studies import studies_sections, write_studies

    audits = [StudyAudit.open(directory, alpha=alpha, permutations=0) for directory in directories]
    with err.status("Auditing"):
        studies = named_studies(audits)
        sections = studies_sections(studies)
    for table in itertools.chain(*(section.tables for section in sections)):
        if table.folded:  # too wide for a terminal
            continue
        out.print(f"\n{table.title}")
        out.print(table.in_terminal(gap=2))
    out.tell(f"report: {write_studies([*studies], sections, path)}")


def show(
    study_audit: StudyAudit,
    limits: Limits = DEFAULT_LIMITS,
    *,
    table: bool = True,
    path: Path | None = None,
) -> Path:
    """Prepare the audits, print the verdict and, if `table`, the table, and write the report; return its path.

    The report goes to `path` or to the study.
    """
    from tfaudit.outlets.html import write_report

    with err.status("Auditing") as status:
        study_audit.prepare(lambda share, message: status.update(message))
    if table:
        show_tables(study_audit, limits)
    page = write_report(study_audit, path, limits=limits)
    out.tell(f"report: {page}")
    return page


def show_tables(study_audit: StudyAudit, limits: Limits) -> None:
    """Print the verdict on a study and its table."""
    from tfaudit.analysis.recommendation import recommendation
    from tfaudit.outlets.gate_tables import first_screen
    from tfaudit.outlets.summary_table import terminal_table

    if study_audit.data.compressed_keys:
        verdict = study_audit.verdict(limits)
        out.print(first_screen(verdict, recommendation(study_audit, verdict)))
    summary = study_audit.summary
    if summary.exemplars and not summary.has_populations:
        _show_pairs(study_audit)
    else:
        out.print(terminal_table(summary))


def _show_pairs(study_audit: StudyAudit) -> None:
    """Print the table of `tfaudit compare`: single models have no tests between populations."""
    from tfaudit.outlets.pair_tables import pair_tables

    summary = study_audit.summary
    titles = study_audit.data.titles
    pairs = {titles[key]: pair for key, pair in study_audit.model_pairs.items()}
    sizes = summary.table.set_index("variant")["bytes"].dropna()
    names = {**titles, summary.baseline: "baseline"}
    known = {names[str(key)]: int(size) for key, size in sizes.items()}
    out.print(pair_tables(pairs, sizes=known))
