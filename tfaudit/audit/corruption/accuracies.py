"""Accuracy per corruption and per severity, before and after: [F] tables 3, 4 and 8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audit.corruption.condition_means import Change, change
from tfaudit.audit.corruption.observations import Observed
from tfaudit.stats.change import relative_change
from tfaudit.stats.intervals import mean_interval
from tfaudit.stats.multiplicity import adjust

__all__ = ["OVERALL", "clean_table", "corruption_table", "overall_table", "severity_table"]

OVERALL = "all corruptions"
"""Name of the row of means."""


def corruption_table(observed: Observed, *, alpha: float) -> pd.DataFrame:
    """One row per k and corruption, the mean over its severities; columns as `Robustness.frame` tells."""
    tables = []
    for k in observed.ranks:
        rows = []
        for corruption, columns in observed.corruptions.items():
            weights = _even(observed, {corruption: columns})
            found = change(observed, weights, k, alpha=alpha)
            rows.append(
                {
                    "corruption": corruption,
                    "k": k,
                    "severities": sum(observed.conditions[i][1] > 0 for i in columns),
                    **_described(found),
                    **_errors(found, 1 - found.before, observed, columns, k),
                    **_excess(observed, weights, k, alpha),
                }
            )
        tables.append(_adjusted(pd.DataFrame(rows), "p", "excess_p"))
    return pd.concat(tables, ignore_index=True)


def overall_table(observed: Observed, *, alpha: float) -> pd.DataFrame:
    """One row per k, the mean over the corruptions that have severities; its corruption error is the mCE."""
    rows = []
    for k in observed.ranks:
        weights = _even(observed, observed.graded)
        found = change(observed, weights, k, alpha=alpha)
        rows.append(
            {
                "corruption": OVERALL,
                "k": k,
                "severities": len({observed.conditions[i][1] for i in np.flatnonzero(weights)}),
                **_described(found),
                **_mean_errors(observed, weights, k, alpha),
                **_excess(observed, weights, k, alpha),
            }
        )
    return pd.DataFrame(rows)


def clean_table(observed: Observed, *, alpha: float) -> pd.DataFrame:
    """One row per k, the change on clean images; no row where there are none."""
    weights = np.eye(len(observed.conditions) + 1)[-1]
    rows = [{"k": k, **_described(change(observed, weights, k, alpha=alpha))} for k in observed.ranks if observed.clean]
    return pd.DataFrame(rows, columns=["k", *_described(Change(np.nan, np.nan, (0, 0), np.nan))])


def severity_table(observed: Observed, *, alpha: float) -> pd.DataFrame:
    """One row per k, corruption and severity; columns as `Robustness.severity_frame` tells."""
    tables = []
    for k in observed.ranks:
        rows = []
        for i, (corruption, severity) in enumerate(observed.conditions):
            found = change(observed, np.eye(len(observed.conditions) + 1)[i], k, alpha=alpha)
            spans: dict[str, Any] = {"examples": len(observed.labels[i])}
            for name, side in (("before", observed.before), ("after", observed.after)):
                span = mean_interval(side.accuracy[k][side.complete([i]), i], confidence=1 - alpha)
                # An interval of Student's t knows no bounds.
                spans |= {f"{name}_low": np.clip(span.low, 0, 1), f"{name}_high": np.clip(span.high, 0, 1)}
            rows.append({"corruption": corruption, "severity": severity, "k": k, **_described(found), **spans})
        tables.append(_adjusted(pd.DataFrame(rows), "p"))
    return pd.concat(tables, ignore_index=True)


def _even(observed: Observed, corruptions: dict[str, list[int]]) -> np.ndarray:
    """Weights of a mean over the corruptions, each the mean over its severities."""
    weights = np.zeros(len(observed.conditions) + 1)
    for columns in corruptions.values():
        weights[columns] = 1 / (len(columns) * len(corruptions))
    return weights


def _described(found: Change) -> dict[str, Any]:
    def relative(difference: float) -> float:
        return float(relative_change(found.before, found.before + difference))

    return {
        "members_before": found.members[0],
        "members_after": found.members[1],
        "accuracy_before": found.before,
        "accuracy_after": found.after,
        "difference_pp": 100 * found.difference,
        "low_pp": 100 * found.low,
        "high_pp": 100 * found.high,
        "relative_change": relative(found.difference),
        "relative_low": relative(found.low),
        "relative_high": relative(found.high),
        "lost": found.lost,
        "won": found.won,
        "test": found.test,
        "p": found.p,
    }


def _errors(found: Change, scale: float, observed: Observed, columns: list[int], k: int) -> dict[str, float]:
    """Corruption error CE and relative CE of Hendrycks and Dietterich, the baseline in the place of AlexNet."""
    if not scale > 0:
        scale = np.nan
    known = {
        "corruption_error": (1 - found.after) / scale,
        "corruption_error_low": (1 - found.before - found.high) / scale,
        "corruption_error_high": (1 - found.before - found.low) / scale,
    }
    return known | {"relative_corruption_error": _relative_error(observed, columns, k)}


def _relative_error(observed: Observed, columns: list[int], k: int) -> float:
    """Loss from the clean to the corrupted images, as a share of the baseline's; NaN where that loses nothing."""
    pairs = zip((observed.before, observed.after), observed.rows([*columns, -1]), strict=True)
    losses = [_loss(side.accuracy[k][rows], columns) for side, rows in pairs]
    return float(losses[1] / losses[0]) if losses[0] > 0 else np.nan


def _loss(accuracy: np.ndarray, columns: list[int]) -> float:
    return float((accuracy[:, -1] - accuracy[:, columns].mean(1)).mean()) if len(accuracy) else np.nan


def _mean_errors(observed: Observed, weights: np.ndarray, k: int, alpha: float) -> dict[str, float]:
    """The mCE with the interval of its change, and the mean of the relative CEs that exist."""
    columns = np.flatnonzero(weights)
    accuracy = observed.before.accuracy[k][observed.rows(columns)[0]]
    scaled, relative = weights.copy(), []
    for at in observed.graded.values():
        error = 1 - accuracy[:, at].mean() if len(accuracy) else np.nan
        scaled[at] /= error if error > 0 else np.nan
        relative.append(_relative_error(observed, at, k))
    known = [value for value in relative if not np.isnan(value)]
    mean = float(np.mean(known)) if known else np.nan
    if np.isnan(scaled).any() or not len(columns):
        return dict(zip(_ERRORS, (np.nan, np.nan, np.nan, mean), strict=True))
    # Of the baseline it is 1, because the errors that it is scaled by are the baseline's own.
    found = change(observed, scaled, k, alpha=alpha)
    return dict(zip(_ERRORS, (1 - found.difference, 1 - found.high, 1 - found.low, mean), strict=True))


_ERRORS = ("corruption_error", "corruption_error_low", "corruption_error_high", "relative_corruption_error")


def _excess(observed: Observed, weights: np.ndarray, k: int, alpha: float) -> dict[str, float]:
    """By how much the change under corruption exceeds that on clean images, a difference of differences per member."""
    found = Change(np.nan, np.nan, (0, 0), np.nan)
    if observed.clean and weights.any():
        shifted = weights.copy()
        shifted[-1] = -1
        found = change(observed, shifted, k, alpha=alpha)
    return {
        "excess_pp": 100 * found.difference,
        "excess_low_pp": 100 * found.low,
        "excess_high_pp": 100 * found.high,
        "excess_p": found.p,
    }


def _adjusted(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    for name in names:
        p = table[name].to_numpy(float)
        place = list(table).index(name) + 1
        table.insert(place, f"{name}_holm", adjust(p, "holm"))
        table.insert(place + 1, f"{name}_bh", adjust(p, "bh"))
    return table
