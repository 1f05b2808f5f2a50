"""`tfaudit compare`: one model against compressed ones, image by image, on data of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import app, err, out
from tfaudit.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from tfaudit.audit.pairs import PairComparison
    from tfaudit.cli.models import ModelPredictions

__all__ = ["compare"]

SHOWN = 8
"""Classes printed per model."""


@app.command()
def compare(
    baseline: Annotated[Path, typer.Option(help="The uncompressed model, .keras or .tflite.")],
    compressed: Annotated[list[Path], typer.Option(help="A compressed one; may be given several times.")],
    data: Annotated[str, typer.Option(help="Name of a data set, folder with one folder of images per class, or .npz.")],
    split: Annotated[str, typer.Option(help="Split of a data set, or of a folder that has splits.")] = "test",
    image_size: Annotated[
        int | None, typer.Option(help="Scale the shorter side to so many pixels, keep the middle square.")
    ] = None,
    crop: Annotated[
        int | None, typer.Option(help="Cut out the middle square of so many pixels, after any scaling.")
    ] = None,
    preprocess: Annotated[
        str, typer.Option(help="none (the model rescales), unit (pixels in [0, 1]), or tf, caffe, torch as in Keras.")
    ] = "none",
    classes: Annotated[
        Path | None, typer.Option(help="Class names, one a line, in the order of the models' outputs.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Images per step.")] = 32,
    alpha: Annotated[float, typer.Option(help="Level of the tests; intervals are at 1 - alpha.")] = 0.05,
    limit: Annotated[int | None, typer.Option(help="At most so many images.")] = None,
    directory: Annotated[Path | None, typer.Option("--out", help="Write a study with its report.html here.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table of all classes here.")] = None,
) -> None:
    """Shows what compressed models lose: overall, per class, per image."""
    from tfaudit.audit.pairs import compare as compare_pair
    from tfaudit.cli.models import read_models
    from tfaudit.errors import require

    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    try:
        found = read_models(
            baseline,
            compressed,
            data,
            split=split,
            image_size=image_size,
            crop=crop,
            preprocess=preprocess,
            classes=classes,
            batch_size=batch_size,
            limit=limit,
            console=out,
            thumbnails=directory is not None,
        )
    except KeyboardInterrupt:
        err.print("tfaudit: interrupted")
        raise typer.Exit(130) from None
    pairs = {name: compare_pair(found.baseline, each, alpha=alpha) for name, each in found.compressed.items()}
    out.print(overall_table(found, pairs, alpha))
    for name, pair in pairs.items():
        out.print(class_table(name, pair))
    for note in dict.fromkeys((*found.notes, *(note for pair in pairs.values() for note in pair.notes))):
        out.print(note)
    if csv:
        _write_csv(csv, pairs)
    if directory:
        _write_study(directory, found, baseline, data)


def overall_table(found: ModelPredictions, pairs: dict[str, PairComparison], alpha: float) -> Table:
    """One line per model, 80 columns wide at most."""
    from rich import box
    from rich.table import Table

    first = next(iter(pairs.values())).summary()
    title = f"{first['examples']:,} images, {first['tested']:,} classes"
    table = Table(
        title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1)
    )
    table.add_column("model", overflow="fold", max_width=20)
    for heading in ("top-1", f"change, points ({1 - alpha:.4g})", "lost", "won", "other", "BTC", "agree", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    blank = [""] * 6
    table.add_row("baseline", f"{100 * first['accuracy_before']:.2f}", *blank, _megabytes(found.bytes["baseline"]))
    for name, pair in pairs.items():
        each = pair.summary()
        table.add_row(
            name,
            f"{100 * each['accuracy_after']:.2f}",
            f"{each['difference_pp']:+.2f} ({each['low_pp']:+.2f}, {each['high_pp']:+.2f})",
            f"{each['negative_flips']:,}",
            f"{each['positive_flips']:,}",
            f"{each['wrong_to_other_wrong']:,}",
            f"{100 * each['btc']:.1f}",
            f"{100 * each['agreement']:.1f}",
            _megabytes(found.bytes[name]),
        )
    return table


def class_table(name: str, pair: PairComparison) -> Table:
    """The classes with the smallest p, and among equals those that changed most."""
    from rich import box
    from rich.table import Table

    rows = pair.frame()
    rows = rows[rows["lost"] + rows["won"] > 0]
    rows = rows.assign(size=-rows["difference_pp"].abs()).sort_values(["p", "size"], kind="stable")
    counts = pair.summary()
    title = (
        f"{name}: {len(rows)} classes with lost or won images; p <= {pair.alpha:g}: {counts['significant']}, "
        f"after BH: {counts['significant_bh']}"
    )
    table = Table(
        title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1)
    )
    table.add_column("class", overflow="ellipsis", no_wrap=True, max_width=18)
    for heading in ("images", "recall", "change, points", "lost", "won", "p", "BH"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows.head(SHOWN).to_dict("records"):
        table.add_row(
            row["class"],
            f"{row['examples']:,}",
            f"{100 * row['recall_before']:.1f}",
            f"{row['difference_pp']:+.1f} ({row['low_pp']:+.1f}, {row['high_pp']:+.1f})",
            f"{row['lost']:,}",
            f"{row['won']:,}",
            f"{row['p']:.2g}",
            f"{row['p_bh']:.2g}",
        )
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.3g}"


def _write_csv(path: Path, pairs: dict[str, PairComparison]) -> None:
    import pandas as pd

    from tfaudit.files import write_whole

    table = pd.concat([pair.frame().assign(model=name) for name, pair in pairs.items()])
    try:
        write_whole(path, table[["model", *table.columns[:-1]]].to_csv(index=False).encode())
    except OSError as error:
        raise InputError(f"csv: {path} cannot be written ({error.strerror})") from None
    out.print(f"classes: {path}", soft_wrap=True)


def _write_study(directory: Path, found: ModelPredictions, baseline: Path, data: str) -> None:
    import pandas as pd

    from tfaudit.cli.report import show
    from tfaudit.given import write_given

    show(
        write_given(
            directory,
            found.baseline,
            found.compressed,
            name=baseline.stem,
            model=baseline.name,
            dataset=data,
            images=found.thumbnails,
            facts=pd.DataFrame({"bytes": found.bytes}),
        )
    )
