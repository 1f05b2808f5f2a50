"""Changes of mean accuracy under corruption and their tests: [F] tables 3, 4 and 8, corruption errors."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import question_columns
from tfaudit.audits.result import in_points
from tfaudit.audits.robustness.condition_rates import ConditionRates
from tfaudit.stats.changes import accuracy_interval, log_ratio, total_change
from tfaudit.stats.contingency import exact_changes
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import member_mean, ratio, relative_change
from tfaudit.stats.t_tests import welch

TWO_WAY, IMAGES, MCNEMAR, NO_TEST = "images and members", "images", "McNemar", "none"

OVERALL = "all corruptions"
"""Name of the row of means."""

UNKNOWN = np.full(3, np.nan)

LEAST_PREDICTIONS = 5
"""Numbers of right and of wrong predictions under a corruption below which a ratio of errors says little."""


@dataclasses.dataclass(frozen=True)
class AccuracyChange:
    """A mean accuracy before and after compression. Values are shares, NaN without evaluations.

    Attributes:
        members: numbers of members in the two means.
        before, after: means of the baseline and of the compressed population.
        figures: `(3,)` after minus before, and the ends of its interval; NaN without a test.
        ratio_ends: `(2,)` ends of the interval of after divided by before, over images and members; NaN without a test.
        p: two-sided p-value.
        lost, won: numbers of images that two single models predict right less or more often after; NaN for populations.
        test: sources of variance: "images and members" for populations; "McNemar" or, if an image counts more than
            once, "images" for two single models; "none".
        published: `(3,)` interval and p-value of Welch's test over the members, which treats the images as fixed.
    """

    members: tuple[int, int] = (0, 0)
    before: float = np.nan
    after: float = np.nan
    figures: np.ndarray = dataclasses.field(default_factory=UNKNOWN.copy)
    ratio_ends: np.ndarray = dataclasses.field(default_factory=UNKNOWN[:2].copy)
    p: float = np.nan
    lost: float = np.nan
    won: float = np.nan
    test: str = NO_TEST
    published: np.ndarray = dataclasses.field(default_factory=UNKNOWN.copy)

    def columns(self) -> dict[str, Any]:
        """Return the columns of `Robustness.frame` from `members_before` to `published_p`, without a verdict yet."""
        low, high, p = self.published
        return {
            "members_before": self.members[0],
            "members_after": self.members[1],
            "accuracy_before": self.before,
            "accuracy_after": self.after,
            **in_points("change", *self.figures),
            "change_p": self.p,
            "change_p_holm": np.nan,
            "change_p_bh": np.nan,
            "verdict": "",
            "relative_change": relative_change(self.before, self.after),
            "relative_low": self.ratio_ends[0] - 1,
            "relative_high": self.ratio_ends[1] - 1,
            "lost": self.lost,
            "won": self.won,
            "test": self.test,
            "published_low_pp": 100 * low,
            "published_high_pp": 100 * high,
            "published_p": p,
        }


def accuracy_change(rates: ConditionRates, weights: np.ndarray, k: int) -> AccuracyChange:
    """Compare the weighted sums of top-k accuracies of the two populations.

    A member counts if it was evaluated in every column with a weight. The versions of an image that the columns show
    are one sample, not several: each member's weighted sum over them enters the interval over images and members.
    Columns that show different images are independent samples of images, seen by the same members. Two single models
    are compared over the images, or by McNemar's exact test with Tango's interval if a single column has a weight and
    the images form no clusters.

    `weights` are `(S + 1,)` floats, the last one for the clean images; `k` is 1 or 5; intervals are at level 1 - alpha.
    """
    confidence = 1 - rates.alpha
    compared = rates.complete_members(np.flatnonzero(weights).tolist())
    members = len(compared[0]), len(compared[1])
    if not min(members) or not weights.any():
        return AccuracyChange(members)
    before, after = rates.weighted(weights, lambda evaluation: evaluation.accuracy[k])
    first, second, image_set = rates.shares(weights, k)
    clusters = rates.clusters_of(np.flatnonzero(weights).tolist())
    estimate = total_change(
        first, second, image_set, image_set[-1] + 1, paired=rates.paired, clusters=clusters
    )
    means = float(member_mean(before)), float(member_mean(after))
    value = round(means[1] - means[0], 12)
    ends = np.concatenate(estimate.interval(confidence, most=np.abs(weights).sum()))
    figures = np.array([value, *ends])
    ratio_ends = UNKNOWN[:2]
    if (weights >= 0).all():  # a mean of accuracies, not an excess of one over another
        ratio_ends = _ratio_ends(rates, weights, k)
    change = AccuracyChange(members, *means, figures, ratio_ends, estimate.p()[0])
    if members == (1, 1):
        step = np.round(second[0] - first[0], 12)
        lost, won = np.array([(step < 0).sum()]), np.array([(step > 0).sum()])
        change = dataclasses.replace(change, lost=lost[0], won=won[0], test=IMAGES)
        if np.count_nonzero(weights) > 1 or clusters is not None:
            return change
        low, high, p = exact_changes(lost, won, np.array([len(step)]), confidence=confidence)
        ends = weights.sum() * np.concatenate([low, high])
        return dataclasses.replace(change, figures=np.array([value, *ends]), test=MCNEMAR, p=p[0])
    if 1 in members:
        return change
    # Accuracies are ratios of counts: a difference below 1e-12 is rounding, not training.
    sides = (np.round(accuracies, 12)[:, None] for accuracies in (after, before))
    test = welch(*sides, confidence=confidence)
    published = np.concatenate([test.low, test.high, test.p])
    return dataclasses.replace(change, test=TWO_WAY, published=published)


def corruption_table(rates: ConditionRates) -> pd.DataFrame:
    """Return one row per k and corruption, the mean over its severities; `Robustness.frame` describes the columns."""
    rows = [
        _mean_row(rates, corruption, {corruption: columns}, k)
        for k, (corruption, columns) in itertools.product(rates.ranks, rates.corruptions.items())
    ]
    table = _with_verdict(rates, rows)
    by_rank = table.groupby("k")["excess_p"]
    adjusted = {
        f"excess_p_{method}": by_rank.transform(adjust, method) for method in ("holm", "bh")
    }
    return table.assign(**adjusted)


def overall_table(rates: ConditionRates) -> pd.DataFrame:
    """Return one row per k, the mean over the corruptions with severities; its corruption error is the mCE."""
    return _with_verdict(rates, [_mean_row(rates, OVERALL, rates.graded, k) for k in rates.ranks])


def clean_table(rates: ConditionRates) -> pd.DataFrame:
    """Return one row per k, the change on clean images; no row without clean images."""
    clean = rates.mean_over([-1])
    ranks = rates.ranks if rates.has_clean else ()
    rows = [{"k": k, **accuracy_change(rates, clean, k).columns()} for k in ranks]
    return _with_verdict(rates, rows)


def severity_table(rates: ConditionRates) -> pd.DataFrame:
    """Return one row per k, corruption and severity; `Robustness.severity_frame` describes the columns."""
    rows = []
    for k, (i, (corruption, severity)) in itertools.product(
        rates.ranks, enumerate(rates.conditions)
    ):
        images = len(rates.labels[i])
        change = accuracy_change(rates, rates.mean_over([i]), k)
        row = {"corruption": corruption, "severity": severity, "k": k, **change.columns()}
        row["examples"] = images
        for name, side in zip(("before", "after"), rates.sides, strict=True):
            right = side[i].correct(k, side[i].members)
            ends = accuracy_interval(
                right,
                np.zeros(images, int),
                1,
                confidence=1 - rates.alpha,
                clusters=rates.clusters_of([i]),
            )
            row[f"{name}_low"], row[f"{name}_high"] = (float(end[0]) for end in ends)
        rows.append(row)
    return _with_verdict(rates, rows)


def _mean_row(
    rates: ConditionRates, name: str, corruptions: dict[str, list[int]], k: int
) -> dict[str, Any]:
    """Return the row of a mean over corruptions, each the mean over its severities."""
    weights = np.zeros(len(rates.conditions) + 1)
    for columns in corruptions.values():
        weights += rates.mean_over(columns) / len(corruptions)
    # the excess of the change over that on clean images: a difference of differences
    excess = AccuracyChange()
    if rates.has_clean and weights.any():
        excess = accuracy_change(rates, weights - rates.mean_over([-1]), k)
    return {
        "corruption": name,
        "k": k,
        "severities": len({rates.conditions[i][1] for i in np.flatnonzero(weights)} - {0}),
        **accuracy_change(rates, weights, k).columns(),
        **_corruption_errors(rates, corruptions, weights, k),
        **in_points("excess", *excess.figures),
        "excess_p": excess.p,
    }


def _corruption_errors(
    rates: ConditionRates, corruptions: dict[str, list[int]], weights: np.ndarray, k: int
) -> dict[str, float]:
    """Return the mean corruption error with its interval, and the mean of the defined relative errors.

    The baseline takes the place of AlexNet [HD]: a corruption error is CE = E1 / E0, the errors after as a share of the
    errors before. The mean over corruptions c has the linear part `mean_c (e1[c] - CE[c] e0[c]) / E0[c]`. Both are NaN
    if a corruption leaves too few predictions; see `too_few_predictions`.
    """
    if any(too_few_predictions(rates, columns, k) for columns in corruptions.values()):
        names = ("", "_low", "_high")
        unknown = {f"corruption_error{end}": np.nan for end in names}
        return {**unknown, "relative_corruption_error": np.nan}
    members = rates.complete_members(np.flatnonzero(weights).tolist())
    scaled = np.zeros((2, len(weights)))
    errors = []
    for columns in corruptions.values():
        before, after = (
            1 - np.mean([side[i].accuracy[k][side[i].rows(names)] for i in columns])
            if names
            else np.nan
            for side, names in zip(rates.sides, members, strict=True)
        )
        errors.append(ratio(after, before))
        scaled[:, columns] = ratio(weights[columns], before) * np.array([[errors[-1]], [1.0]])
    error, ends = np.mean(errors) if errors else np.nan, UNKNOWN[:2]
    if error > 0:
        ends = error * _ratio_ends(rates, scaled / scaled[1].sum(), k, wrong=True)
    relative = pd.Series(
        [_relative_error(rates, columns, k) for columns in corruptions.values()], dtype=float
    )
    return {
        "corruption_error": error,
        "corruption_error_low": ends[0],
        "corruption_error_high": ends[1],
        "relative_corruption_error": relative.mean(),
    }


def too_few_predictions(rates: ConditionRates, columns: list[int], k: int) -> bool:
    """Return whether a side has fewer than `LEAST_PREDICTIONS` right or wrong ones on some conditions, on average."""
    images = [len(rates.labels[i]) for i in columns]
    for side, names in zip(rates.sides, rates.complete_members(columns), strict=True):
        if names:
            right = sum(
                count * side[i].accuracy[k][side[i].rows(names)].mean()
                for i, count in zip(columns, images, strict=True)
            )
            # counts of shares: a difference below 1e-9 is rounding
            if min(right, sum(images) - right) < LEAST_PREDICTIONS - 1e-9:
                return True
    return False


def _ratio_ends(
    rates: ConditionRates, weights: np.ndarray, k: int, *, wrong: bool = False
) -> np.ndarray:
    """Return the ends of the interval of a ratio of weighted sums, `(2,)`; the arguments are those of `shares`."""
    before, after, image_set = rates.shares(weights, k, wrong=wrong)
    clusters = rates.clusters_of(np.flatnonzero(np.atleast_2d(weights).any(axis=0)).tolist())
    change = log_ratio(
        before, after, image_set, image_set[-1] + 1, paired=rates.paired, clusters=clusters
    )
    with np.errstate(over="ignore"):  # two members may leave the upper end open
        return np.exp(np.ravel(change.interval(1 - rates.alpha)))


def _relative_error(rates: ConditionRates, columns: list[int], k: int) -> float:
    """Return the loss from clean to corrupted images as a share of the baseline's; NaN if that loses nothing."""
    if not rates.has_clean:
        return np.nan
    weights = rates.mean_over([-1]) - rates.mean_over(columns)
    losses = rates.weighted(weights, lambda evaluation: evaluation.accuracy[k])
    before, after = (loss.mean() if len(loss) else np.nan for loss in losses)
    return after / before if before > 0 else np.nan


def _with_verdict(rates: ConditionRates, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a table, with verdicts on the changes, corrected over the rows of the same k."""
    table = pd.DataFrame(rows, columns=None if rows else ["k", *AccuracyChange().columns()])
    parts = []
    for _, same in table.groupby("k", sort=False):
        value, low, high = same[["change_pp", "change_low_pp", "change_high_pp"]].to_numpy().T / 100
        columns = question_columns(
            "change",
            value,
            low,
            high,
            same["change_p"].to_numpy(),
            alpha=rates.alpha,
            margin_pp=rates.margin_pp,
            noun="accuracy",
        )
        parts.append(same.assign(**columns))
    return pd.concat(parts).sort_index() if parts else table
