"""`tfaudit cost`: measure what models cost on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import err, out
from tfaudit.cli.options import option
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from tfaudit.store.store import Store


def cost(
    targets: Annotated[
        list[Path],
        typer.Argument(
            help="Directory of a study, or .keras and .tflite files, the first of which is the baseline."
        ),
    ],
    repeats: Annotated[int, option("Rounds of the latency measurement; 0 skips it.")] = 30,
    threads: Annotated[int, option("Threads of LiteRT.")] = 1,
    signature: Annotated[
        str | None, option("Name of the signature to measure, for .tflite files with several.")
    ] = None,
) -> None:
    """Measure parameters, zeros, operations, bytes and LiteRT latency. Run it on an otherwise idle machine.

    Each round times every model once. In a study the first member of every variant is measured, and its reports show
    the results.

    Example: tfaudit cost a.keras b.tflite
    """
    from tfaudit.extensions.costs.cost import measure_variants
    from tfaudit.runtime.captured_output import captured_output
    from tfaudit.store.files import disk_errors

    store = _study(targets)
    models = _of_study(store) if store else _by_name(targets)
    problems: dict[str, InputError] = {}
    with captured_output():
        table = measure_variants(
            models,
            repeats=repeats,
            threads=threads,
            signature=signature,
            on_error=None if store else problems.__setitem__,
        )
    titles = store.study.titles if store else {name: name for name in models}
    _print_costs(table, titles)
    if store:
        with disk_errors(store.directory):
            store.save_table("costs", table)
        out.tell(f"stored in {store.directory}; `tfaudit report` shows the costs")
    for name, problem in problems.items():
        err.tell(f"tfaudit: {models[name]}: got {problem.got}, expected {problem.expected}")
    if problems:
        raise typer.Exit(2)


def _study(targets: Sequence[Path]) -> Store | None:
    """Open the study that the targets name; None if they are files of models."""
    from tfaudit.store.store import open_store
    from tfaudit.study.model_source import is_saved_model

    is_study = len(targets) == 1 and targets[0].is_dir() and not is_saved_model(targets[0])
    return open_store(targets[0]) if is_study else None


def _by_name(files: Sequence[Path]) -> dict[str, Path]:
    """Return files by their stem, or by their path if several have the same stem."""
    stems = [path.stem for path in files]
    return {path.stem if stems.count(path.stem) == 1 else str(path): path for path in files}


def _print_costs(costs: pd.DataFrame, titles: Mapping[str, str]) -> None:
    """Print the costs of every model, then the notes on them."""
    if len(costs):
        out.print(_cost_table(costs, titles))
    for row in costs.to_dict("records"):
        if row["notes"]:
            out.print(f"{titles[row['variant']]}: {row['notes']}")


def _of_study(store: Store) -> dict[str, Path]:
    """Return the model file of the first complete member of every variant."""
    models = {}
    for key in store.variants:
        first = store.members(key)[0]
        places = [
            store.directory / store.member_path(key, first, f"model.{kind}")
            for kind in ("keras", "tflite")
        ]
        files = [path for path in places if path.is_file()]
        if not files:
            got = f"{places[0].parent}, which holds no model"
            raise InputError("targets", got, "members with their models")
        models[key] = files[0]
    if not models:
        got = f"{store.directory} without a complete member"
        raise InputError("targets", got, "one or more; see `tfaudit run`")
    return models


def _cost_table(costs: pd.DataFrame, titles: Mapping[str, str]) -> Table:
    """Return the costs of every model, one row each."""
    from tfaudit.outlets.columns import Column
    from tfaudit.outlets.grid import Grid

    columns = {
        "parameters": Column("weights"),
        "sparsity": Column("zeros\n%", ".1f", scale=100),
        "flops": Column("Mflops", ",.3g", scale=1e-6),
        "bytes": Column("kB", ",.3g", scale=1e-3),
        "gzipped_bytes": Column("gzip\nkB", ",.3g", scale=1e-3),
        "latency_1_ms": Column("ms", ",.3g"),
        "latency_1_ratio": Column("of\nfirst", ",.3g"),
        "latency_32_ms": Column("ms\nx 32", ",.3g"),
    }
    rows = [
        [titles[row["variant"]], *(column.text(row[name]) for name, column in columns.items())]
        for row in costs.to_dict("records")
    ]
    headings = [column.heading for column in columns.values()]
    return Grid.of_rows(["model", *headings], rows).in_terminal(least=18, pad_edge=False)
