"""The page of a gate of detectors: verdicts, losses by class, size and group, and images with lost boxes."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tfaudit.analysis.stored_images import data_uri
from tfaudit.audits.gate.gate import Verdict
from tfaudit.charts.renderer import can_draw
from tfaudit.errors import InputError
from tfaudit.extensions.detection.coco_files import Truth
from tfaudit.extensions.detection.detection import Detection
from tfaudit.outlets.change_grid import changes_grid
from tfaudit.outlets.columns import TextColumn
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.html import drawings, style_sheet
from tfaudit.outlets.references import cited
from tfaudit.outlets.sections.section import Figure, Section
from tfaudit.outlets.templates import PAGES
from tfaudit.outlets.verdict_texts import checks_grid

SHOWN = 24
"""Images of a variant in the page, those that lose most first."""

FURTHER = (
    ("mAP", "map_before"),
    ("after", "map_after"),
    ("false per image", "false_before"),
    ("after", "false_after"),
)
"""Columns of the losses beside those of boxes, with their headings."""

WIDEST = 320
"""Pixels of the longer side of an image in the page."""


def losses_grid(name: str, result: Detection) -> Grid:
    """Return the losses by class, size and group as a table; figures that a group lacks are empty."""
    frame = result.labelled().rename(columns={"box": name})
    level = f"{100 * (1 - result.measurements.alpha):g} %"
    further = [
        TextColumn(heading, "", tuple("" if math.isnan(v) else f"{v:.3f}" for v in frame[column]))
        for heading, column in FURTHER
    ]
    headings = (name, "boxes", "found, %", "after, %", f"points ({level})")
    return changes_grid("By class, size and group", frame, headings, further)


def report_html(
    results: Mapping[str, Detection],
    verdicts: Mapping[str, Verdict],
    truth: Truth,
    folder: Path | None = None,
) -> str:
    """Return the page as the text of one HTML file.

    Args:
        results: comparisons by variant.
        verdicts: verdicts by variant.
        truth: the true boxes.
        folder: folder of the images; without it, none are shown.

    Raises:
        InputError: an image of the folder is missing or cannot be read.
    """
    sections = [_section(name, result, verdicts[name]) for name, result in results.items()]
    pictures = {
        f"detect-{place}": [] if folder is None else lost_pictures(result, truth, folder)
        for place, result in enumerate(results.values())
    }
    template = files("tfaudit.extensions.detection").joinpath("report.html.j2").read_text()
    return PAGES.from_string(template).render(
        style=style_sheet("report.css"),
        title="Boxes that compression loses",
        heading="Boxes that compression loses",
        lead=", ".join(results),
        sections=[
            dataclasses.replace(section, key=key)
            for key, section in zip(pictures, sections, strict=True)
        ],
        pictures=pictures,
        drawings=drawings(sections),
        sources=cited(["[Li] [Mi] [IK] [C] [FF] [H]"]),
    )


def _section(name: str, result: Detection, verdict: Verdict) -> Section:
    """Return the answers about one variant."""
    checks = dataclasses.replace(checks_grid(verdict), title="Limits")
    losses = losses_grid(name, result)
    chart = (
        Figure(f"boxes-{name}", result.chart(), "Change of the true boxes found")
        if can_draw()
        else None
    )
    return Section(
        key=name,
        title="True boxes found before and after, at IoU .5",
        question=f"{name}: {verdict.outcome}",
        source="[Li]",
        figures=() if chart is None else (chart,),
        tables=(checks, losses),
        notes=verdict.notes,
        findings=tuple(verdict.frame()["sentence"]),
    )


def lost_pictures(result: Detection, truth: Truth, folder: Path) -> list[dict[str, Any]]:
    """Return the images that lose most boxes, for the template: those found by more than half before and fewer after.

    Raises:
        InputError: an image is missing or cannot be read.
    """
    lost = np.nan_to_num(result.found[0] - result.found[1]).clip(0)
    of_image = np.bincount(truth.boxes["image"], lost, len(truth.images))
    order = np.argsort(-of_image, kind="stable")[:SHOWN]
    boxes = truth.boxes.assign(
        name=truth.categories["name"].to_numpy()[truth.boxes["category"]],
        lost=(result.found[0] > 0.5) & (result.found[1] <= 0.5),
    )
    return [
        {
            **truth.images.iloc[place],
            "source": _thumbnail(folder / str(truth.images.get("file_name", {}).get(place, ""))),
            "boxes": boxes[(boxes["image"] == place) & ~boxes["crowd"]].to_dict("records"),
        }
        for place in order[of_image[order] > 0].tolist()
    ]


def _thumbnail(file: Path) -> str:
    """Return a small copy of an image as the source of a picture in a page."""
    content = io.BytesIO()
    try:
        with Image.open(file) as image:
            image.thumbnail((WIDEST, WIDEST))
            image.convert("RGB").save(content, "PNG")
    except (OSError, ValueError):
        got = f"{file}, which cannot be read"
        raise InputError("--images", got, "the file of an image") from None
    return data_uri(content.getvalue())
