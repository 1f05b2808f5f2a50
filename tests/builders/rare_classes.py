"""Simulated studies in which every member loses the same images of a class of few images."""

import dataclasses

from tests.builders.limits_at_truth import errors_at_limit
from tests.builders.simulated_studies import Truth, expected_changes, simulate
from tfaudit.audits.gate.measurements import measure

OF_OTHERS = 200
CLASSES = 10


@dataclasses.dataclass(frozen=True)
class RareClass:
    """A design: nine classes of 200 images that lose nothing, and a rare one.

    Attributes:
        images: number of images of the rare class.
        share: share of its images that every compressed member loses.
        members: K pairs.
        image_shift, member_shift: how the other images change, as in `Truth`.
        rare: the rare class.
    """

    images: int
    share: float
    members: int
    image_shift: float = 0.0
    member_shift: float = 0.2
    rare: str = "Bag"

    @property
    def truth(self) -> Truth:
        """What compression does."""
        return Truth(
            paired=True,
            lost_alike={self.rare: self.share},
            image_shift=self.image_shift,
            member_shift=self.member_shift,
        )

    @property
    def loss(self) -> float:
        """The true loss of the rare class, percentage points."""
        return -100 * float(expected_changes(self.truth, self.members).min())

    def errors(self, seed: int) -> dict[str, float]:
        """Return whether the gate errs, whether the interval holds the loss, and its half-width in points."""
        sizes = [OF_OTHERS] * CLASSES
        rare = expected_changes(self.truth, self.members).argmin()
        sizes[rare] = self.images
        measured = measure(*simulate(self.truth, seed, members=self.members, images=sizes))
        low, high = measured.classes.low[rare], measured.classes.high[rare]
        errs = errors_at_limit(measured, "worst_class_drop_pp", self.loss, (low, high))
        return errs | {"half-width": float(high - low) / 2}
