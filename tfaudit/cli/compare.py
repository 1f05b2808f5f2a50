"""`tfaudit compare`: one model against compressed ones, image by image, on data of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from tfaudit.cli.console import app, err, out
from tfaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tfaudit.audit.model_pair import PairComparison
    from tfaudit.cli.models import ModelPredictions

__all__ = ["changed_most", "class_table", "compare", "overall_table", "show_pairs"]

SHOWN = 8
"""Classes printed per model."""

LEGEND = """
BTC: % of right answers that stay right; same: % of images with the same answer;
p: McNemar's exact test; BH: after the correction of Benjamini and Hochberg"""


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
        Path | None, typer.Option(help="Class names in the order of the outputs: one a line, or a JSON list.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Images per step.")] = 32,
    alpha: Annotated[float, typer.Option(help="Level of the tests; intervals are at 1 - alpha.")] = 0.05,
    limit: Annotated[int | None, typer.Option(help="At most so many images.")] = None,
    directory: Annotated[Path | None, typer.Option("--out", help="Write a study with its report.html here.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table of all classes here.")] = None,
) -> None:
    """Shows what compressed models lose: overall, per class, per image."""
    from tfaudit.audit.model_pair import compare as compare_pair
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
    show_pairs(pairs, alpha=alpha, sizes=found.bytes, notes=found.notes)
    if csv:
        _write_csv(csv, pairs)
    if directory:
        _write_study(directory, found, baseline, data, alpha)


def show_pairs(
    pairs: Mapping[str, PairComparison],
    *,
    alpha: float,
    sizes: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Prints what each compressed model changes.

    Args:
        pairs: by name of the compressed model, each against the same baseline.
        alpha: level of the tests.
        sizes: bytes of the model files by name, the baseline's as "baseline", where they are known.
        notes: what a reader has to know, beside the notes of the comparisons.
    """
    counts = {name: pair.summary() for name, pair in pairs.items()}
    first = next(iter(counts.values()))
    out.print(f"{first['examples']:,} images of {first['tested']:,} classes\n")
    out.print(overall_table(counts, alpha, sizes))
    out.print(LEGEND)
    for name, pair in pairs.items():
        each = counts[name]
        out.print(
            f"\n{name}: p overall {_p(each['p'])}; p <= {alpha:g} in {each['significant']:,} of {each['tested']:,} "
            f"classes (BH: {each['significant_bh']:,})",
            markup=False,
        )
        rows = changed_most(pair)
        if len(rows):
            out.print()
            out.print(class_table(rows))
    known = dict.fromkeys((*notes, *(note for pair in pairs.values() for note in pair.notes)))
    if known:
        out.print("\n" + "\n".join(known), markup=False)


def overall_table(
    counts: Mapping[str, Mapping[str, Any]], alpha: float, sizes: Mapping[str, int] | None = None
) -> Table:
    """One line per model: accuracy, what it lost and won, how far it agrees with the baseline, size where known."""
    table = _table("model", "top-1", f"change, points ({100 * (1 - alpha):g} %)", "lost", "won", "other", "BTC", "same")
    if sizes:
        table.add_column("MB", justify="right", no_wrap=True)
    first = next(iter(counts.values()))
    table.add_row("baseline", f"{100 * first['accuracy_before']:.2f}", *[""] * 6, *_megabytes(sizes, "baseline"))
    for name, each in counts.items():
        table.add_row(
            Text(name),
            f"{100 * each['accuracy_after']:.2f}",
            f"{each['difference_pp']:+.2f} ({each['low_pp']:+.2f}, {each['high_pp']:+.2f})",
            f"{each['negative_flips']:,}",
            f"{each['positive_flips']:,}",
            f"{each['wrong_to_other_wrong']:,}",
            f"{100 * each['btc']:.1f}",
            f"{100 * each['agreement']:.1f}",
            *_megabytes(sizes, name),
        )
    return table


def changed_most(pair: PairComparison) -> pd.DataFrame:
    """The classes that changed beyond what p = 1 explains: smallest p first, of equals the largest change; eight."""
    rows = pair.frame()
    rows = rows[rows["p"] < 1]
    rows = rows.assign(size=-rows["difference_pp"].abs())
    return rows.sort_values(["p", "size"], kind="stable").head(SHOWN)


def class_table(rows: pd.DataFrame) -> Table:
    """One line per class."""
    table = _table("class", "images", "recall", "change, points", "lost", "won", "p", "BH")
    for row in rows.to_dict("records"):
        table.add_row(
            Text(row["class"]),
            f"{row['examples']:,}",
            f"{100 * row['recall_before']:.1f}",
            f"{row['difference_pp']:+.1f} ({row['low_pp']:+.1f}, {row['high_pp']:+.1f})",
            f"{row['lost']:,}",
            f"{row['won']:,}",
            _p(row["p"]),
            _p(row["p_bh"]),
        )
    return table


def _table(name: str, *figures: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=8, max_width=24)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "<.0001"


def _megabytes(sizes: Mapping[str, int] | None, name: str) -> list[str]:
    return [f"{sizes[name] / 1e6:.3g}"] if sizes else []


def _write_csv(path: Path, pairs: dict[str, PairComparison]) -> None:
    import pandas as pd

    from tfaudit.store.files import write_whole

    table = pd.concat([pair.frame().assign(model=name) for name, pair in pairs.items()])
    try:
        write_whole(path, table[["model", *table.columns[:-1]]].to_csv(index=False).encode())
    except OSError as error:
        raise InputError(f"csv: {path} cannot be written ({error.strerror})") from None
    out.print(f"classes: {path}", soft_wrap=True)


def _write_study(directory: Path, found: ModelPredictions, baseline: Path, data: str, alpha: float) -> None:
    import pandas as pd

    from tfaudit.analysis.study_audit import Material
    from tfaudit.cli.report import show
    from tfaudit.store.external import write_given

    store = write_given(
        directory,
        found.baseline,
        found.compressed,
        name=baseline.stem,
        model=baseline.name,
        dataset=data,
        images=found.thumbnails,
        facts=pd.DataFrame({"bytes": found.bytes}),
        paired=list(found.compressed),
    )
    out.print()
    show(Material.read(store, alpha=alpha), table=False)
