"""`tfaudit cost`: measure what models cost on this machine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from tfaudit.cli.console import app, out
from tfaudit.cli.options import option
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tfaudit.store.store import Store


@app.command()
def cost(
    targets: Annotated[
        list[Path],
        typer.Argument(
            help="Directory of a study, or .keras and .tflite files, the first of which is the baseline."
        ),
    ],
    repeats: Annotated[int, option("Rounds of the latency measurement; 0 for none.")] = 30,
    threads: Annotated[int, option("Threads of LiteRT.")] = 1,
) -> None:
    """Measure parameters, zeros, operations, bytes and LiteRT latency. Run it on an otherwise idle machine.

    Each round times every model once. In a study the first member of every variant is measured, and its reports show
    the results.
    """
    from tfaudit.compress.cost import measure_variants
    from tfaudit.runtime.captured_output import captured_output
    from tfaudit.store.store import open_store

    store = open_store(targets[0]) if len(targets) == 1 and targets[0].is_dir() else None
    stems = [path.stem for path in targets]
    files = {path.stem if stems.count(path.stem) == 1 else str(path): path for path in targets}
    models = _of_study(store) if store else files
    with captured_output():
        table = measure_variants(models, repeats=repeats, threads=threads)
    out.print(
        _table(
            table.assign(variant=[store.study.titles[key] for key in table["variant"]])
            if store
            else table
        )
    )
    if store:
        store.save_table("costs", table)
        out.print(f"stored in {store.directory}; `tfaudit report` shows the costs", soft_wrap=True)


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
            raise InputError(
                "targets", f"{places[0].parent}, which holds no model", "members with their models"
            )
        models[key] = files[0]
    if not models:
        raise InputError(
            "targets",
            f"{store.directory} without a complete member",
            "one or more; see `tfaudit run`",
        )
    return models


def _table(costs: pd.DataFrame) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    headings = (
        "model",
        "weights",
        "zeros, %",
        "Mflops",
        "kB",
        "gzip, kB",
        "ms",
        "of, first",
        "ms, x 32",
    )
    for i, heading in enumerate(headings):
        table.add_column(
            heading.replace(", ", "\n"),
            justify="right" if i else "left",
            no_wrap=i > 0,
            min_width=None if i else 18,
        )
    for row in costs.to_dict("records"):
        sizes = (row["flops"] / 1e6, row["bytes"] / 1e3, row["gzipped_bytes"] / 1e3)
        numbers = map(
            _number, (*sizes, row["latency_1_ms"], row["latency_1_ratio"], row["latency_32_ms"])
        )
        table.add_row(
            row["variant"], f"{row['parameters']:,}", f"{100 * row['sparsity']:.1f}", *numbers
        )
    return table


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.3g}" if value < 999.5 else f"{value:,.0f}"
