"""`tfaudit gate`: may a compressed model ship? For CI."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.audits.gate.limits import FILE_LIMITS, OF_ERRORS, OF_OUTCOMES, flag_of
from tfaudit.cli.completion import variants
from tfaudit.cli.console import add_to_step_summary, app, out
from tfaudit.cli.gate_limits import LimitFlags, read_limits
from tfaudit.cli.named_groups import GroupOptions
from tfaudit.cli.options import (
    IMAGES,
    Group,
    ImageOptions,
    OutcomeOptions,
    PredictionOptions,
    changed,
    option,
    refuse,
)
from tfaudit.cli.outputs import output_file
from tfaudit.cli.sides import MultiwordCommand
from tfaudit.errors import InputError, require_least
from tfaudit.outlets.registry import GATE_FILES

if TYPE_CHECKING:
    from tfaudit.audits.gate.gate import Verdict
    from tfaudit.audits.gate.limits import Limits
    from tfaudit.cli.gate_sources import GatedModel

SOURCE, LIMITS = "What to judge", "Limits"
FILES_TO_WRITE = "Files to write; - is standard output"

VerdictFiles = Annotated[
    dict[str, Path | None],
    Group.of_names(
        Path,
        {name: output_file(file.help, panel=FILES_TO_WRITE) for name, file in GATE_FILES.items()},
    ),
]


@app.command(cls=MultiwordCommand)
def gate(
    *,
    directory: Annotated[
        Path | None,
        typer.Argument(help="Directory of a study; without one, use --baseline and --compressed."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        option(
            "Variant of the study to judge, by its name or key, repeatable; by default all, or what `tfaudit "
            "compress` chose.",
            panel=SOURCE,
            complete=variants,
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        option("File of the uncompressed model, or files of its predictions.", panel=SOURCE),
    ] = None,
    compressed: Annotated[
        list[str] | None,
        option("Files of the compressed models; for predictions also NAME=FILES.", panel=SOURCE),
    ] = None,
    split: Annotated[
        str,
        option("Split of a study, of a data set, or of a folder that has splits.", panel=SOURCE),
    ] = "test",
    data: Annotated[
        str | None,
        option(
            "Data set, folder of images per class, .npz, or function module:name.", panel=IMAGES
        ),
    ] = None,
    images: Annotated[ImageOptions, Group.of_fields(ImageOptions, "split")],
    predictions: Annotated[PredictionOptions, Group.of_fields(PredictionOptions)],
    outcomes: Annotated[OutcomeOptions, Group.of_fields(OutcomeOptions, "margin", "text")],
    config: Annotated[
        Path | None,
        option(
            "TOML file with the table gate; flags override it.", "--gate", "--config", panel=LIMITS
        ),
    ] = None,
    limit_flags: LimitFlags,
    groups: Annotated[GroupOptions, Group.of_fields(GroupOptions)],
    threshold: Annotated[
        float | None,
        option(
            "Probability from which on the class of --positive is predicted; by default the likelier class is.",
            panel=LIMITS,
        ),
    ] = None,
    allow_missing: Annotated[
        int,
        option(
            "Members of a study that may be missing; with more the gate cannot judge.", panel=SOURCE
        ),
    ] = 0,
    alpha: Annotated[
        float | None,
        option(
            "Significance level; confidence intervals have level 1 - alpha. By default that of the study, or .05.",
            panel=LIMITS,
        ),
    ] = None,
    looks: Annotated[
        int,
        option(
            "Maximum number of times that this gate is run until it passes; alpha is divided among them.",
            panel=LIMITS,
        ),
    ] = 1,
    look: Annotated[
        int | None,
        option(
            "Number of this run, from 1 to --looks; later runs then have more of alpha.",
            panel=LIMITS,
        ),
    ] = None,
    files: VerdictFiles,
) -> None:
    """Judge compressed models by limits: exit code 0 pass, 1 fail, 2 cannot judge, 3 unexpected error, 4 bad input.

    A loss passes where its whole interval lies below the limit, and fails where it lies above. Otherwise the gate says
    how many images or members would decide; in JUnit XML that is an error. Where a file is standard
    output, what people read goes to standard error.

    Example: tfaudit gate runs/digits --max-worst-class-drop 5
    """
    from tfaudit.cli.gate_sources import from_files, from_models, from_outcomes, from_study
    from tfaudit.cli.steps import Steps
    from tfaudit.store.judging import BY_DEFAULT
    from tfaudit.store.store import open_store

    require_least(0, allow_missing=allow_missing)
    limits = read_limits(config, limit_flags)
    labels = predictions.labels
    outcome = outcomes.outcome
    given = {"DIRECTORY": directory, "--data": data, "--labels": labels, "--outcome": outcome}
    baseline, compressed = _checked_files(given, baseline, compressed)
    if directory is None:
        refuse("without a study", variant=variant, allow_missing=allow_missing)
    _refuse_unused(predictions, images, outcomes, data)
    judging = BY_DEFAULT if directory is None else open_store(directory).judging
    limits = judging.applied(limits)
    alpha = judging.alpha if alpha is None else alpha
    named = None if limits.group_drop_pp is None else groups
    if named is None:
        refuse("without --max-group-drop", **changed(groups))
    slices = limits.slice_drop_pp is not None
    with Steps() as steps:
        if directory is not None:
            variant = variant or ([judging.chosen] if judging.chosen else None)
            corrupted = limits.corruption_drop_pp is not None
            candidates = from_study(
                directory,
                variant,
                split,
                corrupted=corrupted,
                groups=named,
                slices=slices,
                steps=steps,
            )
        elif outcome is not None:
            errors = limits.mean_error_increase is not None
            limits.require_only(*(OF_ERRORS if errors else OF_OUTCOMES))
            read = outcomes.source(predictions.id, predictions.cluster, errors=errors)
            candidates = from_outcomes(
                read,
                baseline,
                compressed,
                paired=predictions.paired,
                groups=named,
                steps=steps,
            )
        elif labels is not None:
            source = predictions.source(labels, images.classes, images.scores_are)
            candidates = from_files(
                source,
                baseline,
                compressed,
                paired=predictions.paired,
                groups=named,
                verbose=predictions.verbose,
                steps=steps,
            )
        else:
            images = dataclasses.replace(images, split=split)
            candidates = from_models(
                baseline, compressed, str(data), images, groups=named, slices=slices, steps=steps
            )
        _check_sizes(limits, candidates.values())
        steps.plan(len(candidates))
        verdicts = {}
        for name, pair in candidates.items():
            shown = pair.name or name
            steps.begin(f"Judging {shown}")
            verdicts[shown] = pair.at_threshold(threshold, limits.positive).judged(
                limits,
                allow_missing=allow_missing,
                alpha=alpha,
                looks=looks,
                look=look,
                min_group=groups.min_group,
            )
    raise typer.Exit(report_verdicts(verdicts, files))


def _checked_files(
    given: Mapping[str, object], baseline: list[str] | None, compressed: list[str] | None
) -> tuple[list[str], list[str]]:
    """Return the files; refuse other than one source: a study, models, predictions, or outcomes."""
    sources = [name for name, source in given.items() if source]
    if len(sources) != 1:
        options = "--baseline and --compressed"
        expected = (
            f"one of a study's directory, {options} models with --data, {options} predictions with --labels, "
            f"or {options} scores with --outcome"
        )
        raise InputError("source", " and ".join(sources) or "none", expected)
    if given["DIRECTORY"] is None and not (baseline and compressed):
        raise InputError("baseline, compressed", "no files", "both options, or a study")
    if given["DIRECTORY"] is not None and (baseline or compressed):
        expected = f"--variant, to choose from {given['DIRECTORY']}"
        raise InputError("baseline, compressed", "files beside a study", expected)
    return baseline or [], compressed or []


def _refuse_unused(
    predictions: PredictionOptions, images: ImageOptions, outcomes: OutcomeOptions, data: str | None
) -> None:
    """Raise an `InputError` for an option that the source of the predictions does not use."""
    if outcomes.outcome is None:
        refuse("without --outcome", **changed(outcomes))
    if predictions.labels is None:
        of_outcomes = ("id", "cluster", "paired") if outcomes.outcome else ()
        unused = {**changed(predictions), **dict.fromkeys(("verbose", *of_outcomes))}
        refuse("without --labels", **unused)
    if data is None:
        of_files = predictions.labels is not None
        taken = dict.fromkeys(("classes", "scores_are") if of_files else ())
        refuse("without --data", **{**changed(images), **taken})


def _check_sizes(limits: Limits, candidates: Iterable[GatedModel]) -> None:
    """Raise an `InputError` if there is a limit on the file but the sources are predictions, which have no size."""
    of_file = [name for name in FILE_LIMITS if getattr(limits, name) is not None]
    if of_file and any(pair.sizes is None for pair in candidates):
        unknown = "predictions, whose models' sizes are unknown"
        expected = "model files with --data, or a study with its models"
        raise InputError(flag_of(of_file[0]), unknown, expected)


def report_verdicts(verdicts: dict[str, Verdict], files: dict[str, Path | None]) -> int:
    """Print and write the verdicts, the gravest first; return the exit code."""
    from tfaudit.audits.gate.checks import OUTCOMES
    from tfaudit.audits.ties import joined_notes
    from tfaudit.outlets.gate_tables import verdict_table
    from tfaudit.store.requested_files import write_requested

    ordered = sorted(verdicts.items(), key=lambda item: OUTCOMES.index(item[1].outcome))
    for name, verdict in ordered:
        out.print(verdict_table(name, verdict))
        out.print()
    for note in joined_notes(dict(ordered)):
        out.print(note)
    for name, path in files.items():
        if path is not None:
            write_requested(name, path, GATE_FILES[name].content(verdicts))
    add_to_step_summary(GATE_FILES["markdown"].content(verdicts))
    return ordered[0][1].exit_code
