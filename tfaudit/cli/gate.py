"""`tfaudit gate`: may it be shipped? For CI."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfaudit.cli.audit import Spreading
from tfaudit.cli.console import app, err, out
from tfaudit.errors import InputError

if TYPE_CHECKING:
    from tfaudit.audit.gate.gate import Verdict
    from tfaudit.cli.gate_sources import Candidate

__all__ = ["gate"]

LIMITS, SOURCE, MODELS, FILES = "Limits", "What to judge", "Models and --data", "Predictions and --labels"


def _limit(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel=LIMITS)


@app.command(cls=Spreading)
def gate(
    directory: Annotated[Path | None, typer.Argument(help="Directory of a study; else --baseline and so on.")] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="Of the study; may be given several times. All by default.", rich_help_panel=SOURCE),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="The uncompressed model's file, or files of predictions.", rich_help_panel=SOURCE),
    ] = None,
    compressed: Annotated[
        list[str] | None,
        typer.Option(help="The compressed ones; of predictions also NAME=FILES.", rich_help_panel=SOURCE),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of a study or data set.", rich_help_panel=SOURCE)] = "test",
    classes: Annotated[
        Path | None, typer.Option(help="Class names in order: one a line, or a JSON list.", rich_help_panel=SOURCE)
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Data set, folder of images per class, or .npz.", rich_help_panel=MODELS)
    ] = None,
    image_size: Annotated[
        int | None,
        typer.Option(help="Scale the shorter side to so many pixels, keep the middle.", rich_help_panel=MODELS),
    ] = None,
    crop: Annotated[
        int | None, typer.Option(help="Cut out the middle square of so many pixels.", rich_help_panel=MODELS)
    ] = None,
    preprocess: Annotated[
        str,
        typer.Option(help="none, unit (pixels in [0, 1]), or tf, caffe, torch as in Keras.", rich_help_panel=MODELS),
    ] = "none",
    batch_size: Annotated[int, typer.Option(help="Images per step.", rich_help_panel=MODELS)] = 32,
    limit: Annotated[int | None, typer.Option(help="At most so many images.", rich_help_panel=MODELS)] = None,
    labels: Annotated[Path | None, typer.Option(help="True classes, as for audit.", rich_help_panel=FILES)] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of the example ids.", rich_help_panel=FILES)
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Compressed members were made from the baseline's.", rich_help_panel=FILES)
    ] = False,
    config: Annotated[Path | None, _limit("TOML file with the table gate; flags override it.")] = None,
    max_overall_drop: Annotated[float | None, _limit("Drop of accuracy, percentage points.")] = None,
    max_worst_class_drop: Annotated[float | None, _limit("Drop of any class's recall, percentage points.")] = None,
    max_harmed_share: Annotated[float | None, _limit("Share of significantly harmed classes, in [0, 1].")] = None,
    max_flips: Annotated[float | None, _limit("Share of answers that change, in [0, 1].")] = None,
    max_negative_flips: Annotated[float | None, _limit("Share that goes from right to wrong, in [0, 1].")] = None,
    max_intensification: Annotated[float | None, _limit("How far classes drift apart; 1 is not at all.")] = None,
    max_size_bytes: Annotated[float | None, _limit("Bytes of the compressed model's file.")] = None,
    max_size_ratio: Annotated[float | None, _limit("Its size by the baseline's.")] = None,
    alpha: Annotated[float, _limit("Level of the tests; intervals are at 1 - alpha.")] = 0.05,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here: one test case per check.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write everything as JSON here.")] = None,
) -> None:
    """Passes (exit code 0), fails (1) or cannot judge (2) compressed models by limits on what they may lose.

    A drop fails beyond its limit if chance does not explain it, and passes within it if the data would have shown a
    drop as large as the limit. Else more data is needed, and the gate says how much. In JUnit XML that is an error.
    """
    from tfaudit.audit.gate.gate import gate as judge
    from tfaudit.cli.gate_limits import read_limits
    from tfaudit.cli.gate_sources import from_files, from_study

    flags = {
        "overall_drop_pp": max_overall_drop,
        "worst_class_drop_pp": max_worst_class_drop,
        "harmed_share": max_harmed_share,
        "flips": max_flips,
        "negative_flips": max_negative_flips,
        "intensification": max_intensification,
        "size_bytes": max_size_bytes,
        "size_ratio": max_size_ratio,
    }
    limits = read_limits(config, flags)
    if sum(source is not None for source in (directory, data, labels)) != 1:
        raise InputError(
            "source: allowed is one of a study's directory, --baseline and --compressed models with --data, "
            "or --baseline and --compressed predictions with --labels"
        )
    if directory is not None:
        if baseline or compressed:
            raise InputError(f"baseline, compressed: the study {directory} holds them; --variant chooses")
        candidates = from_study(directory, variant, split)
    elif not baseline or not compressed:
        raise InputError("baseline, compressed: both are needed where there is no study")
    elif labels is not None:
        candidates = from_files(labels, baseline, compressed, classes=classes, id_name=id_column, paired=paired)
    else:
        options = {
            "split": split,
            "image_size": image_size,
            "crop": crop,
            "preprocess": preprocess,
            "classes": classes,
            "batch_size": batch_size,
            "limit": limit,
        }
        candidates = _from_models(baseline, compressed, str(data), options)
    verdicts = {
        name: judge(each.baseline, each.compressed, limits, alpha=alpha, sizes=each.sizes, paired=each.paired)
        for name, each in candidates.items()
    }
    raise typer.Exit(_report(verdicts, junit, json))


def _from_models(
    baseline: Sequence[str], compressed: Sequence[str], data: str, options: dict[str, Any]
) -> dict[str, Candidate]:
    from tfaudit.cli.gate_sources import Candidate
    from tfaudit.cli.models import read_models

    if len(baseline) != 1:
        raise InputError("baseline", f"{len(baseline)} files", "one model")
    try:
        found = read_models(Path(baseline[0]), [Path(word) for word in compressed], data, console=out, **options)
    except KeyboardInterrupt:
        err.print("tfaudit: interrupted")
        raise typer.Exit(130) from None
    for note in found.notes:
        out.print(note, markup=False)
    size = found.bytes["baseline"]
    return {name: Candidate(found.baseline, each, (size, found.bytes[name])) for name, each in found.compressed.items()}


def _report(verdicts: dict[str, Verdict], junit: Path | None, json: Path | None) -> int:
    """Prints and writes the verdicts, the gravest first; returns the exit code."""
    from tfaudit.audit.gate.checks import OUTCOMES
    from tfaudit.report.gate_files import json_verdicts, junit_verdicts
    from tfaudit.report.gate_tables import printable, verdict_table
    from tfaudit.store.files import write_whole

    ordered = sorted(verdicts.items(), key=lambda item: OUTCOMES.index(item[1].outcome))
    for name, verdict in ordered:
        out.print(verdict_table(name, verdict))
        out.print()
    for note in dict.fromkeys(note for _, verdict in ordered for note in verdict.notes):
        out.print(printable(note), markup=False)
    for option, path, content in (("junit", junit, junit_verdicts), ("json", json, json_verdicts)):
        if path is not None:
            try:
                write_whole(path, content(verdicts))
            except OSError as problem:
                raise InputError(f"{option}: {path} cannot be written ({problem.strerror})") from None
    return ordered[0][1].exit_code
