"""Changes of mean accuracy under corruption and their tests: [F] tables 3, 4 and 8, corruption errors."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audit.corruption.condition_rates import ConditionRates
from tfaudit.stats.contingency import mcnemar, paired_interval
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import relative_change
from tfaudit.stats.t_tests import TTests, paired_test, welch

WELCH, PAIRED_MEMBERS, MCNEMAR = "Welch", "paired t, members", "McNemar"
PAIRED_IMAGES, NO_TEST = "paired t, images", "none"

OVERALL = "all corruptions"
"""Name of the row of means."""


@dataclasses.dataclass(frozen=True)
class AccuracyChange:
    """A mean accuracy before and after compression. Values are shares, NaN without evaluations.

    Attributes:
        members: numbers of members in the two means.
        before, after: means of the baseline and of the compressed population.
        difference: after minus before.
        low, high: ends of its interval; NaN without a test.
        lost, won: for two single models, images that are right less or more often after; NaN for populations.
        test: "Welch" or "paired t, members" for populations; "McNemar" or, if an image counts more than once,
            "paired t, images" for two single models; "none".
        p: two-sided p-value.
    """

    members: tuple[int, int] = (0, 0)
    before: float = np.nan
    after: float = np.nan
    difference: float = np.nan
    low: float = np.nan
    high: float = np.nan
    lost: float = np.nan
    won: float = np.nan
    test: str = NO_TEST
    p: float = np.nan

    def columns(self) -> dict[str, Any]:
        """Return the columns of `Robustness.frame` from `members_before` to `p`."""
        change = np.array([self.difference, self.low, self.high])
        relative = relative_change(self.before, self.before + change)
        return {
            "members_before": self.members[0],
            "members_after": self.members[1],
            "accuracy_before": self.before,
            "accuracy_after": self.after,
            **dict(zip(("difference_pp", "low_pp", "high_pp"), 100 * change, strict=True)),
            **dict(zip(("relative_change", "relative_low", "relative_high"), relative, strict=True)),
            **{name: getattr(self, name) for name in ("lost", "won", "test", "p")},
        }


def accuracy_change(rates: ConditionRates, weights: np.ndarray, k: int, *, alpha: float) -> AccuracyChange:
    """Compare the weighted sums of top-k accuracies of the two populations.

    A member counts if it was evaluated in every column with a weight. Populations of two members or more are compared
    by Welch's t-test, or by the paired one if members are made from one another. Two single models are tested over the
    images if the columns show the same ones: by McNemar's exact test with Tango's interval for a single column, else by
    the paired t-test of each image's weighted sum, because an image under five severities is not five images.

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
    means = AccuracyChange(members, before.mean(), after.mean(), after.mean() - before.mean())
    if min(members) > 1:
        # Accuracies are ratios of counts: a difference below 1e-12 is rounding, not training.
        first, second = np.round(after, 12), np.round(before, 12)
        test, name = (paired_test, PAIRED_MEMBERS) if rates.paired else (welch, WELCH)
        return _with_test(means, name, test(first[:, None], second[:, None], confidence=1 - alpha))
    if not rates.paired_by_image(columns, k):
        return means
    return _change_over_images(rates, means, weights, k, alpha)


def _with_test(change: AccuracyChange, name: str, test: TTests) -> AccuracyChange:
    return dataclasses.replace(change, low=float(test.low[0]), high=float(test.high[0]), test=name, p=float(test.p[0]))


def _change_over_images(
    rates: ConditionRates, means: AccuracyChange, weights: np.ndarray, k: int, alpha: float
) -> AccuracyChange:
    columns = [int(i) for i in np.flatnonzero(weights)]
    before, after = (
        np.sum([weights[i] * population.correct[k, i] for i in columns], axis=0) for population in rates.populations
    )
    step = np.round(after - before, 12)
    lost, won = int((step < 0).sum()), int((step > 0).sum())
    change = dataclasses.replace(means, lost=lost, won=won)
    if len(columns) == 1:
        scale = abs(float(weights[columns[0]]))
        low, high = (scale * float(end[0]) for end in paired_interval([lost], [won], [len(step)], confidence=1 - alpha))
        return dataclasses.replace(change, low=low, high=high, test=MCNEMAR, p=float(mcnemar(lost, won)))
    if len(step) < 2:
        return change
    return _with_test(change, PAIRED_IMAGES, paired_test(after[:, None], before[:, None], confidence=1 - alpha))


def corruption_table(rates: ConditionRates, *, alpha: float) -> pd.DataFrame:
    """Return one row per k and corruption, the mean over its severities; `Robustness.frame` describes the columns."""
    pairs = itertools.product(rates.ranks, rates.corruptions.items())
    rows = [_mean_row(rates, corruption, {corruption: columns}, k, alpha) for k, (corruption, columns) in pairs]
    return _with_adjusted_p(pd.DataFrame(rows), "p", "excess_p")


def overall_table(rates: ConditionRates, *, alpha: float) -> pd.DataFrame:
    """Return one row per k, the mean over the corruptions with severities; its corruption error is the mCE."""
    return pd.DataFrame([_mean_row(rates, OVERALL, rates.graded, k, alpha) for k in rates.ranks])


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


def clean_table(rates: ConditionRates, *, alpha: float) -> pd.DataFrame:
    """Return one row per k, the change on clean images; no row without clean images."""
    weights = np.eye(len(rates.conditions) + 1)[-1]
    ranks = rates.ranks if rates.has_clean else ()
    rows = [{"k": k, **accuracy_change(rates, weights, k, alpha=alpha).columns()} for k in ranks]
    return pd.DataFrame(rows, columns=["k", *AccuracyChange().columns()])


def severity_table(rates: ConditionRates, *, alpha: float) -> pd.DataFrame:
    """Return one row per k, corruption and severity; `Robustness.severity_frame` describes the columns."""
    rows = []
    for k, (i, (corruption, severity)) in itertools.product(rates.ranks, enumerate(rates.conditions)):
        change = accuracy_change(rates, np.eye(len(rates.conditions) + 1)[i], k, alpha=alpha)
        row = {"corruption": corruption, "severity": severity, "k": k, **change.columns()}
        row["examples"] = len(rates.labels[i])
        for name, population in zip(("before", "after"), rates.populations, strict=True):
            interval = mean_interval(population.accuracy[k][population.evaluated[:, i], i], confidence=1 - alpha)
            # Student's interval may exceed the range of an accuracy.
            row[f"{name}_low"], row[f"{name}_high"] = np.clip(interval.low, 0, 1), np.clip(interval.high, 0, 1)
        rows.append(row)
    return _with_adjusted_p(pd.DataFrame(rows), "p")


_ERRORS = ("corruption_error", "corruption_error_low", "corruption_error_high", "relative_corruption_error")


def _relative_error(rates: ConditionRates, columns: list[int], k: int) -> float:
    """Return the loss from clean to corrupted images as a share of the baseline's; NaN if that loses nothing."""
    losses = []
    for population, rows in zip(rates.populations, rates.complete_members([*columns, -1]), strict=True):
        accuracy = population.accuracy[k][rows]
        losses.append((accuracy[:, -1] - accuracy[:, columns].mean(1)).mean() if len(rows) else np.nan)
    return float(losses[1] / losses[0]) if losses[0] > 0 else np.nan


def _corruption_errors(
    rates: ConditionRates, corruptions: dict[str, list[int]], weights: np.ndarray, k: int, alpha: float
) -> dict[str, float]:
    """Return the mean corruption error with the interval of its change, and the mean of the defined relative ones."""
    accuracy = rates.before.accuracy[k][rates.complete_members(np.flatnonzero(weights))[0]]
    scaled, relative = weights.copy(), []
    for columns in corruptions.values():
        error = 1 - accuracy[:, columns].mean() if len(accuracy) else np.nan
        scaled[columns] /= error if error > 0 else np.nan
        relative.append(_relative_error(rates, columns, k))
    # The baseline takes the place of AlexNet (Hendrycks and Dietterich): its own errors are the scale, its mean is 1.
    change = AccuracyChange() if np.isnan(scaled).any() else accuracy_change(rates, scaled, k, alpha=alpha)
    defined = [value for value in relative if not np.isnan(value)]
    mean_relative = float(np.mean(defined)) if defined else np.nan
    return dict(zip(_ERRORS, (1 - change.difference, 1 - change.high, 1 - change.low, mean_relative), strict=True))


def _excess(rates: ConditionRates, weights: np.ndarray, k: int, alpha: float) -> dict[str, float]:
    """Return how far the change under corruption exceeds that on clean images, a difference of differences."""
    against_clean = np.append(weights[:-1], -1)
    known = rates.has_clean and weights.any()
    change = accuracy_change(rates, against_clean, k, alpha=alpha) if known else AccuracyChange()
    return {
        "excess_pp": 100 * change.difference,
        "excess_low_pp": 100 * change.low,
        "excess_high_pp": 100 * change.high,
        "excess_p": change.p,
    }


def _with_adjusted_p(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Insert `NAME_holm` and `NAME_bh`, adjusted over the rows of the same k, after each column of p-values."""
    for name in names:
        for method in ("bh", "holm"):
            adjusted = table.groupby("k")[name].transform(adjust, method)
            table.insert(list(table).index(name) + 1, f"{name}_{method}", adjusted)
    return table
