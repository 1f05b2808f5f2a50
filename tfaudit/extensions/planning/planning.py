"""How many members and images a study needs for a wanted precision, before anything is trained."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.comparison import Comparison
from tfaudit.audits.gate.limits import QUANTITIES, Limits
from tfaudit.audits.gate.measurements import Measurements
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed, require, require_least, require_level
from tfaudit.extensions.planning.lossless_model import (
    PLANNED,
    LosslessModel,
    pilot_model,
    promise_interval,
)
from tfaudit.stats.moderated_variances import LEAST_GROUPS
from tfaudit.stats.precision import SampleSize, Spread

MEMBERS, IMAGES = (1, 2, 3, 5, 10, 30), (50, 100, 200, 500, 1000, 5000)
"""Numbers of members, and of images of a class, that a plan shows."""

POWER = 0.8
"""Share of studies in which a model that loses nothing should pass."""


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

    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per number of `members` and of `images`, with `half_width_pp`."""
        designs = pd.MultiIndex.from_product(
            [self.members, self.images], names=["members", "images"]
        )
        return designs.to_frame(index=False).assign(half_width_pp=self.half_widths.ravel())

    def summary(self) -> dict[str, Any]:
        """Return the wanted half-width and the images needed per number of members."""
        needed = {
            str(k): d.images if d else None
            for k, d in zip(self.members, self.smallest, strict=True)
        }
        return {
            "half_width_pp": self.half_width,
            "images_by_members": needed,
        }

    def chart(self) -> Drawing:
        """Draw the half-widths over the images, one line per number of members."""
        from tfaudit.extensions.planning.chart import plan_chart

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
    _check(members, images, alpha)
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


def _check(members: Sequence[int], images: Sequence[int], alpha: float) -> None:
    """Raise an `InputError` unless there are numbers of members and of images, and a level in (0, 1)."""
    require_level("alpha", alpha)
    for name, counts, least in (("members", members, 1), ("images", images, 2)):
        fitting = len(counts) > 0 and min(counts, default=0) >= least
        require(fitting, name, list(counts), f"one or more numbers of {least} or more")


def plannable(limits: Limits) -> list[str]:
    """Return the names of the limits that `plan_gate` simulates.

    >>> plannable(Limits(worst_class_drop_pp=5, flips=0.1))
    ['worst_class_drop_pp']
    """
    return [name for name in limits.as_dict() if name in PLANNED]


def _check_limits(limits: Limits) -> None:
    """Raise an `InputError` unless there is a limit that a plan simulates, and one on groups is alone."""
    planned = plannable(limits)
    if not planned:
        raise InputError("limits", limits.in_words(), f"one of {', '.join(PLANNED)}")
    if limits.group_drop_pp is not None and len(planned) > 1:
        raise InputError("limits", limits.in_words(), "group_drop_pp alone, in a plan of its own")


@dataclasses.dataclass(frozen=True)
class GatePlan(Result):
    """How often the gate will pass a model that loses nothing, by number of members and of images of each class.

    Attributes:
        model: model that was simulated.
        limits: limits of the gate.
        members: numbers of members of each population, M of them.
        images: numbers of images of each class, L of them.
        passes: `(M, L)` shares of simulated studies that pass.
        enough: images of each class with which `POWER` of the studies pass, per number of members; None if no number
            of images is enough.
        promises: `(M, 2)` interval of the share that passes with `enough` images, as a small pilot allows; NaN without
            a pilot or without enough.
        alpha: level of the gate's tests.
        notes: caveats for the reader, one sentence each.
    """

    model: LosslessModel
    limits: Limits
    members: tuple[int, ...]
    images: tuple[int, ...]
    passes: np.ndarray
    enough: tuple[int | None, ...]
    promises: np.ndarray
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per number of `members` and of `images`, with `passes`, a share of studies."""
        designs = pd.MultiIndex.from_product(
            [self.members, self.images], names=["members", "images"]
        )
        return designs.to_frame(index=False).assign(passes=self.passes.ravel())

    def summary(self) -> dict[str, Any]:
        """Return the limits, and the images needed per number of members with the interval of their promise."""
        rows = zip(self.members, self.enough, self.promises.tolist(), strict=True)
        return {
            **self.limits.as_dict(),
            "promise": POWER,
            "images_by_members": {
                str(members): {"images": images, "low": low, "high": high}
                for members, images, (low, high) in rows
            },
        }

    def chart(self) -> Drawing:
        """Draw the share of studies that pass over the images, one line per number of members."""
        from tfaudit.extensions.planning.chart import gate_plan_chart

        return gate_plan_chart(self.frame(), POWER)


def plan_gate(
    source: LosslessModel | Comparison,
    limits: Limits,
    *,
    members: Sequence[int] = MEMBERS,
    images: Sequence[int] = IMAGES,
    groups: np.ndarray | None = None,
    alpha: float = 0.05,
) -> GatePlan:
    """Compute how often the gate will pass a model that loses nothing, for all classes and both limits on losses.

    Studies are simulated with the variances of a pilot, or with guessed ones. With a small pilot these are uncertain,
    and so is the promise: its interval comes from variances that the pilot allows as well.

    Args:
        source: a pilot study, or the model that `guessed_model` returns.
        limits: limits of the gate, `overall_drop_pp`, `worst_class_drop_pp` or both, or `group_drop_pp` alone; others
            are not simulated. Without any, the defaults for the number of classes hold.
        members: numbers of members to show; 1 is one model against one.
        images: numbers of images of each class, or of each group, to show.
        groups: `(N,)` integers from 0, a column of named groups of a pilot's examples, for `group_drop_pp`; None by
            default. The classes of a guessed model are then the groups.
        alpha: level of the gate's tests.

    Raises:
        InputError: numbers below 1, an impossible level, neither limit, or a pilot without a class of 2 images.

    Example:
        >>> model = guessed_model(guessed_spread(member_sd_pp=0.3, flips=0.04, paired=True))
        >>> limits = Limits(overall_drop_pp=1, worst_class_drop_pp=5)
        >>> planned = plan_gate(model, limits, members=[1, 10], images=[100, 500])
        >>> planned.passes.round(1).tolist(), [design < 500 for design in planned.enough]
        ([[0.0, 0.9], [0.2, 1.0]], [True, True])
    """
    _check(members, images, alpha)
    pilot = None if isinstance(source, LosslessModel) else source
    model = source if isinstance(source, LosslessModel) else pilot_model(source, groups)
    limits = limits.for_classes(len(model.recalls))
    _check_limits(limits)
    notes = []
    if others := [QUANTITIES[name].title for name in limits.as_dict() if name not in PLANNED]:
        notes.append(f"Not simulated: {listed(others)}. These limits can only lower the shares.")
    if pilot is not None and pilot.clusters is not None:
        notes.append("The examples of the pilot form clusters; those of the plan are independent.")
    passes = [[model.passes(limits, k, n, alpha=alpha) for n in images] for k in members]
    enough = [model.images_needed(limits, k, POWER, alpha=alpha) for k in members]
    promises = np.full((len(members), 2), np.nan)
    for row, (count, design) in enumerate(zip(members, enough, strict=True)):
        if pilot is not None and design is not None:
            promises[row] = promise_interval(
                pilot, limits, count, design, groups=groups, alpha=alpha
            )
    return GatePlan(
        model,
        limits,
        tuple(members),
        tuple(images),
        np.array(passes),
        tuple(enough),
        promises,
        alpha,
        tuple(notes),
    )


def guessed_model(spread: Spread, accuracy: float = 0.9, classes: int = 10) -> LosslessModel:
    """Return a model that loses nothing, all of whose classes vary as a guessed spread says.

    Args:
        spread: result of `guessed_spread`.
        accuracy: accuracy of a model on each class, in (0, 1).
        classes: number of classes.

    Raises:
        InputError: a guess out of range.
    """
    require(0 < accuracy < 1, "accuracy", accuracy, "a share in (0, 1)")
    require_least(1, classes=classes)
    parts = (accuracy, *(part / 100**2 for part in (spread.image, spread.residual, spread.member)))
    recalls, image, residual, members = (np.full(classes, part) for part in parts)
    return LosslessModel(recalls, image, residual, members, common=0.0, paired=spread.paired)


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
        expected = "a pilot study with examples of the class"
        raise InputError("measurements", "no class with 2 examples or more", expected)
    images = losses.examples[rows]
    members = measurements.members_a_side
    shared = losses.overlap[rows]
    image = np.nanmean((losses.of_images[rows] - shared) * images)
    member = np.mean(losses.of_members[rows] - shared) * members
    residual = np.mean(shared * images) * members
    image, member, residual = (float(max(part, 0.0)) for part in (image, member, residual))
    paired, moderated = bool(measurements.pairs), losses.moderated
    return Spread(image, member, residual, paired, unit=100, moderated=moderated)


def guessed_spread(
    *,
    accuracy: float = 0.9,
    member_sd_pp: float = 1.0,
    heterogeneity: float = 0.5,
    flips: float = 0.05,
    paired: bool = False,
    classes: int = 1,
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
        classes: number of classes, 1 by default; of ten or more, all together tell how members differ.

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
    moderated = classes >= LEAST_GROUPS
    return Spread(100**2 * image, member, 100**2 * residual, paired, 100, moderated)
