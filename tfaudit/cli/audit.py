"""`tfaudit audit`: audit files of predictions that any framework has made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.console import app, out
from tfaudit.cli.flags import renamed
from tfaudit.cli.gate_limits import GateFile, read_limits
from tfaudit.cli.named_groups import GroupOptions
from tfaudit.cli.options import (
    ClassNames,
    Group,
    OutcomeOptions,
    Permutations,
    PredictionOptions,
    ScoresAre,
    StudyAlpha,
    StudyOut,
    changed,
    option,
    refuse,
)
from tfaudit.cli.sides import MultiwordCommand, files_of, lines_read_as, read_files, variants_of
from tfaudit.errors import InputError, require_least, require_level

if TYPE_CHECKING:
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.predictions import Predictions

HELP = (
    "Audit predictions made with any framework. TensorFlow is not needed.",
    "Example: tfaudit audit --labels y.npy --baseline dense*.npy --compressed int8='q*.npy' pruned='p*.npy'",
    "A file holds scores (logits or probabilities) or top-1 classes. Arrays (.npy, .npz): floats of shape "
    "(examples, classes) or (members, examples, classes), or integers, (examples,) or (members, examples). Tables "
    "(.csv, .parquet): a column per class, or a column `prediction`; for several members also a column `member`.",
    "Columns that the options name are nothing else; `tfaudit check FILE` and -v print what each column is read as.",
    "Files are joined by example ids (a column `id`, in .npz an array `ids`): all files have them, or none. Members "
    "are numbered in the natural order of their files: 2 before 10. One model against one is compared image by image.",
)


@app.command(cls=MultiwordCommand, help="\n\n".join(HELP))
def audit(
    *,
    study: Annotated[
        Path | None,
        typer.Argument(
            help="Directory of a study; without one, use --labels, --baseline and --compressed."
        ),
    ] = None,
    files: Annotated[PredictionOptions, Group.of_fields(PredictionOptions)],
    outcomes: Annotated[OutcomeOptions, Group.of_fields(OutcomeOptions)],
    baseline: Annotated[
        list[str] | None,
        option(
            "Predictions of the uncompressed models: files or globs. A file may hold several members."
        ),
    ] = None,
    compressed: Annotated[
        list[str] | None,
        option(
            "Predictions of the compressed models: FILES, or NAME=FILES for each of several variants."
        ),
    ] = None,
    gate: GateFile = None,
    classes: ClassNames = None,
    scores_are: ScoresAre = "auto",
    groups: Annotated[GroupOptions, Group.of_fields(GroupOptions)],
    alpha: StudyAlpha = None,
    permutations: Permutations = 1000,
    directory: StudyOut = None,
    name: Annotated[
        str | None, option("Name of the study; by default the name of its directory.")
    ] = None,
) -> None:
    """Audit predictions that any framework has made."""
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.cli.outcomes import audit_outcomes
    from tfaudit.cli.report import show
    from tfaudit.readers.prediction_files import read_groups
    from tfaudit.store.external import import_predictions
    from tfaudit.store.judging import Judging

    limits = read_limits(gate)
    if study is not None:
        refuse(
            "with a study's directory",
            **dataclasses.asdict(files),
            **changed(outcomes),
            **changed(groups),
            baseline=baseline,
            compressed=compressed,
            classes=classes,
            out=directory,
            name=name,
        )
        with renamed(directory="study"):
            _audit_store(study, limits, alpha, permutations)
        return
    alpha = 0.05 if alpha is None else alpha
    require_level("alpha", alpha)
    require_least(0, permutations=permutations)
    labels = files.labels
    baseline, compressed = _one_source(labels, outcomes.outcome, baseline, compressed)
    if labels is None:
        taken = dict.fromkeys(("id", "cluster", "paired"))
        refuse("with --outcome", **{**changed(files), **taken}, classes=classes, name=name)
        audit_outcomes(
            outcomes.source(files.id, files.cluster),
            files_of(baseline, "baseline"),
            variants_of(compressed),
            outcomes.margin,
            groups=groups,
            limits=limits,
            paired=files.paired,
            alpha=alpha,
            permutations=permutations,
            directory=directory,
        )
        return
    refuse("without --outcome", **changed(outcomes), **changed(groups) | {"groups": None})
    _refuse_unstored(groups.groups, directory)
    source = files.source(labels, classes, scores_are)
    reference, populations = read_files(source, baseline, compressed, verbose=files.verbose)
    columns = read_groups(groups.groups, source) if groups.groups else None
    everyone = (reference, *populations.values())
    single = {population.num_members for population in everyone} == {1}
    if single or not directory:
        _show_verdicts(reference, populations, limits, alpha, paired=files.paired or None)
        _show_changes(
            reference, populations, alpha, permutations, single=single, paired=files.paired
        )
    if directory:
        store = import_predictions(
            directory,
            reference,
            populations,
            name=name or directory.absolute().name,
            dataset=labels.name,
            paired=populations if files.paired else (),
            groups=columns,
            remarks=_remarks(everyone),
            judging=Judging(alpha, limits),
        )
        study_audit = StudyAudit.read(store, permutations=permutations)
        show(study_audit, limits, table=not single)


def _one_source(
    labels: Path | None,
    outcome: str | None,
    baseline: list[str] | None,
    compressed: list[str] | None,
) -> tuple[list[str], list[str]]:
    """Return the files of both sides; raise an `InputError` unless they hold either predictions or outcomes."""
    if (labels is None) == (outcome is None) or not baseline or not compressed:
        expected = "a study's directory, or --labels or --outcome, with --baseline and --compressed"
        raise InputError("source", "both" if labels and outcome else "none", expected)
    return baseline, compressed


def _refuse_unstored(groups: Path | None, directory: Path | None) -> None:
    """Raise an `InputError` for groups that no study stores."""
    if directory is None and groups:
        raise InputError("groups", str(groups), "--out DIR as well: groups are stored in a study")


def _audit_store(directory: Path, limits: Limits, alpha: float | None, permutations: int) -> None:
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.cli.report import show_tables

    show_tables(StudyAudit.open(directory, alpha=alpha, permutations=permutations), limits)


def _show_verdicts(
    reference: Predictions,
    populations: Mapping[str, Predictions],
    limits: Limits,
    alpha: float,
    *,
    paired: bool | None,
) -> None:
    """Print the verdict on each population, except for one model against several, which has none."""
    from tfaudit.audits.gate.measurements import measure
    from tfaudit.audits.verdict.study_verdict import study_verdict
    from tfaudit.outlets.gate_tables import first_screen

    measured = {
        key: measure(reference, population, paired=paired, alpha=alpha, variants=len(populations))
        if (population.num_members > 1) == (reference.num_members > 1)
        else None
        for key, population in populations.items()
    }
    out.print(first_screen(study_verdict(measured, limits=limits)))


def _show_changes(
    reference: Predictions,
    populations: Mapping[str, Predictions],
    alpha: float,
    permutations: int,
    *,
    single: bool,
    paired: bool,
) -> None:
    """Print what changes, image by image for single models."""
    if single:
        _show_pairs(reference, populations, alpha)
    else:
        _show_summary(reference, populations, alpha, permutations, paired=paired)


def _show_pairs(
    reference: Predictions, populations: Mapping[str, Predictions], alpha: float
) -> None:
    from tfaudit.audits.classes.classes import corrected_together
    from tfaudit.audits.model_pair.model_pair import compare
    from tfaudit.outlets.pair_tables import pair_tables

    pairs = {
        name: compare(reference, population, alpha=alpha)
        for name, population in populations.items()
    }
    out.print(pair_tables(corrected_together(pairs)))


def _show_summary(
    reference: Predictions,
    populations: Mapping[str, Predictions],
    alpha: float,
    permutations: int,
    *,
    paired: bool,
) -> None:
    import pandas as pd

    from tfaudit.audits.summary.summary import summary
    from tfaudit.outlets.summary_table import terminal_table

    result = summary(
        {"": reference, **populations},  # no variant can have the name ""
        pd.DataFrame({"title": "baseline"}, index=[""]),
        baseline="",
        alpha=alpha,
        permutations=permutations,
        paired=list(populations) if paired else [],
    )
    out.print(terminal_table(result))


def _remarks(populations: Iterable[Predictions]) -> list[str]:
    """Return what the columns of all files are read as, as remarks of a study."""
    return [f"Columns of {line}." for line in lines_read_as(populations)]
