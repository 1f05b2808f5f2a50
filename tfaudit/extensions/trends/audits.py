"""The audit of a study that this extension adds."""

import dataclasses
import functools
from collections.abc import Iterable

import numpy as np

from tfaudit.analysis.audits import Audit, added_groups
from tfaudit.analysis.stored_images import TILT, can_be_measured, pixels_of
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.extensions.trends.declaration import TRENDS
from tfaudit.extensions.trends.trends import Trends, trends
from tfaudit.stats.image_properties import tilt

FIRST = 200
"""Number of images of which one shows how the tilt is measured."""


def study_trends(data: StudyData, key: str, *, alpha: float) -> tuple[Trends, ...]:
    """Return accuracy against each property of the images, with one that shows how the tilt is measured."""
    column = data.groups[data.group_columns[0]] if data.group_columns else None
    compute = functools.partial(trends, column=column, individuals=data.individuals, alpha=alpha)
    populations = data.baseline, data.populations[key]
    results = (compute(*populations, values) for values in data.image_properties)
    return tuple(
        dataclasses.replace(result, tilted=_one_tilted(data)) if result.property == TILT else result
        for result in results
    )


def _one_tilted(data: StudyData) -> np.ndarray | None:
    """Return one of the first images, which shows how the tilt is measured; None if no tilt can be."""
    count = len(data.store.examples(data.split, images=False, groups=False))
    return tilted_image(data.store.images(data.split, range(min(FIRST, count))))


def tilted_image(pngs: Iterable[bytes]) -> np.ndarray | None:
    """Return an image `(H, W)` more tilted than nine in ten; None where no tilt can be measured."""
    images = [pixels_of(png)[..., 0] for png in pngs if can_be_measured(png)]
    tilts = np.abs([tilt(image[None])[0] for image in images])
    if not np.isfinite(tilts).any():
        return None
    return images[np.nanargmin(np.abs(tilts - np.nanquantile(tilts, 0.9)))]


AUDIT = Audit(
    name="trends",
    result=tuple[Trends, ...],
    compute=study_trends,
    applies=lambda data, key: key != BASELINE and bool(len(data.groups.columns)),
    depends_on=added_groups,
    shown=TRENDS,
)
