"""`tfaudit gate`: may a compressed model ship? For CI."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfaudit.audits.gate.limits import FLAGS, QUANTITIES
from tfaudit.cli.audit import MultiwordCommand
from tfaudit.cli.console import add_to_step_summary, app, err, out
from tfaudit.cli.gate_limits import flag_of, read_limits
from tfaudit.errors import InputError, require

if TYPE_CHECKING:
    from tfaudit.audits.gate.gate import Verdict

SOURCE, MODELS, FILES, LIMITS = (
    "What to judge",
    "Models and --data",
    "Predictions and --labels",
    "Limits",
)
FILES_TO_WRITE = "Files to write; - is standard output, and what people read goes to standard error"
STDOUT = Path("-")


def _option(panel: str, text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel)


def gate(
    directory: Annotated[
        Path | None, typer.Argument(help="Directory of a study; else --baseline and so on.")
    ] = None,
    variant: Annotated[
        list[str] | None, _option(SOURCE, "Variant of the study, repeatable. All by default.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        _option(SOURCE, "File of the uncompressed model, or files of its predictions."),
    ] = None,
    compressed: Annotated[
        list[str] | None,
        _option(SOURCE, "Files of the compressed ones; for predictions also NAME=FILES."),
    ] = None,
    split: Annotated[str, _option(SOURCE, "Split of a study or data set.")] = "test",
    classes: Annotated[
        Path | None, _option(SOURCE, "Class names in order: one a line, or a JSON list.")
    ] = None,
    scores_are: Annotated[
        str, _option(SOURCE, "auto, probabilities or logits.", "--scores-are")
    ] = "auto",
    data: Annotated[
        str | None,
        _option(MODELS, "Data set, folder of images per class, .npz, or function module:name."),
    ] = None,
    image_size: Annotated[
        int | None,
        _option(MODELS, "Scale the shorter side to this number of pixels, crop to the centre."),
    ] = None,
    crop: Annotated[
        int | None, _option(MODELS, "Crop to a central square of this number of pixels.")
    ] = None,
    preprocess: Annotated[
        str, _option(MODELS, "none, unit (pixels in [0, 1]), or tf, caffe, torch as in Keras.")
    ] = "none",
    baseline_preprocess: Annotated[
        str | None, _option(MODELS, "As --preprocess, for the baseline alone.")
    ] = None,
    batch_size: Annotated[int, _option(MODELS, "Images per batch.")] = 32,
    recursive: Annotated[
        bool, _option(MODELS, "Look into folders within the classes.", "--recursive")
    ] = False,
    skip_unreadable: Annotated[int, _option(MODELS, "Unreadable images to leave out at most.")] = 0,
    examples: Annotated[
        Path | None,
        _option(MODELS, "CSV file whose column example holds the ids of the only images to judge."),
    ] = None,
    output: Annotated[
        str | None, _option(MODELS, "Output of models with several.", "--output")
    ] = None,
    limit: Annotated[int | None, _option(MODELS, "Largest number of images.")] = None,
    labels: Annotated[Path | None, _option(FILES, "True classes, as for audit.")] = None,
    id_column: Annotated[str | None, _option(FILES, "Column of the example ids.", "--id")] = None,
    label_column: Annotated[
        str | None, _option(FILES, "Column, or array, of the true classes.")
    ] = None,
    prediction_column: Annotated[
        str | None, _option(FILES, "Column, or array, of the predicted classes.")
    ] = None,
    paired: Annotated[
        bool, _option(FILES, "Compressed members are made from the baseline's.", "--paired")
    ] = False,
    config: Annotated[
        Path | None,
        _option(LIMITS, "TOML file with the table gate; flags override it.", "--gate", "--config"),
    ] = None,
    min_baseline_accuracy: Annotated[
        float | None,
        _option(LIMITS, "Accuracy of the baseline, in [0, 1], below which nothing is judged."),
    ] = None,
    allow_missing: Annotated[
        int,
        _option(SOURCE, "Members of a study that may be missing; with more the gate cannot judge."),
    ] = 0,
    alpha: Annotated[
        float, _option(LIMITS, "Level of the tests; intervals are at 1 - alpha.")
    ] = 0.05,
    junit: Annotated[
        Path | None, _option(FILES_TO_WRITE, "JUnit XML: one test case per check.")
    ] = None,
    json: Annotated[Path | None, _option(FILES_TO_WRITE, "The whole verdict as JSON.")] = None,
    markdown: Annotated[Path | None, _option(FILES_TO_WRITE, "The verdict as Markdown.")] = None,
    **flags: float | None,
) -> None:
    """Check compressed models against limits: exit code 0 pass, 1 fail, 2 cannot judge, 3 an unexpected error.

    A loss passes where its whole interval lies below the limit, and fails where it lies above. Otherwise the gate says
    how many images or members would decide; in JUnit XML that is an error.
    """
    from tfaudit.audits.gate.gate import gate as judge
    from tfaudit.cli.gate_sources import from_files, from_models, from_study

    require(allow_missing >= 0, "allow_missing", allow_missing, "0 or more")
    files = {"junit": junit, "json": json, "markdown": markdown}
    to_stdout = [name for name, path in files.items() if path == STDOUT]
    require(len(to_stdout) < 2, ", ".join(to_stdout), str(STDOUT), "one format on standard output")
    limited = {name: flags[flag] for name, flag in FLAGS.items()} | {
        "min_baseline_accuracy": min_baseline_accuracy
    }
    limits = read_limits(
        config, {name: value for name, value in limited.items() if value is not None}
    )
    sources = [
        name
        for name, source in (("DIRECTORY", directory), ("--data", data), ("--labels", labels))
        if source
    ]
    if len(sources) != 1:
        options = "--baseline and --compressed"
        expected = f"one of a study's directory, {options} models with --data, or {options} predictions with --labels"
        raise InputError("source", " and ".join(sources) or "none", expected)
    if directory is not None:
        if baseline or compressed:
            raise InputError(
                "baseline, compressed",
                "files beside a study",
                f"--variant, to choose from {directory}",
            )
        candidates = from_study(directory, variant, split)
    elif not baseline or not compressed:
        raise InputError("baseline, compressed", "no files", "both options where there is no study")
    elif labels is not None:
        tables: dict[str, Any] = {
            "classes": classes,
            "id_name": id_column,
            "scores_are": scores_are,
        }
        tables |= {"label_column": label_column, "prediction_column": prediction_column}
        candidates = from_files(labels, baseline, compressed, paired=paired, **tables)
    else:
        images: dict[str, Any] = {
            "split": split,
            "image_size": image_size,
            "crop": crop,
            "preprocess": preprocess,
        }
        images |= {
            "limit": limit,
            "classes": classes,
            "batch_size": batch_size,
            "scores_are": scores_are,
        }
        images |= {
            "output": output,
            "baseline_preprocess": baseline_preprocess,
            "recursive": recursive,
        }
        images |= {"skip_unreadable": skip_unreadable, "examples": examples}
        candidates = from_models(baseline, compressed, str(data), **images)
    by_size = [name for name in ("size_bytes", "size_ratio") if getattr(limits, name) is not None]
    if by_size and any(pair.sizes is None for pair in candidates.values()):
        unknown = "predictions, whose models' sizes are unknown"
        raise InputError(
            flag_of(by_size[0]), unknown, "model files with --data, or a study with its models"
        )
    verdicts = {}
    for name, pair in candidates.items():
        verdict = judge(
            pair.baseline,
            pair.compressed,
            limits,
            alpha=alpha,
            sizes=pair.sizes,
            paired=pair.paired,
        )
        verdict = verdict.with_missing(pair.missing, allow_missing)
        verdicts[name] = dataclasses.replace(verdict, notes=(*pair.notes, *verdict.notes))
    raise typer.Exit(_report(verdicts, files))


def _with_a_flag_per_limit() -> inspect.Signature:
    """Return the signature of `gate` with a flag for every field of `Limits` in the place of `flags`."""
    signature = inspect.signature(gate, eval_str=True)
    parameters = [value for name, value in signature.parameters.items() if name != "flags"]
    flags = []
    for name, flag in FLAGS.items():
        kind, hint = (
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            _option(LIMITS, QUANTITIES[name].description),
        )
        flags.append(
            inspect.Parameter(flag, kind, default=None, annotation=Annotated[float | None, hint])
        )
    after_config = [value.name for value in parameters].index("config") + 1
    return signature.replace(
        parameters=[*parameters[:after_config], *flags, *parameters[after_config:]]
    )


gate.__signature__ = _with_a_flag_per_limit()  # type: ignore[attr-defined]  # typer makes its options from it
app.command(cls=MultiwordCommand)(gate)


def _report(verdicts: dict[str, Verdict], files: dict[str, Path | None]) -> int:
    """Print and write the verdicts, the gravest first; return the exit code."""
    from tfaudit.audits.gate.checks import OUTCOMES
    from tfaudit.audits.ties import joined_notes
    from tfaudit.outlets.gate_files import json_verdicts, junit_verdicts
    from tfaudit.outlets.gate_tables import verdict_table
    from tfaudit.outlets.markdown import gate_markdown
    from tfaudit.store.files import write_whole

    console = err if STDOUT in files.values() else out
    ordered = sorted(verdicts.items(), key=lambda item: OUTCOMES.index(item[1].outcome))
    for name, verdict in ordered:
        console.print(verdict_table(name, verdict))
        console.print()
    for note in joined_notes(dict(ordered)):
        console.print(note)
    as_markdown = gate_markdown(verdicts).encode()
    contents = {"junit": junit_verdicts, "json": json_verdicts, "markdown": lambda _: as_markdown}
    for option, path in files.items():
        if path == STDOUT:
            out.file.write(contents[option](verdicts).decode())
        elif path is not None:
            try:
                write_whole(path, contents[option](verdicts))
            except OSError as problem:
                got = f"{path}, which cannot be written ({problem.strerror})"
                raise InputError(option, got, "a path that can be written") from None
    add_to_step_summary(as_markdown)
    return ordered[0][1].exit_code
