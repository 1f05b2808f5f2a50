"""What the images that compression forgets look like."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
from PIL import Image

from tfaudit.audit.trends import Trends, trends
from tfaudit.report.sections.material import Material
from tfaudit.report.sections.section import Figure, Section, Table, column
from tfaudit.stats.image_properties import mean_activation, tilt

__all__ = ["properties_section"]

EDGE = 64
"""Tilt and activation mean something for small grey images: digits, letters, drawings. Larger ones are not measured."""


def properties_section(material: Material) -> Section | None:
    """Accuracy against tilt and activation of small grey images, where the data name groups or individuals."""
    if material.groups.empty:
        return None
    images = _grey(material.store.examples(material.split, groups=False)["image"])
    if images is None:
        return None
    measured = [
        pd.Series(np.abs(tilt(images)), name="absolute tilt"),
        pd.Series(mean_activation(images), name="mean activation"),
    ]
    group = material.groups[material.group_columns[0]] if material.group_columns else None
    found = {
        (key, i): trends(
            material.baseline, population, values, column=group, individuals=material.individuals, alpha=material.alpha
        )
        for key, population in material.compressed.items()
        for i, values in enumerate(measured)
        if values.nunique() > 1
    }
    if not found:
        return None
    return Section(
        "properties",
        "Properties of the images",
        "Accuracy against how far a digit leans and how much ink it holds, before and after, with a line per group: "
        "where the lines part, compression hurts one kind of image more.",
        "[P] 4.1 and C",
        tuple(figure for (key, i), each in found.items() for figure in _figures(each, f"property-{i}-{key}", material)),
        tuple(_table(each, material.titles[key]) for (key, _), each in found.items()),
        tuple(dict.fromkeys(note for each in found.values() for note in each.notes)),
    )


def _figures(found: Trends, name: str, material: Material) -> list[Figure]:
    title = f"{material.titles[name.split('-', 2)[2]]}: {found.property}"
    lines = f"Accuracy against {found.property}, before and after, with lines."
    figures = [Figure(name, found.chart(), lines, title)]
    if material.individuals is not None:
        points = f"Accuracy of every individual after against before, coloured by {found.property}."
        figures.append(Figure(f"{name}-individuals", found.scatter(), points, f"{title}, by individual"))
    return figures


def _grey(pngs: pd.Series) -> np.ndarray | None:
    """The images `(N, H, W)`, or None where they are coloured, large, missing or of several sizes."""
    images: list[np.ndarray] = []
    for png in pngs:
        if not png:
            return None
        with Image.open(io.BytesIO(png)) as image:
            if image.mode != "L" or max(image.size) > EDGE or (images and image.size[::-1] != images[0].shape):
                return None
            images.append(np.asarray(image))
    return np.stack(images)


def _table(found: Trends, title: str) -> Table:
    frame = found.frame()
    return Table(
        f"{title}: slopes on {found.property}",
        (
            column(frame, "group", found.column),
            column(frame, "measure", "accuracy"),
            column(frame, "units", "points", ",d"),
            column(frame, "slope", "slope", "+.4g", meaning="accuracy, a share, per unit of the property"),
            column(frame, "slope_low", "from", "+.4g", meaning="lower end of its interval"),
            column(frame, "slope_high", "to", "+.4g", meaning="upper end"),
            column(frame, "p", "p", ".2g", meaning="of slope 0"),
        ),
        folded=True,
    )
