"""Cards of exemplars: the image, what it is, what the populations say."""

from __future__ import annotations

import base64
import dataclasses
import struct

import pandas as pd

from tfaudit.audit.exemplars import Exemplars

__all__ = ["Card", "data_uri", "gallery"]

_PNG = b"\x89PNG\r\n\x1a\n"


@dataclasses.dataclass(frozen=True)
class Card:
    """One exemplar.

    Attributes:
        example: its id.
        label: true class.
        before: modal label of the baseline population.
        after: modal label of the compressed population.
        before_share: share of the baseline's votes for its mode.
        after_share: share of the compressed population's votes for its mode.
        source: the image as a data URI; empty where none is stored.
        tiny: is the image so small that its pixels should stay crisp when enlarged?
    """

    example: str
    label: str
    before: str
    after: str
    before_share: float
    after_share: float
    source: str
    tiny: bool


def gallery(found: Exemplars, images: pd.Series, count: int = 24) -> list[Card]:
    """The most decisive exemplars first: those where both populations are surest of their different answers.

    Args:
        found: the PIEs.
        images: `(N,)` PNG bytes, in the order of the examples.
        count: at most so many.
    """
    rows = found.frame().sort_values("decisiveness", ascending=False, kind="stable").head(count).to_dict("records")
    return [
        Card(
            example=str(row["example"]),
            label=row["label"],
            before=row["baseline_mode"],
            after=row["compressed_mode"],
            before_share=row["baseline_share"],
            after_share=row["compressed_share"],
            source=data_uri(images.iloc[row["index"]]),
            tiny=_width(images.iloc[row["index"]]) < 96,
        )
        for row in rows
    ]


def data_uri(png: bytes) -> str:
    """A PNG as the source of a picture in the page; empty where there is none."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}" if png else ""


def _width(png: bytes) -> int:
    """Of a PNG: its header holds it in bytes 16 to 19."""
    return struct.unpack(">I", png[16:20])[0] if png and png.startswith(_PNG) else 0
