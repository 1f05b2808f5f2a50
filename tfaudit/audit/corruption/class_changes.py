"""Changes of recall under corruption: which classes compression makes brittle to which corruption."""

import numpy as np
import pandas as pd

from tfaudit.audit.corruption.accuracy_changes import MCNEMAR, NO_TEST, PAIRED_MEMBERS, WELCH
from tfaudit.audit.corruption.condition_rates import ConditionRates
from tfaudit.stats.contingency import mcnemar
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.t_tests import paired_test, welch


def class_changes(rates: ConditionRates, *, alpha: float) -> pd.DataFrame:
    """Test every class under every corruption; `Robustness.class_frame` describes the columns.

    Recalls are means over the severities of each member. Centred on the member's own accuracy under the corruption, as
    in `tfaudit.class_impact` ([F] 2.2), they are compared by Welch's t-test, or by the paired one for paired members,
    for all classes of a corruption at once. Two single models: McNemar's exact test on the images that are right at
    fewer severities after than before (lost) or at more (won); it tests the change itself.
    """
    clean = np.full(len(rates.class_names), np.nan)
    if rates.has_clean:
        (_, before), (_, after) = _recalls(rates, [len(rates.conditions)])
        clean = _mean(after) - _mean(before)
    tables = [_changes_of_corruption(rates, *corruption, alpha) for corruption in rates.corruptions.items()]
    table = pd.concat(tables, ignore_index=True)
    table.insert(9, "clean_normalised_pp", 100 * np.tile(clean, len(tables)))
    table["p_holm"], table["p_bh"] = (adjust(table["p"].to_numpy(float), method) for method in ("holm", "bh"))
    tested = table["difference_pp"].where(table["test"] == MCNEMAR, table["normalised_pp"])
    direction = np.where(tested < 0, "harmed", "favoured")
    return table.assign(direction=np.where(table["p"] <= alpha, direction, "no evidence"))


def _changes_of_corruption(rates: ConditionRates, name: str, columns: list[int], alpha: float) -> pd.DataFrame:
    (before, centred_before), (after, centred_after) = _recalls(rates, columns)
    count = len(rates.class_names)
    normalised = _mean(centred_after) - _mean(centred_before)
    low = high = p = np.full(count, np.nan)
    test = NO_TEST
    if min(len(before), len(after)) > 1:
        compare, test = (paired_test, PAIRED_MEMBERS) if rates.paired else (welch, WELCH)
        result = compare(centred_after, centred_before, confidence=1 - alpha)
        normalised, low, high, p = result.difference, result.low, result.high, result.p
    elif rates.paired_by_image(columns, 1):
        p, test = _p_over_images(rates, columns), MCNEMAR
    return pd.DataFrame(
        {
            "corruption": name,
            "class": rates.class_names,
            "examples": np.bincount(rates.labels[columns[0]], minlength=count),
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


def _p_over_images(rates: ConditionRates, columns: list[int]) -> np.ndarray:
    before, after = (sum(population.correct[1, i].astype(int) for i in columns) for population in rates.populations)
    labels, classes = rates.labels[columns[0]], len(rates.class_names)
    lost, won = (np.bincount(labels[changed], minlength=classes) for changed in (after < before, after > before))
    return np.where(np.bincount(labels, minlength=classes) > 0, mcnemar(lost, won), np.nan)
