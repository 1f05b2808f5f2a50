"""Changes of mean accuracy under corruption and their tests: [F] tables 3, 4 and 8, corruption errors."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import question_columns
from tfaudit.audits.robustness.condition_rates import ConditionRates
from tfaudit.stats.contingency import mcnemar, paired_interval
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import relative_change
from tfaudit.stats.t_tests import welch
from tfaudit.stats.two_way import accuracy_interval, total_change

TWO_WAY, IMAGES, MCNEMAR, NO_TEST = "images and members", "images", "McNemar", "none"

OVERALL = "all corruptions"
"""Name of the row of means."""


@dataclasses.dataclass(frozen=True)
class AccuracyChange:
    """A mean accuracy before and after compression. Values are shares, NaN without evaluations.

    Attributes:
        members: numbers of members in the two means.
        before, after: means of the baseline and of the compressed population.
        change: after minus before.
        low, high: ends of its interval; NaN without a test.
        lost, won: for two single models, images that are right less or more often after; NaN for populations.
        test: what varies: "images and members" for populations; "McNemar" or, if an image counts more than once,
            "images" for two single models; "none".
        p: two-sided p-value.
        published_low, published_high, published_p: of Welch's test over the members, which takes the images as fixed.
    """

    members: tuple[int, int] = (0, 0)
    before: float = np.nan
    after: float = np.nan
    change: float = np.nan
    low: float = np.nan
    high: float = np.nan
    lost: float = np.nan
    won: float = np.nan
    test: str = NO_TEST
    p: float = np.nan
    published_low: float = np.nan
    published_high: float = np.nan
    published_p: float = np.nan

    def columns(self) -> dict[str, Any]:
        """Return the columns of `Robustness.frame` from `members_before` to `change_p`."""
        change = np.array([self.change, self.low, self.high])
        relative = relative_change(self.before, self.before + change)
        return {
            "members_before": self.members[0],
            "members_after": self.members[1],
            "accuracy_before": self.before,
            "accuracy_after": self.after,
            **dict(
                zip(("relative_change", "relative_low", "relative_high"), relative, strict=True)
            ),
            **{name: getattr(self, name) for name in ("lost", "won", "test")},
            "published_low_pp": 100 * self.published_low,
            "published_high_pp": 100 * self.published_high,
            "published_p": self.published_p,
            **dict(
                zip(("change_pp", "change_low_pp", "change_high_pp"), 100 * change, strict=True)
            ),
            "change_p": self.p,
        }


def accuracy_change(
    rates: ConditionRates, weights: np.ndarray, k: int, *, alpha: float
) -> AccuracyChange:
    """Compare the weighted sums of top-k accuracies of the two populations.

    A member counts if it was evaluated in every column with a weight. The versions of an image that the columns show
    are one sample, not several: each member's weighted sum over them enters the interval over images and members.
    Columns that show other images are independent samples of images, seen by the same members. Two single models are
    compared over the images, by McNemar's exact test with Tango's interval where a single column has a weight.

    `weights` are `(S + 1,)` floats, the last one for the clean images; `k` is 1 or 5; intervals are at level 1 - alpha.
    """
    columns = np.flatnonzero(weights)
    before, after = (
        population.accuracy[k][rows][:, columns] @ weights[columns]
        for population, rows in zip(rates.populations, rates.complete_members(columns), strict=True)
    )
    members = len(before), len(after)
    if not min(members) or not len(columns):
        return AccuracyChange(members)
    change = AccuracyChange(members, before.mean(), after.mean(), after.mean() - before.mean())
    if min(members) == 1 and members != (1, 1):
        return change
    first, second, image_set = rates.shares(weights, k)
    if members == (1, 1):
        step = np.round(second[0].astype(float) - first[0], 12)
        change = dataclasses.replace(change, lost=int((step < 0).sum()), won=int((step > 0).sum()))
        if len(columns) == 1:
            return _with_mcnemar(change, len(step), abs(float(weights[columns[0]])), alpha)
    else:
        # Accuracies are ratios of counts: a difference below 1e-12 is rounding, not training.
        test = welch(
            np.round(after, 12)[:, None], np.round(before, 12)[:, None], confidence=1 - alpha
        )
        low, high, p = (float(figure[0]) for figure in (test.low, test.high, test.p))
        change = dataclasses.replace(change, published_low=low, published_high=high, published_p=p)
    estimate = total_change(first, second, image_set, image_set[-1] + 1, paired=rates.paired)
    low, high = (float(end[0]) for end in estimate.interval(1 - alpha))
    name = IMAGES if members == (1, 1) else TWO_WAY
    return dataclasses.replace(change, low=low, high=high, test=name, p=float(estimate.p()[0]))


def _with_mcnemar(
    change: AccuracyChange, images: int, scale: float, alpha: float
) -> AccuracyChange:
    """Return a change of two single models in one column, whose weight is the scale, with its exact test."""
    ends = paired_interval([change.lost], [change.won], [images], confidence=1 - alpha)
    low, high = (scale * float(end[0]) for end in ends)
    return dataclasses.replace(
        change, low=low, high=high, test=MCNEMAR, p=float(mcnemar(change.lost, change.won))
    )


def corruption_table(rates: ConditionRates, *, alpha: float, margin_pp: float) -> pd.DataFrame:
    """Return one row per k and corruption, the mean over its severities; `Robustness.frame` describes the columns."""
    pairs = itertools.product(rates.ranks, rates.corruptions.items())
    rows = [
        _mean_row(rates, corruption, {corruption: columns}, k, alpha)
        for k, (corruption, columns) in pairs
    ]
    return _with_excess_p(_with_verdict(pd.DataFrame(rows), alpha, margin_pp))


def overall_table(rates: ConditionRates, *, alpha: float, margin_pp: float) -> pd.DataFrame:
    """Return one row per k, the mean over the corruptions with severities; its corruption error is the mCE."""
    rows = [_mean_row(rates, OVERALL, rates.graded, k, alpha) for k in rates.ranks]
    return _with_verdict(pd.DataFrame(rows), alpha, margin_pp)


def _mean_row(
    rates: ConditionRates, name: str, corruptions: dict[str, list[int]], k: int, alpha: float
) -> dict[str, Any]:
    """Return the row of a mean over corruptions, each the mean over its severities."""
    weights = np.zeros(len(rates.conditions) + 1)
    for columns in corruptions.values():
        weights[columns] = 1 / (len(columns) * len(corruptions))
    return {
        "corruption": name,
        "k": k,
        "severities": len({rates.conditions[i][1] for i in np.flatnonzero(weights)} - {0}),
        **accuracy_change(rates, weights, k, alpha=alpha).columns(),
        **_corruption_errors(rates, corruptions, weights, k, alpha),
        **_excess(rates, weights, k, alpha),
    }


def clean_table(rates: ConditionRates, *, alpha: float, margin_pp: float) -> pd.DataFrame:
    """Return one row per k, the change on clean images; no row without clean images."""
    weights = np.eye(len(rates.conditions) + 1)[-1]
    ranks = rates.ranks if rates.has_clean else ()
    rows = [{"k": k, **accuracy_change(rates, weights, k, alpha=alpha).columns()} for k in ranks]
    return _with_verdict(
        pd.DataFrame(rows, columns=["k", *AccuracyChange().columns()]), alpha, margin_pp
    )


def severity_table(rates: ConditionRates, *, alpha: float, margin_pp: float) -> pd.DataFrame:
    """Return one row per k, corruption and severity; `Robustness.severity_frame` describes the columns."""
    rows = []
    for k, (i, (corruption, severity)) in itertools.product(
        rates.ranks, enumerate(rates.conditions)
    ):
        change = accuracy_change(rates, np.eye(len(rates.conditions) + 1)[i], k, alpha=alpha)
        row = {"corruption": corruption, "severity": severity, "k": k, **change.columns()}
        row["examples"] = len(rates.labels[i])
        for name, population in zip(("before", "after"), rates.populations, strict=True):
            members = np.flatnonzero(population.evaluated[:, i])
            images = len(rates.labels[i])
            right = population.correct(k, i, members, images)
            ends = accuracy_interval(right, np.zeros(images, int), 1, confidence=1 - alpha)
            row[f"{name}_low"], row[f"{name}_high"] = (float(end[0]) for end in ends)
        rows.append(row)
    return _with_verdict(pd.DataFrame(rows), alpha, margin_pp)


_ERRORS = (
    "corruption_error",
    "corruption_error_low",
    "corruption_error_high",
    "relative_corruption_error",
)


def _relative_error(rates: ConditionRates, columns: list[int], k: int) -> float:
    """Return the loss from clean to corrupted images as a share of the baseline's; NaN if that loses nothing."""
    losses = []
    for population, rows in zip(
        rates.populations, rates.complete_members([*columns, -1]), strict=True
    ):
        accuracy = population.accuracy[k][rows]
        losses.append(
            (accuracy[:, -1] - accuracy[:, columns].mean(1)).mean() if len(rows) else np.nan
        )
    return float(losses[1] / losses[0]) if losses[0] > 0 else np.nan


def _corruption_errors(
    rates: ConditionRates,
    corruptions: dict[str, list[int]],
    weights: np.ndarray,
    k: int,
    alpha: float,
) -> dict[str, float]:
    """Return the mean corruption error with the interval of its change, and the mean of the defined relative ones."""
    accuracy = rates.before.accuracy[k][rates.complete_members(np.flatnonzero(weights))[0]]
    scaled = weights.copy()
    relative = []
    for columns in corruptions.values():
        error = 1 - accuracy[:, columns].mean() if len(accuracy) else np.nan
        scaled[columns] /= error if error > 0 else np.nan
        relative.append(_relative_error(rates, columns, k))
    # The baseline takes the place of AlexNet (Hendrycks and Dietterich): its own errors are the scale, its mean is 1.
    change = (
        AccuracyChange()
        if np.isnan(scaled).any()
        else accuracy_change(rates, scaled, k, alpha=alpha)
    )
    defined = [value for value in relative if not np.isnan(value)]
    mean_relative = float(np.mean(defined)) if defined else np.nan
    return dict(
        zip(
            _ERRORS,
            (1 - change.change, 1 - change.high, 1 - change.low, mean_relative),
            strict=True,
        )
    )


def _excess(rates: ConditionRates, weights: np.ndarray, k: int, alpha: float) -> dict[str, float]:
    """Return how far the change under corruption exceeds that on clean images, a difference of differences."""
    against_clean = np.append(weights[:-1], -1)
    known = rates.has_clean and weights.any()
    change = accuracy_change(rates, against_clean, k, alpha=alpha) if known else AccuracyChange()
    return {
        "excess_pp": 100 * change.change,
        "excess_low_pp": 100 * change.low,
        "excess_high_pp": 100 * change.high,
        "excess_p": change.p,
    }


def _with_verdict(table: pd.DataFrame, alpha: float, margin_pp: float) -> pd.DataFrame:
    """Put the columns of the change in order, with verdicts corrected over the rows of the same k."""
    names = ("change_pp", "change_low_pp", "change_high_pp", "change_p")
    parts = []
    for _, rows in table.groupby("k", sort=False):
        value, low, high, p = (rows[name].to_numpy(float) for name in names)
        columns = question_columns(
            "change",
            value / 100,
            low / 100,
            high / 100,
            p,
            alpha=alpha,
            margin_pp=margin_pp,
            noun="accuracy",
        )
        parts.append(rows.assign(**columns))
    if not parts:
        parts = [table.assign(change_p_holm=[], change_p_bh=[], verdict=[])]
    whole = pd.concat(parts).sort_index()
    first = list(table).index("accuracy_after") + 1
    moved = [*names, "change_p_holm", "change_p_bh", "verdict"]
    others = [name for name in whole if name not in moved]
    return whole[[*others[:first], *moved, *others[first:]]]


def _with_excess_p(table: pd.DataFrame) -> pd.DataFrame:
    """Append the p-values of the excess, adjusted over the rows of the same k."""
    by_rank = table.groupby("k")["excess_p"]
    return table.assign(
        **{f"excess_p_{method}": by_rank.transform(adjust, method) for method in ("holm", "bh")}
    )
