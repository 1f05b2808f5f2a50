"""Weighted means over conditions, before against after: by member, or by image where there is one model on a side."""

from __future__ import annotations

import dataclasses

import numpy as np

from tfaudit.audit.corruption.observations import Observed
from tfaudit.stats.contingency import mcnemar, paired_interval
from tfaudit.stats.t_tests import TTests, paired_test, welch

__all__ = ["IMAGES", "MCNEMAR", "NONE", "PAIRS", "WELCH", "Change", "change"]

WELCH, PAIRS, MCNEMAR, IMAGES, NONE = "Welch", "paired t, members", "McNemar", "paired t, images", "none"


@dataclasses.dataclass(frozen=True)
class Change:
    """A mean before and after. Means and differences are shares, NaN where nothing was evaluated.

    Attributes:
        before: mean over the baseline's members.
        after: mean over the compressed population's.
        members: how many of either stand behind it.
        difference: after minus before.
        low: lower end of its interval; NaN without a test.
        high: its upper end.
        test: `WELCH` between members, or `PAIRS` where they are paired; of one model against one `MCNEMAR`, or `IMAGES`
            where an image counts more than once; `NONE`.
        p: two-sided p-value.
        lost: of one model against one, images that do worse after; NaN for populations.
        won: images that do better.
    """

    before: float
    after: float
    members: tuple[int, int]
    difference: float
    low: float = np.nan
    high: float = np.nan
    test: str = NONE
    p: float = np.nan
    lost: float = np.nan
    won: float = np.nan


def change(observed: Observed, weights: np.ndarray, k: int, *, alpha: float) -> Change:
    """Compares the weighted sum of top-k accuracies of the two populations.

    A member counts where it was evaluated in every column of weight. Two members or more on both sides are compared by
    Welch's t-test, or by the paired one where members are made from one another. One model against one is tested over
    the images, if the columns show the same ones: by McNemar's exact test with Tango's interval for a single column,
    else by the paired t-test of each image's weighted sum, for an image under five severities is not five images.

    Args:
        observed: of the two populations.
        weights: `(S + 1,)` floats, the last one for the clean images.
        k: 1 or 5.
        alpha: the interval is at level 1 - alpha.
    """
    columns = np.flatnonzero(weights)
    before, after = (
        side.accuracy[k][rows][:, columns] @ weights[columns]
        for side, rows in zip((observed.before, observed.after), observed.rows(columns), strict=True)
    )
    members = len(before), len(after)
    if not min(members) or not len(columns):
        return Change(np.nan, np.nan, members, np.nan)
    found = Change(float(before.mean()), float(after.mean()), members, float(after.mean() - before.mean()))
    if min(members) > 1:
        # Accuracies are ratios of counts: what differs by less than 1e-12 differs by rounding, not by training.
        first, second = (np.round(each, 12)[:, None] for each in (after, before))
        if observed.paired:
            return _tested(found, PAIRS, paired_test(first, second, confidence=1 - alpha))
        return _tested(found, WELCH, welch(first, second, confidence=1 - alpha))
    if not observed.one_against_one(columns, k):
        return found
    return _over_images(observed, found, weights, k, alpha)


def _tested(found: Change, name: str, test: TTests) -> Change:
    return dataclasses.replace(found, low=float(test.low[0]), high=float(test.high[0]), test=name, p=float(test.p[0]))


def _over_images(observed: Observed, found: Change, weights: np.ndarray, k: int, alpha: float) -> Change:
    columns = [int(i) for i in np.flatnonzero(weights)]
    before, after = (
        np.sum([weights[i] * side.right[k, i] for i in columns], axis=0) for side in (observed.before, observed.after)
    )
    step = np.round(after - before, 12)
    lost, won = int((step < 0).sum()), int((step > 0).sum())
    found = dataclasses.replace(found, lost=lost, won=won)
    if len(columns) == 1:
        low, high = paired_interval([lost], [won], [len(step)], confidence=1 - alpha)
        scale = abs(float(weights[columns[0]]))
        p = float(mcnemar(lost, won))
        return dataclasses.replace(found, low=scale * float(low[0]), high=scale * float(high[0]), test=MCNEMAR, p=p)
    if len(step) < 2:
        return found
    return _tested(found, IMAGES, paired_test(after[:, None], before[:, None], confidence=1 - alpha))
