"""Cards of exemplars: the image, what it is, what the populations say."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pandas as pd

from tfaudit.analysis.stored_images import data_uri, is_tiny

__all__ = ["Card", "by_decisiveness", "cards"]


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


def by_decisiveness(pies: pd.DataFrame) -> pd.DataFrame:
    """The most decisive exemplars first: those where both populations are surest of their different answers.

    Args:
        pies: rows of an `Exemplars`' frame.
    """
    return pies.sort_values("decisiveness", ascending=False, kind="stable")


def cards(pies: pd.DataFrame, images: Iterable[bytes]) -> list[Card]:
    """A card for each exemplar.

    Args:
        pies: rows of an `Exemplars`' frame.
        images: PNG bytes, one per row; empty where none is stored.
    """
    return [
        Card(
            example=str(row["example"]),
            label=row["label"],
            before=row["baseline_mode"],
            after=row["compressed_mode"],
            before_share=row["baseline_share"],
            after_share=row["compressed_share"],
            source=data_uri(image),
            tiny=is_tiny(image),
        )
        for row, image in zip(pies.to_dict("records"), images, strict=True)
    ]
