"""`tfaudit compare`: one model against compressed ones, image by image, on data of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import app, err, out
from tfaudit.errors import InputError

if TYPE_CHECKING:
    from tfaudit.audit.model_pair import PairComparison
    from tfaudit.cli.models import ModelPredictions

__all__ = ["compare"]


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
    from tfaudit.report.pair_tables import pair_tables

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
    out.print(pair_tables(pairs, alpha=alpha, sizes=found.bytes, notes=found.notes))
    if csv:
        _write_csv(csv, pairs)
    if directory:
        _write_study(directory, found, baseline, data, alpha)


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

    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.cli.report import show
    from tfaudit.store.external import import_predictions

    store = import_predictions(
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
    show(StudyAudit.read(store, alpha=alpha), table=False)
