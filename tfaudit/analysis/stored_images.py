"""Previews as a study stores them, images in PNG or WebP or texts in UTF-8: pixels, properties, and parts of a page."""

import base64
import contextlib
import io
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from tfaudit.stats.image_properties import (
    class_means,
    distance_to_class_mean,
    mean_activation,
    tilt,
)
from tfaudit.store.store import Store

EDGE = 64
"""Pixels. Tilt and activation mean something for small grey images; larger images are not measured."""

TILT = "absolute tilt"
"""Name of the property that one of the images illustrates."""

_CHUNK = 1000

_SIGNATURES = {"png": rb"\x89PNG\r\n\x1a\n", "webp": rb"RIFF....WEBP"}


def image_properties(pngs: Iterable[bytes], labels: np.ndarray) -> tuple[pd.Series, ...]:
    """Measure images; empty if any image is coloured, large, missing or differs from the first in size.

    The distance is from the mean of the stored images of the class: training images, whose mean [P] takes, are not
    stored. A property that is the same for all images is left out.

    Returns:
        One series `(N,)` per property, named after it.
    """
    images: list[np.ndarray] = []
    for png in pngs:
        if not can_be_measured(png):
            return ()
        images.append(pixels_of(png)[..., 0])
        if images[-1].shape != images[0].shape:
            return ()
    stacked = np.stack(images)
    means = class_means(stacked, labels, int(labels.max()) + 1)
    measured = (
        pd.Series(np.abs(tilt(stacked)), name=TILT),
        pd.Series(mean_activation(stacked), name="mean activation"),
        pd.Series(
            distance_to_class_mean(stacked, labels, means),
            name="distance from the class's mean image",
        ),
    )
    return tuple(values for values in measured if values.nunique() > 1)


def has_images(store: Store, split: str) -> bool:
    """Return whether a split of a study stores any image; looks no further than the first one."""
    total = len(store.examples(split, images=False, groups=False))
    chunks = (range(start, min(start + _CHUNK, total)) for start in range(0, total, _CHUNK))
    return any(any(store.images(split, chunk)) for chunk in chunks)


def previews_of(store: Store, split: str, positions: Iterable[int]) -> dict[int, bytes]:
    """Return the images or texts of a split by position, each once and in order."""
    wanted = sorted(set(map(int, positions)))
    return dict(zip(wanted, store.images(split, wanted), strict=True))


def is_picture(content: bytes) -> bool:
    """Return whether what a study stores of an example is a picture, not a text.

    Example:
        >>> is_picture(b"what a day")
        False
    """
    return bool(picture_format(content))


def picture_format(content: bytes) -> str:
    r"""Return the format of a stored picture, "png" or "webp"; empty for what is no picture.

    Example:
        >>> picture_format(b"RIFF\x00\x00\x00\x00WEBPVP8 ")
        'webp'
    """
    matches = (form for form, start in _SIGNATURES.items() if re.match(start, content, re.DOTALL))
    return next(matches, "")


def can_be_measured(png: bytes) -> bool:
    """Return whether a preview is an image that is grey and small."""
    if not is_picture(png):
        return False
    with Image.open(io.BytesIO(png)) as image:
        return image.mode == "L" and max(image.size) <= EDGE


def pixels_of(png: bytes) -> np.ndarray:
    """Return the pixels of a stored picture, uint8 `(H, W, 1)` or `(H, W, 3)`."""
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image if image.mode == "L" else image.convert("RGB"))
    return pixels[..., None] if pixels.ndim == 2 else pixels


def png_of(pixels: np.ndarray, edge: int) -> bytes:
    """Return pixels `(H, W, 1 or 3)` as a PNG whose longer side has at most `edge` pixels."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((edge, edge))  # shrinks only
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def word_for(content: bytes) -> str:
    r"""Return the word for what a study stores of an example: images, texts, rows of a table, or examples if not sure.

    Example:
        >>> word_for(b"what a day"), word_for(b"age: 3\nhours: 40"), word_for(b"")
        ('texts', 'rows', 'images')
    """
    text = preview_of(content).text
    if not text:
        return "images"
    lines = text.splitlines()
    if not all(re.match(r"[^:]+: \S", line) for line in lines):
        return "texts"
    return "rows" if len(lines) > 1 else "examples"


class Preview(NamedTuple):
    """Preview of an example on a page: a picture, a text, or neither if none is stored.

    Attributes:
        source: the picture as a data URI, or empty.
        text: the text, or the row of a table with a line per column; or empty.
        tiny: whether the picture is enlarged without smoothing.
    """

    source: str = ""
    text: str = ""
    tiny: bool = False


def preview_of(content: bytes) -> Preview:
    """Return the preview in what a study stores of an example.

    Example:
        >>> preview_of(b"what a day").text, preview_of(b"")
        ('what a day', Preview(source='', text='', tiny=False))
    """
    if is_picture(content):
        return Preview(source=data_uri(content), tiny=is_tiny(content))
    return Preview(text=content.decode("utf-8", "replace"))


def data_uri(picture: bytes) -> str:
    """Return a stored picture as the source of a picture in a page; empty for what is no picture."""
    form = picture_format(picture)
    return f"data:image/{form};base64,{base64.b64encode(picture).decode()}" if form else ""


def is_tiny(picture: bytes) -> bool:
    """Return whether the pixels of a picture should stay crisp when it is enlarged: its width is below 96 pixels.

    Example:
        >>> is_tiny(b"")
        True
    """
    with (
        contextlib.suppress(OSError, Image.DecompressionBombError),
        Image.open(io.BytesIO(picture)) as image,
    ):
        return image.width < 96
    return True
