"""`tfaudit export`: hand the exemplars of a study to other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tfaudit.cli.completion import variants
from tfaudit.cli.console import app, err, out
from tfaudit.cli.options import Directory, option
from tfaudit.errors import InputError


@app.command()
def export(
    directory: Directory,
    csv: Annotated[bool, option("A table, exemplars.csv, and the images.", "--csv")] = False,
    parquet: Annotated[bool, option("The same as exemplars.parquet.", "--parquet")] = False,
    fiftyone: Annotated[
        bool, option("A data set that FiftyOne reads (FiftyOneDataset).", "--fiftyone")
    ] = False,
    variant: Annotated[
        list[str] | None,
        option("Key of a compressed variant, repeatable; all by default.", complete=variants),
    ] = None,
    out_folder: Annotated[
        Path | None, option("New folder; by default DIRECTORY-FORMAT.", "--out")
    ] = None,
) -> None:
    """Write the images whose prediction changes (PIEs), with predictions, votes and groups, for other tools."""
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.outlets.exports import fiftyone_files, table_files, write_files

    formats = {"csv": csv, "parquet": parquet, "fiftyone": fiftyone}
    chosen = [form for form, is_wanted in formats.items() if is_wanted]
    if len(chosen) != 1:
        got = " and ".join(f"--{form}" for form in chosen) or "none"
        raise InputError("format", got, "--csv, --parquet or --fiftyone")
    (form,) = chosen
    study_audit = StudyAudit.open(directory, permutations=0)
    with err.status("Reading"):
        if fiftyone:
            files = fiftyone_files(study_audit, variant or ())
        else:
            files = table_files(study_audit, form, variant or ())
    folder = out_folder or directory.absolute().with_name(f"{directory.absolute().name}-{form}")
    write_files(folder, files)
    out.tell(folder)
