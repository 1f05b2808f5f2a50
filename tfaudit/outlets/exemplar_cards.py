"""Cards of images: the image, its class, the majority prediction of each population."""

import dataclasses
from collections.abc import Iterable

import pandas as pd

from tfaudit.analysis.stored_images import Preview, preview_of


@dataclasses.dataclass(frozen=True)
class Card:
    """One image.

    Attributes:
        example: id of the example.
        label: true class.
        before: majority prediction of the baseline population.
        after: majority prediction of the compressed population; empty if none is shown.
        before_share: share of the baseline members that make that prediction.
        after_share: share of the compressed members that make that prediction.
        preview: the image or text of the example.
        beside: image of an example of the same class whose majority prediction does not change; None if none is shown.
        second: class that the baseline finds second best; empty if it is not shown, and so are the next two.
        margin: how much more probable the predicted class is than the second best.
        changed_by: how many variants change the prediction, in words; empty if `after` says it.
        before_right: whether `before` is right, or one of the classes that tie.
        after_right: whether `after` is right, or one of the classes that tie.
    """

    example: str
    label: str
    before: str
    after: str
    before_share: float
    after_share: float
    preview: Preview
    beside: Preview | None = None
    second: str = ""
    margin: str = ""
    changed_by: str = ""
    before_right: bool = False
    after_right: bool = False


def cards(
    pies: pd.DataFrame, images: Iterable[bytes], beside: Iterable[bytes | None] | None = None
) -> list[Card]:
    """Return a card for each row.

    Args:
        pies: rows of an `Exemplars`' frame; they may also have the last five attributes of a `Card`.
        images: images or texts as `Store.images` returns them, one per row.
        beside: images to show beside the exemplars, one or None per row; none by default.
    """
    return [
        Card(
            example=str(row["example"]),
            label=row["label"],
            before=row["baseline_mode"],
            after=row.get("compressed_mode", ""),
            before_share=row["baseline_share"],
            after_share=row.get("compressed_share", 0.0),
            preview=preview_of(image),
            beside=beside_it if (beside_it := preview_of(other or b"")).source else None,
            second=row.get("second", ""),
            margin=f"{row['margin']:.3f}" if "margin" in row else "",
            changed_by=row.get("changed_by", ""),
            before_right=row.get("before_right", False),
            after_right=row.get("after_right", False),
        )
        for row, image, other in zip(
            pies.to_dict("records"), images, beside or [None] * len(pies), strict=True
        )
    ]
