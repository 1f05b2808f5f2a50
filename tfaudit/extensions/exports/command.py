"""`tfaudit export`: hand the exemplars of a study, or the costs of a model's layers, to other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfaudit.cli.completion import one_of, variants
from tfaudit.cli.console import err, out
from tfaudit.cli.options import Group, ImageOptions, option
from tfaudit.cli.outputs import output_folder
from tfaudit.errors import InputError, require_one_of
from tfaudit.outlets.registry import EXPORTS

FORMATS = {name: outlet for name, outlet in EXPORTS.items() if outlet.takes != "page"}


def export(
    directory: Annotated[
        Path, typer.Argument(help="Directory of a study; for model-explorer a .keras model.")
    ],
    *,
    form: Annotated[
        str,
        option(
            "; ".join(f"{name}: {outlet.help}" for name, outlet in FORMATS.items()) + ".",
            "--format",
            complete=one_of("extensions.exports.command:FORMATS"),
        ),
    ],
    variant: Annotated[
        list[str] | None,
        option(
            "Compressed variant, by its name or key, repeatable; all by default.", complete=variants
        ),
    ] = None,
    data: Annotated[
        str | None, option("Labelled images of a model, as for `tfaudit compress`.")
    ] = None,
    images: Annotated[ImageOptions, Group.of_fields(ImageOptions, "examples", "kernels")],
    out_folder: Annotated[
        Path | None, output_folder("New folder; by default DIRECTORY-FORMAT.", "--out")
    ] = None,
) -> None:
    """Write the images whose prediction changes (PIEs), or what int8 costs layer by layer, for other tools.

    Example: tfaudit export runs/digits --format csv
    """
    from tfaudit.extensions.exports.exports import write_files

    require_one_of("--format", form, FORMATS)
    if (data is None) == (FORMATS[form].takes == "model"):
        expected = "labelled images" if data is None else "none with a study"
        raise InputError("--data", "none" if data is None else data, expected)
    if data is None:
        from tfaudit.analysis.study_audit import StudyAudit

        study_audit = StudyAudit.open(directory, permutations=0)
        with err.status("Reading"):
            keys = [study_audit.data.study.key_of(name) for name in variant or ()]
            files = FORMATS[form].content(study_audit, keys)
    else:
        from tfaudit.cli.model_predictions import ModelFile, read_examples
        from tfaudit.compress.calibration_data import CALIBRATION_IMAGES
        from tfaudit.compress.model_comparison import outputs_of
        from tfaudit.datasets.representative import representative_part

        [output] = outputs_of(images.output, [str(directory)])
        model = ModelFile.read(directory, images, output)
        examples = read_examples(model, data, images)
        representative = representative_part(examples, CALIBRATION_IMAGES, seed=0).held
        files = FORMATS[form].content(model.forward.model, examples, representative)
    name = directory.absolute().name.removesuffix(".keras")
    folder = out_folder or directory.absolute().with_name(f"{name}-{form}")
    write_files(folder, files)
    out.tell(folder)
