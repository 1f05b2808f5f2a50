"""Changes of recall under corruption: classes that compression makes brittle to a corruption."""

import dataclasses
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import change_columns, question_columns
from tfaudit.audits.classes.published import published_columns, published_test
from tfaudit.audits.robustness.condition_rates import ConditionRates
from tfaudit.stats.change_intervals import Change, GroupChanges
from tfaudit.stats.changes import group_changes
from tfaudit.stats.contingency import exact_changes, flip_counts
from tfaudit.stats.t_tests import TTests

Arrays = TypeVar("Arrays", Change, TTests)


def class_changes(rates: ConditionRates) -> pd.DataFrame:
    """Test every class under every corruption; `Robustness.class_frame` describes the columns.

    As in `tfaudit.class_impact`, a class may have lost recall, and it may have lost more than the average, here under
    the same corruption. The severities of an image are one sample: each member's mean over them enters the intervals
    over images and members. Two single models at one severity have McNemar's exact test with Tango's interval for the
    first question.
    """
    parts = [_ClassChanges.of(rates, columns) for columns in rates.corruptions.values()]
    changes = GroupChanges(
        np.concatenate([part.changes.examples for part in parts]),
        _joined(part.changes.absolute for part in parts),
        _joined(part.changes.relative for part in parts),
    )
    low, high, p = np.concatenate([part.absolute for part in parts], axis=1)
    before, after = np.concatenate([part.recalls for part in parts], axis=1)
    clean = np.full(len(rates.class_names), np.nan)
    if rates.has_clean:
        clean = _ClassChanges.of(rates, [len(rates.conditions)]).changes.relative.value
    return pd.DataFrame(
        {
            "corruption": np.repeat(np.array([*rates.corruptions], object), len(clean)),
            "class": np.tile(np.array(rates.class_names, object), len(parts)),
            "examples": changes.examples,
            "recall_before": before,
            "recall_after": after,
            **change_columns(changes, rates.alpha, rates.margin_pp, parts=len(parts)),
            **question_columns(
                "change",
                changes.absolute.value,
                low,
                high,
                p,
                alpha=rates.alpha,
                margin_pp=rates.margin_pp,
            ),
            "clean_relative_pp": 100 * np.tile(clean, len(parts)),
            **published_columns(_joined(part.published for part in parts), rates.alpha),
        }
    )


@dataclasses.dataclass(frozen=True)
class _ClassChanges:
    """Changes of the C classes under one corruption.

    Attributes:
        recalls: `(2, C)` mean recalls before and after; NaN without members.
        changes: changes of the mean recalls; NaN if severities show different images.
        absolute: `(3, C)` ends of the intervals and p-values of the absolute changes, from exact tests if possible.
        published: Welch's test of the centred recalls.
    """

    recalls: np.ndarray
    changes: GroupChanges
    absolute: np.ndarray
    published: TTests

    @classmethod
    def of(cls, rates: ConditionRates, columns: list[int]) -> "_ClassChanges":
        """Compare the means over some columns."""
        labels = rates.labels[columns[0]]
        count = len(rates.class_names)
        weights = rates.mean_over(columns)
        recalls = rates.weighted(weights, lambda evaluation: evaluation.recall)
        accuracies = rates.weighted(weights, lambda evaluation: evaluation.accuracy[1])
        before, after = (
            recall - accuracy[:, None] for recall, accuracy in zip(recalls, accuracies, strict=True)
        )
        unknown = Change.without_error(np.full(count, np.nan))
        changes = GroupChanges(np.bincount(labels, minlength=count), unknown, unknown)
        absolute = np.full((3, count), np.nan)
        if min(len(before), len(after)) and len(rates.image_sets(columns)) == 1:
            first, second, _ = rates.shares(weights, 1)
            clusters = rates.clusters_of(columns)
            changes = group_changes(
                first, second, labels, count, paired=rates.paired, clusters=clusters
            )
            low, high = changes.absolute.interval(1 - rates.alpha, most=1)
            absolute = np.stack([low, high, changes.absolute.p()])
            if clusters is None and len(columns) == len(before) == len(after) == 1:
                flips = flip_counts(first[0], second[0], labels, count)
                absolute = np.stack(
                    exact_changes(*flips, changes.examples, confidence=1 - rates.alpha)
                )
        return cls(
            np.stack([pd.DataFrame(recall).mean(skipna=False) for recall in recalls]),
            changes,
            absolute,
            published_test(before, after, alpha=rates.alpha),
        )


def _joined(parts: Iterable[Arrays]) -> Arrays:
    """Join several results whose fields are arrays of classes, or None in all of them."""
    known = list(parts)
    names = [field.name for field in dataclasses.fields(known[0])]
    columns = {name: [getattr(part, name) for part in known] for name in names}
    arrays = {
        name: np.concatenate(parts) for name, parts in columns.items() if parts[0] is not None
    }
    return type(known[0])(**arrays)
