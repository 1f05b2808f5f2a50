"""Precision of an estimated change: how its interval shrinks with the number of images and of members."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from tfaudit.stats.change_intervals import critical_value
from tfaudit.stats.least_variance import least_variance

MOST_IMAGES, MOST_MEMBERS = 10_000_000, 10_000
"""Largest numbers of images and of members that are suggested."""

PRACTICAL = 10
"""If more than this many times the images are needed, more members may be the cheaper remedy."""


@dataclasses.dataclass(frozen=True)
class SampleSize:
    """Numbers of images of a class or group, and of members of each population."""

    images: int
    members: int


@dataclasses.dataclass(frozen=True)
class Spread:
    """Components of the variance of a change: one image, one member, and their residual.

    With N images and K members on each side, a change has the variance `image / N + member / K + residual / (N K)`.
    Units are those of the change, squared.

    Attributes:
        image: variance between images.
        member: variance between members, of both sides together.
        residual: variance of images by members.
        paired: whether each compressed member has a parent among the baseline's.
        unit: unit of the change, 1 for shares (the default), 100 for percentage points, 0 for measurements, which need
            no least variance.
        moderated: whether other groups lend the members' variance a degree of freedom; see `Change.moderated`.

    Example:
        >>> round(Spread(image=0.04, member=0.0002, residual=0.1).half_width(images=200, members=5), 3)
        0.038
    """

    image: float
    member: float
    residual: float
    paired: bool = False
    unit: float = 1.0
    moderated: bool = False

    @classmethod
    def measured(
        cls,
        of_images: float,
        of_members: float,
        overlap: float,
        design: SampleSize,
        *,
        paired: bool = False,
        unit: float = 1.0,
        moderated: bool = False,
    ) -> Spread:
        """Return the spread of a measured change from the components of its variance, as in `Change`.

        If the component of images is only the minimum assumed for every change (`least_variance`), it shrinks
        with the square of the number of images and does not count here; `half_width` assumes the minimum itself.
        """
        images = design.images
        members = design.members
        if of_images <= unit**2 * least_variance(images) * (1 + 1e-9):
            of_images = min(overlap, of_images) if members > 1 else 0.0
        shared = min(overlap, of_images, of_members)
        image = (of_images - shared) * images
        member = (of_members - shared) * members
        return cls(image, member, shared * images * members, paired, unit, moderated)

    def half_width(self, images: int, members: int, confidence: float = 0.95) -> float:
        """Return half the width of the interval of a change; with one member on each side, over images only."""
        cross = self.residual / (images * members)
        of_images = max(self.image / images + cross, self.unit**2 * least_variance(images))
        of_members = self.member / members + cross if members > 1 else 0.0
        shared = cross if members > 1 else 0.0
        variance = max(of_images + of_members - shared, of_images, of_members)
        of_sides = max(members - 1, 1) * (1 if self.paired else 2)
        freedom = max(images - 1, 1), of_sides + self.moderated
        critical = critical_value((1 + confidence) / 2, of_images, of_members, *freedom)
        return float(critical) * math.sqrt(variance)

    def images_needed(
        self, half_width: float, members: int, confidence: float = 0.95, start: int = 2
    ) -> int | None:
        """Return the smallest number of images >= `start` that gives less than a half-width; None if none does."""
        return smallest(
            start, MOST_IMAGES, lambda n: self.half_width(n, members, confidence) < half_width
        )

    def decides(self, gap: float, design: SampleSize, confidence: float) -> SampleSize | None:
        """Return the smallest design whose interval is narrower than `gap` on each side; None if there is none.

        The design has more images; if ten times the images are not enough, more members if they grow by less; and if
        neither alone suffices, more of both in proportion.

        Args:
            gap: distance between the change and the limit.
            design: present design.
            confidence: level of the interval.
        """
        if not gap > 0:
            return None
        images = design.images
        members = design.members
        enough = self.images_needed(gap, members, confidence, images)
        # With single models there are no members to add.
        if members == 1 or (enough and enough <= PRACTICAL * images):
            return SampleSize(enough, members) if enough else None
        more = smallest(
            members, MOST_MEMBERS, lambda k: self.half_width(images, k, confidence) < gap
        )
        if more and (not enough or more / members < enough / images):
            return SampleSize(images, more)
        if enough:
            return SampleSize(enough, members)

        def scaled(k: int) -> SampleSize:
            return SampleSize(math.ceil(images * k / members), k)

        more = smallest(
            members, MOST_MEMBERS, lambda k: self.half_width(scaled(k).images, k, confidence) < gap
        )
        return scaled(more) if more else None


def smallest(start: int, most: int, enough: Callable[[int], bool]) -> int | None:
    """Return the smallest number from `start` to `most` that is enough, found by bisection; None if none is.

    Example:
        >>> smallest(2, 1000, lambda number: number**2 > 200)
        15
    """
    low = start - 1
    high = max(start, 2)
    while not enough(high):
        low = high
        high = high * 2
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle > 1 and enough(middle) else (middle, high)
    return high
