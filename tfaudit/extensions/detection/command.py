"""`tfaudit detect`: may a compressed detector ship?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfaudit.audits.gate.limits import quantity_of
from tfaudit.cli.console import out
from tfaudit.cli.flags import renamed
from tfaudit.cli.gate import VerdictFiles
from tfaudit.cli.options import Alpha, Group, option
from tfaudit.cli.outputs import output_file
from tfaudit.errors import InputError
from tfaudit.extensions.detection.limits import BoxLimits

if TYPE_CHECKING:
    from tfaudit.extensions.detection.detection import Detection

FLAGS = {f"max_{name.removesuffix('_pp')}": name for name in BoxLimits.__annotations__}
"""Limits by their flags."""

LimitFlags = Annotated[
    dict[str, Any],
    Group.of_names(
        float,
        {
            flag: option(quantity_of(name).description, panel="Limits")
            for flag, name in FLAGS.items()
        },
    ),
]
FIT = 7
"""Columns of the losses that 80 letters have room for; the page has all."""


def detect(
    *,
    coco: Annotated[Path, option("File of the true boxes in COCO's format.")],
    baseline: Annotated[
        list[str],
        option(
            "File of the uncompressed detector's boxes, repeatable for several members, or a glob."
        ),
    ],
    compressed: Annotated[
        list[str],
        option("Files of the compressed detectors' boxes, or NAME=FILES; repeatable, or globs."),
    ],
    score_threshold: Annotated[
        float | None,
        option(
            "Score from which on a box counts; by default the one at which the baseline's F1 is best."
        ),
    ] = None,
    limits: LimitFlags,
    group: Annotated[
        list[str] | None,
        option(
            "What the file says of boxes or images, such as occluded, to show losses by; A*B for two together; "
            "repeatable."
        ),
    ] = None,
    paired: Annotated[
        bool,
        option("Each compressed member is made from the baseline's of its place.", "--paired"),
    ] = False,
    alpha: Alpha = 0.05,
    images: Annotated[
        Path | None,
        option("Folder of the images, to show those with lost boxes in the report."),
    ] = None,
    report: Annotated[Path | None, output_file("Page to write, such as report.html.")] = None,
    files: VerdictFiles,
) -> None:
    """Judge compressed detectors by the true boxes that they lose, false positives and mAP; exit codes of the gate.

    Exit code 0 is pass, 1 fail, 2 cannot judge, 4 bad input.

    Example: tfaudit detect --coco truth.json --baseline a.json --compressed int8=b.json
    """
    from tfaudit.cli.gate import report_verdicts
    from tfaudit.cli.named_groups import GroupOptions
    from tfaudit.cli.sides import files_of, variants_of
    from tfaudit.cli.steps import Steps
    from tfaudit.extensions.detection.coco_files import read_detections, read_truth
    from tfaudit.extensions.detection.detection import detect as compared
    from tfaudit.extensions.detection.report import report_html
    from tfaudit.store.requested_files import write_requested

    _check_images(images, report)
    with renamed(**{name: flag for flag, name in FLAGS.items()}):
        allowed = BoxLimits(**{FLAGS[flag]: limit for flag, limit in limits.items()})
    before, after = files_of(baseline, "baseline"), variants_of(compressed)
    with Steps() as steps:
        steps.plan(1 + len(after))
        steps.begin("Reading the true boxes")
        truth = read_truth(coco)
        groups = GroupOptions(group=group).chosen(truth.groups, str(coco)) if group else None
        reference = [read_detections(file, truth) for file in before]
        results = {}
        for name, members in after.items():
            steps.begin(f"Judging {name}")
            results[name] = compared(
                truth,
                reference,
                [read_detections(file, truth) for file in members],
                threshold=score_threshold,
                groups=groups,
                paired=paired,
                alpha=alpha,
            )
    verdicts = {name: result.verdict(allowed) for name, result in results.items()}
    page = None if report is None else report_html(results, verdicts, truth, images)
    code = report_verdicts(verdicts, files)
    _print_losses(results)
    if page is not None and report is not None:
        write_requested("report", report, page.encode())
        out.tell(f"report: {report}")
    raise typer.Exit(code)


def _check_images(images: Path | None, report: Path | None) -> None:
    """Raise an `InputError` for images that no page shows, or that are no folder."""
    if images is not None and report is None:
        raise InputError("--images", str(images), "--report FILE, which shows them")
    if images is not None and not images.is_dir():
        raise InputError("--images", str(images), "a folder")


def _print_losses(results: Mapping[str, Detection]) -> None:
    """Print the losses of each variant by class, size and group."""
    from tfaudit.extensions.detection.report import losses_grid

    for name, result in results.items():
        out.print()
        grid = losses_grid(name, result)
        narrow = dataclasses.replace(grid, columns=grid.columns[:FIT])
        out.print(narrow.in_terminal(least=16, most=24))
