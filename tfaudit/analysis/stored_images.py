"""Properties of small grey images: digits, letters, drawings."""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
import pandas as pd
from PIL import Image

from tfaudit.stats.image_properties import mean_activation, tilt

__all__ = ["can_be_measured", "image_properties"]

EDGE = 64
"""Pixels. Tilt and activation mean something for small grey images; larger ones are not measured."""


def image_properties(pngs: Iterable[bytes]) -> tuple[pd.Series, ...]:
    """A value of each image per property; none where images are coloured, large, missing or of two sizes.

    Properties of which all images have the same value are left out.
    """
    images = _grey(pngs)
    if images is None:
        return ()
    measured = (
        pd.Series(np.abs(tilt(images)), name="absolute tilt"),
        pd.Series(mean_activation(images), name="mean activation"),
    )
    return tuple(values for values in measured if values.nunique() > 1)


def can_be_measured(png: bytes) -> bool:
    """Whether an image is grey and small."""
    if not png:
        return False
    with Image.open(io.BytesIO(png)) as image:
        return image.mode == "L" and max(image.size) <= EDGE


def _grey(pngs: Iterable[bytes]) -> np.ndarray | None:
    """The images `(N, H, W)`."""
    images: list[np.ndarray] = []
    for png in pngs:
        if not can_be_measured(png):
            return None
        with Image.open(io.BytesIO(png)) as image:
            if images and image.size[::-1] != images[0].shape:
                return None
            images.append(np.asarray(image))
    return np.stack(images)
