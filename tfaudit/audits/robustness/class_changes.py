"""Changes of recall under corruption: which classes compression makes brittle to which corruption."""

import dataclasses

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import change_columns, directions, question_columns
from tfaudit.audits.robustness.condition_rates import ConditionRates
from tfaudit.stats.contingency import exact_changes, flip_counts
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import welch
from tfaudit.stats.two_way import Change, GroupChanges, group_changes


def class_changes(rates: ConditionRates, *, alpha: float, margin_pp: float) -> pd.DataFrame:
    """Test every class under every corruption; `Robustness.class_frame` describes the columns.

    As in `tfaudit.class_impact`, a class may have lost recall, and it may have lost more than the average, here under
    the same corruption. The severities of an image are one sample: each member's mean over them enters the intervals
    over images and members. Two single models at one severity: McNemar's exact test with Tango's interval for the
    first question.
    """
    corruptions = rates.corruptions
    changes = [_changes(rates, columns) for columns in corruptions.values()]
    joined = GroupChanges(
        np.concatenate([part.examples for part in changes]),
        _joined([part.absolute for part in changes]),
        _joined([part.relative for part in changes]),
    )
    questions = change_columns(joined, alpha, margin_pp, parts=len(changes))
    exact = [_exact_test(rates, columns, alpha) for columns in corruptions.values()]
    if any(test is not None for test in exact):
        estimates = [(*part.absolute.interval(1 - alpha), part.absolute.p()) for part in changes]
        chosen = [
            estimate if test is None else test
            for test, estimate in zip(exact, estimates, strict=True)
        ]
        figures = (np.concatenate(column) for column in zip(*chosen, strict=True))
        questions |= question_columns(
            "change", joined.absolute.value, *figures, alpha=alpha, margin_pp=margin_pp
        )
    clean = np.full(len(rates.class_names), np.nan)
    if rates.has_clean:
        clean = _changes(rates, [len(rates.conditions)]).relative.value
    columns = [_published(rates, *corruption, alpha) for corruption in corruptions.items()]
    table = pd.concat(columns, ignore_index=True)
    front = table.iloc[:, :5]
    published = table.iloc[:, 5:]
    p = published["published_p"].to_numpy(float)
    return front.assign(
        **questions,
        clean_relative_pp=100 * np.tile(clean, len(changes)),
        **published,
        **{f"published_p_{method}": adjust(p, method) for method in ("holm", "bh")},
        published_direction=directions(published["published_pp"].to_numpy(float), p, alpha),
    )


def _changes(rates: ConditionRates, columns: list[int]) -> GroupChanges:
    """Return the changes of the mean recalls over columns that show the same images."""
    labels = rates.labels[columns[0]]
    count = len(rates.class_names)
    weights = np.zeros(len(rates.conditions) + 1)
    weights[columns] = 1 / len(columns)
    members = tuple(map(len, rates.complete_members(columns)))
    if not min(members) or len(rates.image_sets(columns)) > 1:
        unknown = Change.without_error(np.full(count, np.nan))
        return GroupChanges(np.bincount(labels, minlength=count), unknown, unknown)
    before, after, _ = rates.shares(weights, 1)
    return group_changes(before, after, labels, count, paired=rates.paired)


def _joined(changes: list[Change]) -> Change:
    names = [field.name for field in dataclasses.fields(Change)]
    return Change(
        *(np.concatenate([getattr(change, name) for change in changes]) for name in names)
    )


def _exact_test(
    rates: ConditionRates, columns: list[int], alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the intervals and p-values of two single models at one severity; None of others."""
    members = rates.complete_members(columns)
    labels = rates.labels[columns[0]]
    count = len(rates.class_names)
    if len(columns) > 1 or tuple(map(len, members)) != (1, 1):
        return None
    before, after, _ = rates.shares(np.eye(len(rates.conditions) + 1)[columns[0]], 1)
    flips = flip_counts(before[0], after[0], labels, count)
    return exact_changes(*flips, np.bincount(labels, minlength=count), confidence=1 - alpha)


def _published(rates: ConditionRates, name: str, columns: list[int], alpha: float) -> pd.DataFrame:
    """Return the recalls of a corruption, and Welch's test of the centred ones as in [F] 2.2."""
    (before, centred_before), (after, centred_after) = _recalls(rates, columns)
    count = len(rates.class_names)
    difference = low = high = p = np.full(count, np.nan)
    if min(len(before), len(after)) > 1:
        test = welch(centred_after, centred_before, confidence=1 - alpha)
        difference = test.difference
        low = test.low
        high = test.high
        p = test.p
    return pd.DataFrame(
        {
            "corruption": name,
            "class": rates.class_names,
            "examples": np.bincount(rates.labels[columns[0]], minlength=count),
            "recall_before": _mean(before),
            "recall_after": _mean(after),
            "published_pp": 100 * difference,
            "published_low_pp": 100 * low,
            "published_high_pp": 100 * high,
            "published_p": p,
        }
    )


def _recalls(rates: ConditionRates, columns: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the `(members, C)` recalls of either population, means over the columns, and the same centred."""
    recalls = []
    for population, rows in zip(rates.populations, rates.complete_members(columns), strict=True):
        recall = population.recall[rows][:, columns].mean(1)
        accuracy = population.accuracy[1][rows][:, columns].mean(1)
        # Recalls are ratios of counts: a difference below 1e-12 is rounding, not training.
        recalls.append((recall, np.round(recall - accuracy[:, None], 12)))
    return recalls


def _mean(values: np.ndarray) -> np.ndarray:
    """Return the mean over the members; NaN without members."""
    return values.mean(0) if len(values) else np.full(values.shape[1], np.nan)
