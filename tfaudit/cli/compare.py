"""`tfaudit compare`: compare model files image by image, or outcomes example by example, on the user's own data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tfaudit.cli.console import app, out
from tfaudit.cli.named_groups import GroupOptions, by_id
from tfaudit.cli.options import (
    Alpha,
    ClusterColumn,
    Group,
    IdColumn,
    ImageOptions,
    OutcomeOptions,
    StudyOut,
    changed,
    option,
    refuse,
)
from tfaudit.cli.outputs import output_file
from tfaudit.cli.sides import files_of, names_of_models
from tfaudit.errors import InputError, require_level

if TYPE_CHECKING:
    import pandas as pd

    from tfaudit.audits.model_pair.model_pair import PairComparison
    from tfaudit.cli.model_predictions import ModelPredictions


@app.command()
def compare(
    *,
    baseline: Annotated[
        Path, option("The uncompressed model, .keras or .tflite; with --outcome its outcomes.")
    ],
    compressed: Annotated[list[Path], option("A compressed model, or its outcomes; repeatable.")],
    data: Annotated[
        str | None,
        option(
            "Data set by name, folder with a folder of images per class, .npz file, or function module:name."
        ),
    ] = None,
    twin: Annotated[
        list[Path] | None,
        option(
            "The baseline trained again with another seed, to show what training alone changes; repeatable."
        ),
    ] = None,
    images: Annotated[ImageOptions, Group.of_fields(ImageOptions, "examples")],
    outcomes: Annotated[OutcomeOptions, Group.of_fields(OutcomeOptions)],
    id_column: IdColumn = None,
    cluster: ClusterColumn = None,
    groups: Annotated[GroupOptions, Group.of_fields(GroupOptions)],
    alpha: Alpha = 0.05,
    directory: StudyOut = None,
    csv: Annotated[Path | None, output_file("Write the table of all classes here.")] = None,
) -> None:
    """Show what compressed models lose: overall, per class and per image; or, with --outcome, per group and example.

    Example: tfaudit compare --baseline a.keras --compressed b.tflite --data x.npz
    """
    from tfaudit.audits.classes.classes import corrected_together
    from tfaudit.audits.gate.measurements import measure
    from tfaudit.audits.model_pair.model_pair import compare as compare_pair
    from tfaudit.cli.model_predictions import predict_models, require_model_files
    from tfaudit.cli.outcomes import audit_outcomes
    from tfaudit.cli.steps import Steps
    from tfaudit.outlets.change_grid import groups_grid
    from tfaudit.outlets.pair_tables import pair_tables

    require_level("alpha", alpha)
    if (data is None) == (outcomes.outcome is None):
        got = "neither" if data is None else "both"
        raise InputError("data, outcome", got, "--data for models, or --outcome for outcomes")
    if data is None:
        refuse("with --outcome", twin=twin, **changed(images), csv=csv)
        audit_outcomes(
            outcomes.source(id_column, cluster),
            files_of([str(baseline)], "baseline"),
            _files_by_name(compressed),
            outcomes.margin,
            groups=groups,
            alpha=alpha,
            directory=directory,
        )
        return
    refuse("without --outcome", **changed(outcomes), id=id_column, cluster=cluster)
    if groups.groups is None:
        refuse("without --outcome or --groups", **changed(groups))
    require_model_files(baseline=[baseline], compressed=compressed, twin=twin or [])
    stored = directory is not None
    with Steps() as steps:
        models = predict_models(
            baseline, [*compressed, *(twin or [])], data, images, thumbnails=stored, steps=steps
        )
    first = models.baseline
    read = by_id(first.example_ids, first.num_examples, data)
    columns = groups.of(read, None, data)
    pairs = {
        name: compare_pair(first, predictions, alpha=alpha)
        for name, predictions in models.compressed.items()
    }
    twins = {name: pairs.pop(name) for name in list(pairs)[len(compressed) :]}
    pairs = corrected_together(pairs)
    _print_doubts(pairs, models, alpha)
    unknown = "How much training again changes is unknown: --twin MODEL, the baseline trained again, would show it."
    notes = [*models.notes, *([] if twins else [unknown])]
    out.print(pair_tables(pairs, sizes=models.sizes, notes=notes, twins=twins))
    if columns is not None:
        for name in pairs:
            sides = first, models.compressed[name]
            measured = measure(*sides, alpha=alpha)
            found = measured.with_groups(*sides, columns, least=groups.min_group)
            out.print()
            out.print(groups_grid(name, found).in_terminal(most=30, gap=2))
    if csv:
        _write_csv(csv, pairs)
    if directory:
        files = dict(zip(pairs, compressed, strict=True))
        _write_study(directory, models, {"baseline": baseline, **files}, data, alpha, columns)


def _files_by_name(compressed: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the files, or folders, of outcomes of each model."""
    names = names_of_models(compressed)
    files = [files_of([str(path)], "compressed") for path in compressed]
    return dict(zip(names, files, strict=True))


def _print_doubts(
    pairs: Mapping[str, PairComparison], models: ModelPredictions, alpha: float
) -> None:
    """Print which models are no better than chance, unless their comparison says so."""
    from tfaudit.audits.doubts import not_above_chance

    for name, pair in pairs.items():
        if not pair.doubts:
            for broken in not_above_chance(models.compressed[name], alpha, name=name):
                costs = "Nothing below tells what compression costs."
                out.print(f"{broken.reason} {costs}\n", style="bold red")


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
    groups: pd.DataFrame | None,
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
        groups=groups,
        paired=names,
        judging=Judging(alpha),
        remarks=models.notes,
    )
    out.print()
    show(StudyAudit.read(store), table=False)
