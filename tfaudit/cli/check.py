"""`tfaudit check`: find missing and damaged files of a study, or say what the columns of a file are read as."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import app, err, out
from tfaudit.cli.options import ClassNames, Group, PredictionOptions, refuse
from tfaudit.errors import InputError, plural

if TYPE_CHECKING:
    from tfaudit.store.store import Store


@app.command()
def check(
    path: Annotated[Path, typer.Argument(help="Directory of a study, or a file of predictions.")],
    *,
    files: Annotated[PredictionOptions, Group.of_fields(PredictionOptions, "paired", "verbose")],
    classes: ClassNames = None,
) -> None:
    """List what is missing or damaged in a study. Exit code 1 if there is anything; `tfaudit run` makes it again.

    Every file of every member is read and compared with its checksum. Nothing is changed. Of a file of predictions,
    print what each column is read as.

    Example: tfaudit check runs/digits
    """
    if path.is_file():
        from tfaudit.readers.prediction_files import plan_of_file

        out.tell(str(plan_of_file(path, files.stated, classes, files.labels)))
        return
    refuse("with a study's directory", **dataclasses.asdict(files), classes=classes)
    _check_study(path)


def _check_study(directory: Path) -> None:
    from tfaudit.store.store import open_store

    store = open_store(directory)
    count = 0
    for problem in (*_members(store), *_examples(store), *_evaluations(store)):
        count += 1
        out.tell(problem)
    if count:
        remedy = "`tfaudit run` with the same recipe and directory makes members, examples and predictions again"
        out.tell(f"{count} missing or damaged: {remedy}")
        raise typer.Exit(1)
    checked = plural(len(store.expected()), "member")
    if store.conditions:
        checked += f" and {plural(len(store.conditions), 'condition')}"
    out.print(f"{checked}, all unchanged since they were written")


def _members(store: Store) -> Iterator[str]:
    from rich.progress import track

    quiet = not err.is_terminal
    members = track(store.expected(), "members", console=err, transient=True, disable=quiet)
    for variant, member in members:
        if damage := store.damage(variant, member):
            yield f"{variant}, member {member}: {damage}"
    for gap in store.missing():
        if gap.reason == "not in study.json":
            yield f"{gap.variant}, member {gap.member}: not in study.json, an older file"


def _examples(store: Store) -> Iterator[str]:
    from tfaudit.store.store import TABLES

    conditions = [condition.split for condition in store.study.conditions]
    for split in ("test", *(split for split in conditions if split in store.splits)):
        try:
            store.examples(split)
        except InputError as error:
            yield str(error)
    for name in TABLES:
        try:
            store.table(name)
        except InputError as error:
            yield str(error)


def _evaluations(store: Store) -> Iterator[str]:
    for condition in store.conditions:
        for variant, member in store.evaluated_members():
            if not store.evaluations.is_complete(variant, member, condition.split):
                exists = store.evaluations.exists(variant, member, condition.split)
                state = "damaged" if exists else "missing"
                yield f"{variant}, member {member}, {condition.title}: {state} predictions"
