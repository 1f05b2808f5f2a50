"""The `tfaudit` command. Exit codes: 0 well, 1 some members failed, 2 bad input, 130 interrupted."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from tfaudit.errors import InputError
from tfaudit.study import Study

if TYPE_CHECKING:
    from tfaudit.audit.summary import Summary
    from tfaudit.store import Store

__all__ = ["main"]

app = typer.Typer(
    help="Compress Keras 3 models and audit, class by class and image by image, what they forgot.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)

Directory = Annotated[Path, typer.Argument(help="Directory of a study, as `tfaudit run` made it.")]


def main() -> None:
    """Runs the command line; bad input is one line and exit code 2, never a traceback."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        app()
    except InputError as problem:
        _err.print(f"tfaudit: {problem}", markup=False, soft_wrap=True)
        sys.exit(2)


@app.command("list")
def list_recipes() -> None:
    """Lists the recipes: one study each."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name in _recipes():
        doc = importlib.import_module(f"tfaudit.recipes.{name}").__doc__ or name
        table.add_row(Text(name, style="bold"), Text(doc.splitlines()[0]))
    _out.print(table)


@app.command()
def run(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe (`tfaudit list`), or a Python file with a `study`.")],
    out: Annotated[Path | None, typer.Option(help="Directory of the study; runs/RECIPE by default.")] = None,
    population: Annotated[int | None, typer.Option(help="Members per variant, in place of the recipe's.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes; one per core by default.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Two members, a few steps: does it run at all?")] = False,
) -> None:
    """Trains a population, compresses it and audits what it forgot. Can be interrupted and run again."""
    import dataclasses

    from tfaudit.population.progress import progress_for
    from tfaudit.population.run import run as run_study

    study = _study(recipe)
    if smoke:
        study = study.smoke()
    if population is not None:
        study = dataclasses.replace(study, population=population)
    directory = out or Path("runs") / (study.name + "-smoke" * smoke)
    try:
        store = run_study(study, directory, workers=workers, progress=progress_for(_out))
    except KeyboardInterrupt:
        _err.print("tfaudit: interrupted; the same command goes on from here")
        raise typer.Exit(130) from None
    failures = store.failures()
    if "dense" in store.variants:
        _show(store)
    for (variant, member), traceback in failures.items():
        last = traceback.strip().splitlines()[-1]
        _err.print(f"member {variant}/{member:03d} failed: {last}", markup=False, style="red", soft_wrap=True)
    if failures:
        failed = "1 member failed; the same command tries it again"
        if len(failures) > 1:
            failed = f"{len(failures)} members failed; the same command tries them again"
        _err.print(failed)
        raise typer.Exit(1)


@app.command()
def report(
    directory: Directory,
    charts: Annotated[Path | None, typer.Option(help="Also write every chart as PNG, SVG and PDF to here.")] = None,
) -> None:
    """Prints the table of a study and writes its report.html anew."""
    from tfaudit.report.images import save_charts
    from tfaudit.store import open_store

    store = open_store(directory)
    audit = _show(store)
    if charts:
        for path in save_charts(store, charts, audit=audit):
            _out.print(path, soft_wrap=True)


@app.command()
def view(directory: Directory, port: Annotated[int, typer.Option(help="Port on this machine.")] = 8501) -> None:
    """Opens the viewer of a study in the browser."""
    from tfaudit.store import open_store

    open_store(directory)
    viewer = Path(importlib.import_module("tfaudit.app").__path__[0]) / "viewer.py"
    options = {
        "server.port": port,
        "server.address": "localhost",  # predictions and images are nobody else's business
        "server.showEmailPrompt": "false",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(viewer), *flags, "--", str(directory)]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


@app.command()
def prepare(
    name: Annotated[str, typer.Argument(help="Data set: fashion_mnist, mnist, cifar10, or your name for a folder.")],
    source: Annotated[Path, typer.Option("--from", help="Folder of IDX files, CIFAR's .bin files, or class folders.")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Where prepared sets lie; TFDS's own folder by default.")
    ] = None,
) -> None:
    """Lays local files down as a prepared TensorFlow Datasets set, which loads without a network."""
    from tfaudit.datasets.prepare import prepare as prepare_set

    with Progress(console=_out, transient=True) as bar:
        task = bar.add_task(f"preparing {name}", total=None)
        show = functools.partial(_show_progress, bar, task)
        place = prepare_set(name, source, data_dir=data_dir, progress=show)
    _out.print(f"{name}: {place}", soft_wrap=True)


def _show_progress(bar: Progress, task: TaskID, done: int, total: int) -> None:
    bar.update(task, completed=done, total=total)


def _recipes() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(importlib.import_module("tfaudit.recipes").__path__))


def _study(recipe: str) -> Study:
    """The study of a recipe's name or of a Python file."""
    if recipe.endswith(".py"):
        if not Path(recipe).is_file():
            raise InputError(f"recipe: {recipe} is not a file")
        study = runpy.run_path(recipe).get("study")
    else:
        if recipe not in _recipes():
            raise InputError(f"recipe: {recipe!r}, allowed are {', '.join(_recipes())}, or the path of a Python file")
        study = importlib.import_module(f"tfaudit.recipes.{recipe}").study
    if not isinstance(study, Study):
        raise InputError(f"recipe: {recipe} defines no `study = tfaudit.Study(...)`")
    return study


def _show(store: Store) -> Summary:
    """Prints the table and writes the report of one audit, and returns it."""
    from tfaudit.report.html import write_report
    from tfaudit.report.study import read_study
    from tfaudit.report.tables import terminal_table

    audit = read_study(store)
    _out.print(terminal_table(audit))
    _out.print(f"report: {write_report(store, audit=audit)}", soft_wrap=True)
    return audit


if __name__ == "__main__":
    main()
