"""Which classes does compression make brittle to which corruption? A test per corruption and class."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfaudit.audit.corruption.condition_means import MCNEMAR, NONE, PAIRS, WELCH
from tfaudit.audit.corruption.observations import Observed
from tfaudit.stats.contingency import mcnemar
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import paired_test, welch

__all__ = ["class_cells"]


def class_cells(observed: Observed, *, alpha: float) -> pd.DataFrame:
    """One row per corruption and class; columns as `Robustness.class_frame` tells.

    Recalls are means over the severities of each member. Centred on the member's own accuracy under the corruption, as
    `tfaudit.class_impact` centres them ([F] 2.2), the two populations are compared by Welch's t-test, or the paired one
    for paired members, all classes of a corruption at once. One model against one: McNemar's exact test on the images
    that are right at fewer severities after than before (lost) or at more (won); it asks for the change itself.
    """
    clean = np.full(len(observed.class_names), np.nan)
    if observed.clean:
        (_, before), (_, after) = _recalls(observed, [len(observed.conditions)])
        clean = _mean(after) - _mean(before)
    tables = [_corruption(observed, name, columns, alpha) for name, columns in observed.corruptions.items()]
    table = pd.concat(tables, ignore_index=True)
    table.insert(9, "clean_normalised_pp", 100 * np.tile(clean, len(tables)))
    table["p_holm"], table["p_bh"] = (adjust(table["p"].to_numpy(float), method) for method in ("holm", "bh"))
    tested = table["difference_pp"].where(table["test"] == MCNEMAR, table["normalised_pp"])
    direction = np.where(tested < 0, "harmed", "favoured")
    return table.assign(direction=np.where(table["p"] <= alpha, direction, "no evidence"))


def _corruption(observed: Observed, name: str, columns: list[int], alpha: float) -> pd.DataFrame:
    (before, *_), (after, *_) = both = _recalls(observed, columns)
    centred = [centred for _, centred in both]
    count = len(observed.class_names)
    normalised = _mean(centred[1]) - _mean(centred[0])
    low = high = p = np.full(count, np.nan)
    test = NONE
    if min(len(before), len(after)) > 1:
        test = PAIRS if observed.paired else WELCH
        found = (paired_test if observed.paired else welch)(centred[1], centred[0], confidence=1 - alpha)
        normalised, low, high, p = found.difference, found.low, found.high, found.p
    elif observed.one_against_one(columns, 1):
        p, test = _over_images(observed, columns), MCNEMAR
    return pd.DataFrame(
        {
            "corruption": name,
            "class": observed.class_names,
            "examples": np.bincount(observed.labels[columns[0]], minlength=count),
            "recall_before": _mean(before),
            "recall_after": _mean(after),
            "difference_pp": 100 * (_mean(after) - _mean(before)),
            "normalised_pp": 100 * normalised,
            "low_pp": 100 * low,
            "high_pp": 100 * high,
            "test": test,
            "p": p,
        }
    )


def _recalls(observed: Observed, columns: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of either side `(members, C)` recalls, means over the columns, and the same centred."""
    found = []
    for side, rows in zip((observed.before, observed.after), observed.rows(columns), strict=True):
        recall, accuracy = side.recall[rows][:, columns].mean(1), side.accuracy[1][rows][:, columns].mean(1)
        # Recalls are ratios of counts: what differs by less than 1e-12 differs by rounding, not by training.
        found.append((recall, np.round(recall - accuracy[:, None], 12)))
    return found


def _mean(values: np.ndarray) -> np.ndarray:
    """Over the members; NaN where there is none."""
    return values.mean(0) if len(values) else np.full(values.shape[1], np.nan)


def _over_images(observed: Observed, columns: list[int]) -> np.ndarray:
    counts = (np.sum([side.right[1, i] for i in columns], axis=0) for side in (observed.before, observed.after))
    before, after = (each.astype(int) for each in counts)
    labels, classes = observed.labels[columns[0]], len(observed.class_names)
    lost, won = (np.bincount(labels[moved], minlength=classes) for moved in (after < before, after > before))
    return np.where(np.bincount(labels, minlength=classes) > 0, mcnemar(lost, won), np.nan)
