"""Cards of exemplars: the image, its class, the majority prediction of each population."""

import dataclasses
from collections.abc import Iterable

import pandas as pd

from tfaudit.analysis.stored_images import Preview, preview_of


@dataclasses.dataclass(frozen=True)
class Card:
    """One exemplar.

    Attributes:
        example: id of the example.
        label: true class.
        before: majority prediction of the baseline population.
        after: majority prediction of the compressed population.
        before_share: share of the baseline members that make that prediction.
        after_share: share of the compressed members that make that prediction.
        preview: the image or text of the example.
        beside: image of an example of the same class whose majority prediction does not change; None if none is shown.
    """

    example: str
    label: str
    before: str
    after: str
    before_share: float
    after_share: float
    preview: Preview
    beside: Preview | None = None


def cards(
    pies: pd.DataFrame, images: Iterable[bytes], beside: Iterable[bytes | None] | None = None
) -> list[Card]:
    """Return a card for each exemplar.

    Args:
        pies: rows of an `Exemplars`' frame.
        images: images or texts as `Store.images` returns them, one per row.
        beside: images to show beside the exemplars, one or None per row; none by default.
    """
    return [
        Card(
            example=str(row["example"]),
            label=row["label"],
            before=row["baseline_mode"],
            after=row["compressed_mode"],
            before_share=row["baseline_share"],
            after_share=row["compressed_share"],
            preview=preview_of(image),
            beside=beside_it if (beside_it := preview_of(other or b"")).source else None,
        )
        for row, image, other in zip(
            pies.to_dict("records"), images, beside or [None] * len(pies), strict=True
        )
    ]
