"""Pages that are written from the code: columns, command line, recipes, and a page for every public name."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Sequence
from pathlib import Path

import click
import pandas as pd
import typer.cli
import typer.main

import tfaudit.cli
from benchmarks.harm.entries import HarmBenchmark
from benchmarks.harm.page import CAVEATS, RULES, shown_entries
from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import JOINT_AUDITS, declaration_of
from tfaudit.audits.gate.limits import QUANTITIES, flag_of
from tfaudit.cli.console import app
from tfaudit.outlets.columns import COLUMN_GROUPS
from tfaudit.outlets.grid import Grid

_SPACES = ("audits", "stats", "compress", "datasets", "study", "store")
NAMESPACES = ("tfaudit", *(f"tfaudit.{space}" for space in _SPACES))
"""Packages whose public names the reference lists."""

RESULTS = Path(__file__).parents[1] / "benchmarks/harm/results.json"


def write(folder: Path) -> None:
    """Write all pages; those that have not changed stay as they are, which saves Sphinx from reading them again."""
    pages = {"sections.md": sections_page(), "columns.md": columns_page()}
    pages |= {"benchmark.md": benchmark_tables()}
    pages |= {"benchmark_rules.md": _items(RULES), "benchmark_caveats.md": _items(CAVEATS)}
    pages |= {"cli.md": command_line_page(), "papers.md": papers_page(), "limits.md": limits_page()}
    for space in NAMESPACES:
        names = public_names(space)
        pages[f"{space}.rst"] = namespace_page(space, names)
        pages |= {f"{space}.{name}.rst": name_page(space, name) for name in names}
    folder.mkdir(exist_ok=True)
    for stale in {path.name for path in folder.iterdir()} - {*pages}:
        (folder / stale).unlink()
    for name, text in pages.items():
        if not (folder / name).is_file() or (folder / name).read_text() != text:
            (folder / name).write_text(text)


def sections_page() -> str:
    """Return a table of the sections of a report with their questions and sources."""
    names = dict.fromkeys([*(name for name, audit in AUDITS.items() if audit.shown), *JOINT_AUDITS])
    rows = [
        f"| {shown.title} | {shown.question} | {shown.source} |"
        for shown in map(declaration_of, names)
    ]
    return "\n".join(["| section | question | source |", "|---|---|---|", *rows, ""])


def columns_page() -> str:
    """Return a table of the columns of each part of the catalogue."""
    parts = []
    for title, entries in COLUMN_GROUPS.items():
        shown = {
            entry.title: entry for entry in entries.values()
        }  # the same heading twice is one row
        rows = [
            f"| {_cell(entry.title)} | {_cell(entry.help)} |"
            for entry in shown.values()
            if entry.help
        ]
        if plain := [_cell(entry.title) for entry in shown.values() if not entry.help]:
            rows.append(f"| {', '.join(plain)} | |")
        parts += [f"### {title}", "", "| column | what it says |", "|---|---|", *rows, ""]
    return "\n".join(parts)


def benchmark_tables() -> str:
    """Return the entries of the benchmark of compression harm as tables: medians, then a table per model."""
    found = HarmBenchmark.read(RESULTS)
    parts = ["### Medians over the models", "", *_table(found.by_compressor()), ""]
    for model, rows in shown_entries(found.table).groupby("model", sort=False):
        images = f"{rows['examples'].iloc[0]:,.0f} test examples"
        members = rows["members"].iloc[0]
        count = f", means over {members:.0f} models" if members > 1 else ""
        accuracy = 100 * found.table.loc[rows.index[0], "accuracy"]
        title = f"### {model}: {rows['data'].iloc[0]}, {images}{count}, accuracy {accuracy:.2f} %"
        parts += [title, "", *_table(rows.sort_values("size_share"), ENTRY_COLUMNS), ""]
    return "\n".join(parts)


def _items(texts: Sequence[str]) -> str:
    return "".join(f"- {text}\n" for text in texts)


def _table(rows: pd.DataFrame, names: Sequence[str] = ()) -> list[str]:
    """Return entries, or medians of entries, as the lines of a Markdown table."""
    return Grid.of("", rows, names, "harm").markdown()


ENTRY_COLUMNS = (
    *("compressor", "size_share", "outcome", "accuracy_pp", "worst_class_pp", "worst_class"),
    *("harmed_classes", "negative_flips", "ties", "shift", "corruption_pp"),
)
"""Columns of a model's table."""


def limits_page() -> str:
    """Return a table of the limits of a gate: flag, key in TOML, meaning."""
    rows = [
        f"| `{flag_of(name)}` | `{name}` | {_cell(quantity.description)} | {quantity.allowed} |"
        for name, quantity in QUANTITIES.items()
    ]
    text = """# Limits of the gate

The limits of `tfaudit gate` and `tfaudit compress` are flags, or keys of the table `[gate]` of the TOML file that
`--gate` names; flags override keys. In Python they are the arguments of `tfaudit.Limits`.

    [gate]
    overall_drop_pp = 1
    worst_class_drop_pp = 5
    size_bytes = 500000

`min_baseline_accuracy` (`--min-baseline-accuracy`) is no limit: nothing is judged if the baseline is less accurate. Nor
is `positive` (`--positive`), the name of the positive class of two, which some limits need.
"""
    head = ["| flag | key in TOML | limit on | allowed |", "|---|---|---|---|"]
    return "\n".join([text, *head, *rows, ""])


def command_line_page() -> str:
    """Return the commands with their options, as Typer documents them."""
    command = typer.main.get_command(app)
    text = typer.cli.get_docs_for_click(
        obj=command, ctx=click.Context(command, info_name="tfaudit"), name="tfaudit"
    )
    text = re.sub(r"(?<=\w)\*(?=[.'])", r"\\*", text)  # globs are no emphasis
    for name in command.list_commands(None):
        part = command.get_command(None, name)
        sentence = str(part.help or part.callback.__doc__).split(".")[0].split("\n\n")[0]
        text = re.sub(
            rf"^\* `{name}`: .*$",
            f"* [`{name}`](#tfaudit-{name}): {' '.join(sentence.split())}.",
            text,
            flags=re.MULTILINE,
        )
    return text.replace("# `tfaudit`", "# The command line", 1)


def papers_page() -> str:
    """Return every recipe's docstring: question, command, cost, published and measured figures, their differences."""
    names = sorted(
        module.name
        for module in pkgutil.iter_modules(importlib.import_module("tfaudit.recipes").__path__)
    )
    documents = {
        name: inspect.getdoc(importlib.import_module(f"tfaudit.recipes.{name}")) or ""
        for name in names
    }
    lines = ["# Reproduced papers", "", INTRODUCTION, "", "| recipe | question |", "|---|---|"]
    lines += [
        f"| [`{name}`](#{name.replace('_', '-')}) | {text.splitlines()[0]} |"
        for name, text in documents.items()
    ]
    for name, text in documents.items():
        lines += ["", f"({name.replace('_', '-')})=", f"## {name}", "", text]
    return "\n".join(lines) + "\n"


INTRODUCTION = """
A recipe is a study in a file. Its docstring, which this page shows, gives the question and its place in the paper, the
commands, the cost, the published figures, and the figures that the commands gave here. One that says "not run here" has
none of its own. [Notes on the recipes](../recipe_notes.md) has what else was measured and tried."""


def public_names(space: str) -> list[str]:
    """Return the public names of a package, without those that `tfaudit` itself has."""
    package = importlib.import_module(space)
    core = [getattr(tfaudit, name) for name in tfaudit.__all__] if space != "tfaudit" else []
    return [
        name
        for name in package.__all__
        if not any(getattr(package, name) is value for value in core)
    ]


def namespace_page(space: str, names: list[str]) -> str:
    """Return a page that tells what is in a package, and leads to the page of each public name."""
    lines = [space, "=" * len(space), "", f".. automodule:: {space}", f".. currentmodule:: {space}"]
    lines += ["", ".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names)]
    lines += [
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {name} <{space}.{name}>" for name in names),
    ]
    return "\n".join([*lines, ""])


def name_page(space: str, name: str) -> str:
    """Return the page of a public name."""
    is_class = inspect.isclass(getattr(importlib.import_module(space), name))
    lines = [name, "=" * len(name), "", f".. currentmodule:: {space}", ""]
    lines += (
        [f".. autoclass:: {name}", "   :members:"] if is_class else [f".. autofunction:: {name}"]
    )
    return "\n".join([*lines, ""])


def colab_link(home: str, body: str) -> str:
    """Return a link that opens the notebook of a page in Colab, which reads repositories of GitHub; else nothing."""
    notebook = re.search(r"_downloads/\w+/\w+\.ipynb", body)
    if not notebook or not home.startswith("https://github.com/"):
        return ""
    address = home.replace("github.com", "colab.research.google.com/github", 1)
    return f'<p><a href="{address}/blob/gh-pages/{notebook[0]}">Open in Colab</a></p>'


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
