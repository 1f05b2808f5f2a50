"""`tfaudit compress`: find the smallest TensorFlow Lite file that passes a gate."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tfaudit.cli.console import out
from tfaudit.cli.flags import renamed
from tfaudit.cli.gate_limits import GateFile, LimitFlags, read_limits
from tfaudit.cli.named_groups import GroupOptions, by_id
from tfaudit.cli.options import ALPHA, Group, ImageOptions, changed, option, refuse
from tfaudit.cli.outputs import output_folder
from tfaudit.compress.model_files import errors_naming, require_keras_file
from tfaudit.errors import InputError, require, require_least
from tfaudit.extensions import PUBLIC_NAMES
from tfaudit.extensions.search.search_settings import FINE_TUNING, SearchSettings

if TYPE_CHECKING:
    from tfaudit.datasets.dataset import Dataset
    from tfaudit.extensions.search.smallest_file import SmallestFile

TRAINING = "Training data"


SETTINGS = Group.of_options(
    SearchSettings,
    full_integer=option(
        "Make only int8 files with int8 inputs and outputs, as microcontrollers and NPUs need."
    ),
    per_tensor=option(
        "Also try int8 with one scale per kernel, as hardware without scales per channel computes it."
    ),
    held_out=option("Share of the data that is held out from the choice, to judge chosen files."),
    seed=option("Seed for the data split, the calibration images and fine-tuning."),
    alpha=ALPHA,
)
"""Settings of the search that are options as they are."""


def compress(
    *,
    model: Annotated[Path, typer.Argument(help="The model, a .keras file.")],
    data: Annotated[
        str,
        option(
            "Data that the model was not trained on: a folder with a folder of images per class, an .npz file, a data "
            "set by name, or a function module:name."
        ),
    ],
    gate: GateFile = None,
    limit_flags: LimitFlags,
    directory: Annotated[
        Path | None,
        output_folder(
            "Directory for the file, the report and all candidates; compressed/MODEL by default.",
            "--out",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        option(
            "Time limit such as 30m, after which the best candidate so far is taken; none by default."
        ),
    ] = None,
    train: Annotated[
        str | None,
        option(
            "Training data, in the forms of --data; without it nothing is pruned.", panel=TRAINING
        ),
    ] = None,
    train_split: Annotated[str, option("Split of the training data.", panel=TRAINING)] = "train",
    epochs: Annotated[int, option("Epochs of fine-tuning after pruning.", panel=TRAINING)] = 3,
    learning_rate: Annotated[
        float,
        option("Learning rate of Adam when fine-tuning starts; it falls to 0.", panel=TRAINING),
    ] = 5e-4,
    augmentation: Annotated[
        str,
        option("Augmentation of the images in fine-tuning: none, crop_flip ...", panel=TRAINING),
    ] = "none",
    settings: Annotated[SearchSettings, SETTINGS],
    groups: Annotated[GroupOptions, Group.of_fields(GroupOptions, "min_group")],
    images: Annotated[
        ImageOptions, Group.of_fields(ImageOptions, "baseline_preprocess", "examples", "signature")
    ],
) -> None:
    """Find the smallest file that passes: exit code 0 pass, 1 fail, 2 cannot judge, 3 unexpected error, 4 bad input.

    All data judge plain files, which are made without labels, as soon as they are made. Other candidates are chosen on
    one part of the data and judged on the other, from the largest down to the first that does not pass. Only a file
    that passes becomes DIR/model.tflite. The same command resumes an interrupted search.

    Example: tfaudit compress a.keras --data x.npz --max-overall-drop 2
    """
    limits = read_limits(gate, limit_flags)
    if limits.group_drop_pp is None:
        refuse("without --max-group-drop", **changed(groups))
    seconds = None if budget is None else seconds_of(budget)
    require_least(1, epochs=epochs)
    require_least(0, seed=settings.seed)
    require(learning_rate > 0, "learning_rate", learning_rate, "above 0")
    require_keras_file(model)
    directory = directory or Path("compressed") / model.stem
    from tfaudit.cli.model_predictions import ModelFile, read_examples
    from tfaudit.cli.steps import Steps
    from tfaudit.compress.model_comparison import outputs_of
    from tfaudit.runtime.captured_output import start_tensorflow

    [output] = outputs_of(images.output, [str(model)])
    settings = dataclasses.replace(
        settings,
        limits=limits,
        training=dataclasses.replace(
            FINE_TUNING, epochs=epochs, learning_rate=learning_rate, augmentation=augmentation
        ),
        batch_size=images.batch_size,
        output=output,
        scores_are=images.scores_are,
        kernels=images.kernels,
    )
    with Steps() as steps:
        steps.plan(2 + (train is not None))
        steps.begin(f"Reading {model}")
        start_tensorflow()
        from tfaudit.extensions.search.progress import PrintedProgress
        from tfaudit.extensions.search.search import find_smallest_file
        from tfaudit.extensions.search.search_inputs import SourceModel

        with errors_naming(model):
            source = SourceModel(model, output)
        loaded = ModelFile(model, images, source.forward)
        steps.begin(f"Reading {data}")
        examples = read_examples(loaded, data, images)
        if limits.group_drop_pp is not None:
            examples = _with_groups(examples, groups)
        trained_on = None
        if train is not None:
            steps.begin(f"Reading {train}")
            with renamed(data="train", split="train_split"):
                trained_on = read_examples(
                    loaded, train, dataclasses.replace(images, split=train_split)
                )
    found = find_smallest_file(
        source,
        examples,
        trained_on,
        settings,
        directory,
        budget=seconds,
        progress=PrintedProgress(out),
    )
    _show(found, directory, trained=train is not None)
    raise typer.Exit(found.exit_code)


def _with_groups(examples: Dataset, groups: GroupOptions) -> Dataset:
    """Return examples with the groups of a table by which files are judged."""
    read = by_id(examples.example_ids, examples.num_examples, examples.name)
    columns = groups.of(read, None, examples.name)
    if columns is None:
        raise InputError("groups", "none", "--groups TABLE, as groups are limited")
    named = {str(name): columns[name].to_numpy() for name in columns}
    return dataclasses.replace(examples, known_groups={**examples.known_groups, **named})


def seconds_of(text: str) -> float:
    """Return a duration such as 90s, 30m or 1h30m in seconds.

    >>> seconds_of("1h30m"), seconds_of("45s")
    (5400.0, 45.0)
    """
    import pandas as pd

    try:
        seconds = pd.Timedelta(text).total_seconds()
    except ValueError:
        seconds = 0.0
    expected = "a time above 0 such as 90s, 30m or 1h30m"
    require(seconds >= 0.001, "--budget", text, expected)  # a number alone counts nanoseconds
    return float(seconds)


def _show(found: SmallestFile, directory: Path, *, trained: bool) -> None:
    from tfaudit.outlets.gate_tables import verdict_table

    out.print(
        f"\nCandidates on the {found.examples[0]:,} examples of the selection part, the smallest first:\n"
    )
    out.print(_table(found))
    if found.stopped:
        out.tell(f"{found.stopped} Run the same command again to try them.")
    out.print(f"\nThe verdict, on {found.judged_on}:\n")
    out.print(verdict_table(found.title, found.verdict))
    out.print()
    for sentence in (*found.needed, *found.notes):
        out.print(sentence)
    if found.path is not None:
        out.tell(f"file: {found.path}, {len(found.content):,} bytes")
        out.tell(f"these examples, for tfaudit gate --examples: {directory}/judged.csv")
    else:
        from tfaudit.audits.gate.checks import CANNOT_JUDGE
        from tfaudit.extensions.search.candidate_store import flatbuffer_path

        plannable = PUBLIC_NAMES.get("audits.plannable", lambda limits: [])
        closest = flatbuffer_path(directory, found.chosen)
        out.tell(f"No candidate passes; the closest is {closest}.")
        if found.outcome == CANNOT_JUDGE and plannable(found.limits):
            out.tell(f"next, for how many images decide: {_plan(found, directory)}")
        elif found.outcome != CANNOT_JUDGE and not trained:
            out.tell(f"next, with pruned candidates: {_with_training(directory)}")
    out.tell(f"report: {directory}/report.html")


def _with_training(directory: Path) -> str:
    """Return the command as the user typed it, with training data and another directory."""
    given = sys.argv[1:]
    if "--out" in given:
        place = given.index("--out")
        del given[place : place + 2]
    further = ["--train", "TRAINING_DATA", "--out", f"{directory}-trained"]
    return shlex.join(["tfaudit", *given, *further])


def _plan(found: SmallestFile, directory: Path) -> str:
    """Return the command that says how many images would decide, with the limits and the level of the verdict."""
    command = shlex.join(["tfaudit", "plan", str(directory), "--variant", found.title])
    return " ".join([command, *found.limits.as_flags(), f"--alpha {found.verdict.alpha:g}"])


def _table(found: SmallestFile) -> Table:
    from tfaudit.extensions.search.smallest_file import NOT_TRIED
    from tfaudit.outlets.columns import column, verdict_columns
    from tfaudit.outlets.gate_tables import variants_table

    frame = found.frame()
    tried = frame[frame["outcome"] != NOT_TRIED]
    costs = {name: column(name, "candidates") for name in ("judged", "bytes", "latency_1_ms")}
    columns = costs | verdict_columns("reason", "changed_share", "size_ratio")
    table = variants_table(tried, tried["chosen"], columns)
    left_out = len(frame) - len(tried)
    table.caption = "* chosen"
    if left_out:
        table.caption += f"; {left_out} were left out, see candidates.csv"
    return table
