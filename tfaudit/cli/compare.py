"""`tfaudit compare`: compare model files image by image, on the user's own data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tfaudit.cli.console import app, out
from tfaudit.cli.options import Alpha, Group, ImageOptions, StudyOut, option
from tfaudit.cli.outputs import output_file
from tfaudit.errors import require_level

if TYPE_CHECKING:
    from tfaudit.audits.model_pair.model_pair import PairComparison
    from tfaudit.cli.model_predictions import ModelPredictions


@app.command()
def compare(
    *,
    baseline: Annotated[Path, option("The uncompressed model, .keras or .tflite.")],
    compressed: Annotated[list[Path], option("A compressed model; repeatable.")],
    data: Annotated[
        str,
        option(
            "Data set by name, folder with a folder of images per class, .npz file, or function module:name."
        ),
    ],
    twin: Annotated[
        list[Path] | None,
        option(
            "The baseline trained again with another seed, to show what training alone changes; repeatable."
        ),
    ] = None,
    images: Annotated[ImageOptions, Group.of_fields(ImageOptions, "examples")],
    alpha: Alpha = 0.05,
    directory: StudyOut = None,
    csv: Annotated[Path | None, output_file("Write the table of all classes here.")] = None,
) -> None:
    """Show what compressed models lose: overall, per class and per image.

    Example: tfaudit compare --baseline a.keras --compressed b.tflite --data x.npz
    """
    from tfaudit.audits.classes.classes import corrected_together
    from tfaudit.audits.doubts import not_above_chance
    from tfaudit.audits.model_pair.model_pair import compare as compare_pair
    from tfaudit.cli.model_predictions import predict_models, require_model_files
    from tfaudit.cli.steps import Steps
    from tfaudit.outlets.pair_tables import pair_tables

    require_level("alpha", alpha)
    require_model_files(baseline=[baseline], compressed=compressed, twin=twin or [])
    stored = directory is not None
    with Steps() as steps:
        models = predict_models(
            baseline, [*compressed, *(twin or [])], data, images, thumbnails=stored, steps=steps
        )
    pairs = {
        name: compare_pair(models.baseline, predictions, alpha=alpha)
        for name, predictions in models.compressed.items()
    }
    twins = {name: pairs.pop(name) for name in list(pairs)[len(compressed) :]}
    pairs = corrected_together(pairs)
    for name, pair in pairs.items():
        if not pair.doubts:
            for broken in not_above_chance(models.compressed[name], alpha, name=name):
                costs = "Nothing below tells what compression costs."
                out.print(f"{broken.reason} {costs}\n", style="bold red")
    unknown = "How much training again changes is unknown: --twin MODEL, the baseline trained again, would show it."
    notes = [*models.notes, *([] if twins else [unknown])]
    out.print(pair_tables(pairs, sizes=models.sizes, notes=notes, twins=twins))
    if csv:
        _write_csv(csv, pairs)
    if directory:
        files = dict(zip(pairs, compressed, strict=True))
        _write_study(directory, models, {"baseline": baseline, **files}, data, alpha)


def _write_csv(path: Path, pairs: dict[str, PairComparison]) -> None:
    import pandas as pd

    from tfaudit.outlets.csv_files import csv_bytes
    from tfaudit.store.requested_files import write_requested

    table = pd.concat([pair.frame().assign(model=name) for name, pair in pairs.items()])
    content = csv_bytes(table[["model", *table.columns[:-1]]])
    write_requested("csv", path, content)
    out.tell(f"classes: {path}")


def _write_study(
    directory: Path,
    models: ModelPredictions,
    files: Mapping[str, Path],
    data: str,
    alpha: float,
) -> None:
    """Write the study of the model files, of which the first is the baseline, with its report."""
    import pandas as pd

    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.cli.report import show
    from tfaudit.store.external import import_predictions
    from tfaudit.store.judging import Judging

    baseline, *names = files
    path = files[baseline]
    store = import_predictions(
        directory,
        models.baseline,
        {name: models.compressed[name] for name in names},
        name=path.stem,
        model=path.name,
        dataset=data,
        images=models.thumbnails or None,
        facts=pd.DataFrame({"bytes": models.sizes}).loc[[*files]],
        files=files,
        paired=names,
        judging=Judging(alpha),
        remarks=models.notes,
    )
    out.print()
    show(StudyAudit.read(store), table=False)
