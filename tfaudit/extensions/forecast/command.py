"""`tfaudit forecast`: say which images compression is likely to change, from the dense model alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfaudit.cli.console import out
from tfaudit.cli.options import Group, ImageOptions, option
from tfaudit.cli.outputs import output_file
from tfaudit.errors import require

SHOWN = 20
"""Number of images in the terminal; a file has all of them."""


def forecast(
    model: Annotated[Path, typer.Argument(help="The uncompressed model, .keras or .tflite.")],
    *,
    data: Annotated[
        str,
        option(
            "Data set by name, folder with a folder of images per class, .npz file, or function module:name."
        ),
    ],
    images: Annotated[
        ImageOptions, Group.of_fields(ImageOptions, "examples", "baseline_preprocess")
    ],
    first: Annotated[int, option("Number of examples to list.")] = SHOWN,
    csv: Annotated[
        Path | None, output_file("Write all examples here, the most endangered first.")
    ] = None,
) -> None:
    """List the images whose predictions compression is likely to change first. Nothing is compressed.

    Example: tfaudit forecast a.keras --data x.npz --csv margins.csv
    """
    from tfaudit.cli.model_predictions import predict_models
    from tfaudit.cli.steps import Steps
    from tfaudit.extensions.forecast.forecast import forecast as forecast_images
    from tfaudit.outlets.csv_files import csv_bytes
    from tfaudit.outlets.grid import Grid
    from tfaudit.store.requested_files import write_requested

    require(first > 0, "first", first, "a number above 0")
    with Steps() as steps:
        models = predict_models(model, [], data, images, steps=steps)
    result = forecast_images(models.baseline)
    facts = result.summary()
    names = ["example", "class", "prediction", "second", "margin"]
    rows = result.frame().head(first)[names].itertuples(index=False, name=None)
    table = Grid.of_rows(names, ([*words, f"{margin:.4f}"] for *words, margin in rows), words=4)
    out.print(f"The first {first:,} of {facts['images']:,} examples\n")
    out.print(table.in_terminal(gap=2))
    out.print(
        f"In {facts['margins_below_0.1']:,} of {facts['images']:,} examples the two best classes are within 0.1. "
        "Look at these first after compression. Margins tell which predictions change, not which classes lose."
    )
    if csv:
        write_requested("csv", csv, csv_bytes(result.frame()))
        out.tell(f"examples: {csv}")
