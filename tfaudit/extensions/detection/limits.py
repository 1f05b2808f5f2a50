"""Limits of a gate of detectors."""

from __future__ import annotations

import dataclasses

from tfaudit.audits.gate.limits import QUANTITIES, Quantity, quantity_of

_POINTS = QUANTITIES["overall_drop_pp"]

BOX_RECALL = dataclasses.replace(
    _POINTS,
    description="Drop of any class's share of true boxes that are found, percentage points.",
    title="drop of worst class's boxes",
)
FALSE_POSITIVES = Quantity(
    description="False positives per image of the compressed detector, in all classes.",
    title="false positives per image",
    number_format="{:.3f}",
    allowed="a number of 0 or more",
)
MEAN_PRECISION = dataclasses.replace(
    _POINTS,
    description="Drop of mAP, the mean average precision at IoU .5 to .95, percentage points.",
    title="drop of mAP",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BoxLimits:
    """The largest values that a gate of detectors allows; None leaves a quantity unchecked.

    Without any, the boxes of a class may drop by 5 points, and mAP by 1.

    Attributes:
        box_recall_drop_pp: drop of any class's share of true boxes that are found, percentage points.
        false_positives_per_image: false positives per image of the compressed detector.
        map_drop_pp: drop of mAP, percentage points.

    Raises:
        InputError: a value that is not a number in the allowed range.

    Example:
        >>> BoxLimits().as_dict()
        {'box_recall_drop_pp': 5.0, 'map_drop_pp': 1.0}
    """

    box_recall_drop_pp: float | None = None
    false_positives_per_image: float | None = None
    map_drop_pp: float | None = None

    def as_dict(self) -> dict[str, float]:
        """Return the limits that are set, or the defaults, by name."""
        limits = {name: limit for name, limit in vars(self).items() if limit is not None}
        return limits or {"box_recall_drop_pp": 5.0, "map_drop_pp": 1.0}

    def __post_init__(self) -> None:
        for name, limit in self.as_dict().items():
            quantity_of(name).checked(name, limit)
