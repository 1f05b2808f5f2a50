"""How many members and images a study needs for a wanted precision, before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from tfaudit.audits.gate.measurements import Measurements
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require
from tfaudit.stats.intervals import require_level
from tfaudit.stats.precision import SampleSize, Spread

MEMBERS, IMAGES = (1, 2, 3, 5, 10, 30), (50, 100, 200, 500, 1000, 5000)
"""Numbers of members, and of images of a class, that a plan shows."""

POWER = 0.8
"""Probability with which a class without any true loss passes `Plan.passable_limit`."""


@dataclasses.dataclass(frozen=True)
class Plan(Result):
    """Half-widths of the interval of a class's change by number of members and of images, percentage points.

    Attributes:
        spread: variances that the plan rests on, in squared percentage points.
        members: numbers of members of each population, M of them.
        images: numbers of images of the class, L of them.
        half_widths: `(M, L)` half-widths.
        half_width: wanted half-width.
        smallest: smallest design that reaches the half-width, per number of members; None if images alone do not
            suffice.
        alpha: intervals are at level 1 - alpha.
    """

    spread: Spread
    members: tuple[int, ...]
    images: tuple[int, ...]
    half_widths: np.ndarray
    half_width: float
    smallest: tuple[SampleSize | None, ...]
    alpha: float

    @property
    def passable_limit(self) -> float:
        """The limit of a gate that a class without any true loss passes with a probability of about 80 %."""
        return float(
            self.half_width * (1 + special.ndtri(POWER) / special.ndtri(1 - self.alpha / 2))
        )

    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per number of `members` and of `images`, with `half_width_pp`."""
        members, images = np.meshgrid(self.members, self.images, indexing="ij")
        columns = {"members": members, "images": images, "half_width_pp": self.half_widths}
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()})

    def summary(self) -> dict[str, Any]:
        """Return the wanted half-width, the limit it serves, and the images needed per number of members."""
        needed = {
            str(k): d.images if d else None
            for k, d in zip(self.members, self.smallest, strict=True)
        }
        return {
            "half_width_pp": self.half_width,
            "passable_limit_pp": self.passable_limit,
            "images_by_members": needed,
        }

    def chart(self) -> Drawing:
        """Draw the half-widths over the images, one line per number of members."""
        from tfaudit.audits.planning.chart import plan_chart

        return plan_chart(self.frame(), self.half_width)


def plan(
    spread: Spread,
    half_width_pp: float,
    *,
    members: Sequence[int] = MEMBERS,
    images: Sequence[int] = IMAGES,
    alpha: float = 0.05,
) -> Plan:
    """Compute how precisely the change of a class will be known, and which designs reach a wanted precision.

    The intervals are those of the audits and the gate, over images and members [C].

    Args:
        spread: spread that `pilot_spread` or `guessed_spread` returns.
        half_width_pp: wanted half-width of the interval, percentage points.
        members: numbers of members to show; 1 is one model against one, over images only.
        images: numbers of images of the class to show.
        alpha: intervals are at level 1 - alpha.

    Raises:
        InputError: numbers below 1 or an impossible half-width or level.

    Example:
        >>> spread = guessed_spread(accuracy=0.9, member_sd_pp=1, flips=0.04, paired=True)
        >>> plan(spread, 3, members=[1, 5, 30], images=[100, 1000]).frame().round(1)
           members  images  half_width_pp
        0        1     100            4.0
        1        1    1000            1.2
        2        5     100            3.5
        3        5    1000            1.6
        4       30     100            2.9
        5       30    1000            1.0
    """
    require(half_width_pp > 0, "half_width_pp", half_width_pp, "percentage points above 0")
    require_level("alpha", alpha)
    for name, counts, least in (("members", members, 1), ("images", images, 2)):
        fitting = len(counts) > 0 and min(counts, default=0) >= least
        require(fitting, name, list(counts), f"one or more numbers of {least} or more")
    widths = [[spread.half_width(n, k, 1 - alpha) for n in images] for k in members]
    needed = ((k, spread.images_needed(half_width_pp, k, 1 - alpha)) for k in members)
    smallest = [SampleSize(count, k) if count else None for k, count in needed]
    return Plan(
        spread,
        tuple(members),
        tuple(images),
        np.array(widths),
        half_width_pp,
        tuple(smallest),
        alpha,
    )


def pilot_spread(measurements: Measurements, class_name: str | None = None) -> Spread:
    """Return the spread of a class measured by a pilot study, or the mean of all classes, in squared percentage points.

    A pilot of one model against one does not show how members differ, so it can only plan for single models.

    Args:
        measurements: result of `measure`, or of a variant of a study.
        class_name: class to plan for; by default the mean over the classes, which few images estimate better.

    Raises:
        InputError: an unknown class, or no class with 2 images or more.
    """
    losses = measurements.classes
    rows = losses.examples >= 2
    if class_name is not None:
        require(class_name in losses.names, "class_name", class_name, "a class of the study")
        rows = rows & (np.array(losses.names, object) == class_name)
    if not rows.any():
        expected = "a pilot study with images of the class"
        raise InputError("measurements", "no class with 2 images or more", expected)
    images = losses.examples[rows]
    members = measurements.members_a_side
    shared = losses.overlap[rows]
    image = np.mean((losses.of_images[rows] - shared) * images)
    member = np.mean(losses.of_members[rows] - shared) * members
    residual = np.mean(shared * images) * members
    image, member, residual = (float(max(part, 0.0)) for part in (image, member, residual))
    return Spread(image, member, residual, paired=bool(measurements.pairs), unit=100)


def guessed_spread(
    *,
    accuracy: float = 0.9,
    member_sd_pp: float = 1.0,
    heterogeneity: float = 0.5,
    flips: float = 0.05,
    paired: bool = False,
) -> Spread:
    """Return a spread from rough guesses, squared percentage points.

    Args:
        accuracy: accuracy of a model on the class, in (0, 1).
        member_sd_pp: standard deviation of the class's recall over members on very many images, percentage points; of
            its change if paired.
        heterogeneity: how alike members are on an image: the share of the variance of right and wrong, or of the
            flips, that lies between images; in [0, 1].
        flips: share of the images on which compression makes a right model wrong or a wrong one right.
        paired: whether compressed members are made from the baseline's members.

    Raises:
        InputError: a guess out of range.

    Example:
        >>> guess = guessed_spread(accuracy=0.9, heterogeneity=0.5, flips=0.05)
        >>> round(guess.image), round(guess.member), round(guess.residual)
        (250, 2, 900)
    """
    require(0 < accuracy < 1, "accuracy", accuracy, "a share in (0, 1)")
    require(member_sd_pp >= 0, "member_sd_pp", member_sd_pp, "percentage points, 0 or more")
    require(0 <= heterogeneity <= 1, "heterogeneity", heterogeneity, "a share in [0, 1]")
    require(0 <= flips <= 1, "flips", flips, "a share in [0, 1]")
    own = flips if paired else 2 * accuracy * (1 - accuracy)
    image = heterogeneity * flips
    residual = (1 - heterogeneity) * own
    member = member_sd_pp**2 * (1 if paired else 2)
    return Spread(100**2 * image, member, 100**2 * residual, paired, 100)
