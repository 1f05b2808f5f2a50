"""How often the gate passes and fails studies whose truth is a limit, a little more or a little less."""

import dataclasses
import functools
import itertools
from collections.abc import Iterable

import numpy as np
import pandas as pd

from tests.builders.simulated_studies import (
    RECALLS,
    Truth,
    expected_changes,
    simulate,
    true_flip_rates,
    with_losses,
)
from tfaudit.audits.gate.checks import FAIL, PASS
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import Measurements, measure

LOSSES = {
    "one class of ten loses 25 points": (0.25, 0.0),
    "one class of ten loses 10 points": (0.1001, 0.0),
    "every class loses 2 points": (0.02, 0.02),
}
"""Loss of Shirt, the weakest of ten classes, and of all others, shares."""

ERRORS = {"1.1": [PASS], "1": [PASS, FAIL], ".9": [FAIL]}
"""Outcomes that are errors, by what the truth is, in units of the limit."""


def errors_at_limit(
    measured: Measurements, limit: str, true: float, interval: tuple[float, float]
) -> dict[str, bool]:
    """Return whether one limit errs where the truth is 1.1 and .9 times it, and whether the interval holds the truth.

    Args:
        measured: the measurements of a study.
        limit: name of the limit, such as "overall_drop_pp".
        true: the true value of what it bounds, in its unit.
        interval: both ends of the measured interval, in the same unit.
    """

    def outcome(ratio: float) -> str:
        return judge(measured, Limits(**{limit: true / ratio})).outcome

    low, high = map(float, interval)
    errs = {"1.1: passes": outcome(1.1) == PASS, ".9: fails": outcome(0.9) == FAIL}
    return errs | {"coverage": low <= true <= high}


@dataclasses.dataclass(frozen=True)
class StudyOfLimits:
    """Studies of one design.

    Attributes:
        losses: name of the truth, one of `LOSSES`.
        paired: whether the compressed members are made from the baseline's.
        members: K. Single models do not differ in strength or knack: they are the whole truth.
        classes: C, a multiple of ten.
        images: number of images of each class.
    """

    losses: str
    paired: bool
    members: int
    classes: int
    images: int

    @property
    def truth(self) -> Truth:
        """What compression does."""
        shirt, others = LOSSES[self.losses]
        losses = np.full(len(RECALLS), others)
        losses[RECALLS.argmin()] = shirt
        return with_losses(
            np.resize(losses, self.classes),
            paired=self.paired,
            differ=float(self.members > 1),
            image_shift=0.1,
            member_shift=0.1,
        )

    def true_values(self) -> dict[str, float]:
        """Return the true values of the quantities that limits bound, by the limits' names, in their units."""
        drops = -100 * expected_changes(self.truth, self.members, self.classes)
        values = {"overall_drop_pp": drops.mean(), "worst_class_drop_pp": drops.max()}
        if drops.min() > 1:
            rates = _flip_rates(self.losses, self.paired, self.members > 1)
            return values | {"flips": rates["changed"], "negative_flips": rates["right to wrong"]}
        share = float(np.mean(drops > 1))
        return values | {"share_beyond": share}

    def error_rates(self, seeds: Iterable[int]) -> pd.DataFrame:
        """Return the shares of studies that err, a row per limit and a column per error, such as `1.1: pass`."""
        values = self.true_values()
        worst = values.pop("worst_class_drop_pp")
        # `share_beyond` counts classes by the limit of the worst class.
        drop = {"worst_class_drop_pp": 10.0} if self.losses.endswith("10 points") else {}
        truth, sizes = self.truth, {"members": self.members, "images": self.images}
        studies = []
        for seed in seeds:
            measured = measure(*simulate(truth, seed, classes=self.classes, **sizes))
            # It takes longest, and is the same for all limits on the share.
            object.__setattr__(measured, "share_beyond", functools.cache(measured.share_beyond))
            errs: dict[tuple[str, str], bool] = {}
            for ratio, outcomes in ERRORS.items():
                limits = {name: value / float(ratio) for name, value in values.items()}
                checks = [
                    *judge(measured, Limits(worst_class_drop_pp=worst / float(ratio))).checks,
                    *judge(measured, Limits(**drop | limits)).checks[::-1],
                ]
                for check, outcome in itertools.product(checks, outcomes):
                    errs.setdefault((check.name, f"{ratio}: {outcome}"), check.outcome == outcome)
            studies.append(pd.Series(errs))
        return pd.concat(studies, axis=1).mean(axis=1).unstack(sort=False)


@functools.cache
def _flip_rates(losses: str, paired: bool, differ: bool) -> dict[str, float]:
    """Return the true rates of changed predictions, of ten classes: all others repeat them."""
    return true_flip_rates(StudyOfLimits(losses, paired, 1 + differ, 10, 1).truth)
