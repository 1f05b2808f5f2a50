"""Accuracy of every individual (writer, patient, device) before and after: [P] 4.1, figures 1 and 2."""

from __future__ import annotations

import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.audit.group_codes import coded
from tfaudit.predictions import Predictions
from tfaudit.stats.least_squares import line

__all__ = ["NOBODY", "individual_accuracy", "individual_fits"]

_TYPES = {
    "group": "str",
    "individual": "str",
    "examples": "int64",
    "accuracy_before": "float64",
    "accuracy_after": "float64",
    "difference_pp": "float64",
}

NOBODY = pd.DataFrame(columns=list(_TYPES)).astype(_TYPES)
"""The table of no individuals."""


def individual_accuracy(
    baseline: Predictions, compressed: Predictions, group: ArrayLike, individuals: ArrayLike | pd.Series
) -> pd.DataFrame:
    """One row per group and individual, in the order of both; unknown individuals together are named `(missing)`.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        group: `(N,)` the group of each example.
        individuals: `(N,)` who made each example.

    Returns:
        Columns `group`, `individual`, `examples`, `accuracy_before`, `accuracy_after` (means over members and
        examples), `difference_pp`.

    Raises:
        InputError: a column of another length.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [0, 1, 1])
        >>> after = Predictions.from_top1([0, 1, 1], [0, 0, 1])
        >>> individual_accuracy(before, after, ["a", "a", "a"], [7, 8, 8])
          group individual  examples  accuracy_before  accuracy_after  difference_pp
        0     a          7         1              1.0             1.0            0.0
        1     a          8         2              1.0             0.5          -50.0
    """
    groups, group_names = coded(group, baseline.num_examples, "column")
    people, people_names = coded(individuals, baseline.num_examples, "individuals")
    rows = pd.DataFrame(
        {
            "group": pd.Categorical.from_codes(groups, pd.Index(group_names)),
            "individual": pd.Categorical.from_codes(people, pd.Index(people_names)),
            "accuracy_before": baseline.correct().mean(0),
            "accuracy_after": compressed.correct().mean(0),
        }
    )
    by = rows.groupby(["group", "individual"], observed=True)
    table = by.mean().assign(examples=by.size()).reset_index()
    table["difference_pp"] = 100 * (table["accuracy_after"] - table["accuracy_before"])
    return table[list(_TYPES)].astype(_TYPES)


def individual_fits(people: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """The least-squares line of an individual's accuracy after on before, per group: [P] figure 1.

    Args:
        people: what `individual_accuracy` gives.
        alpha: 1 - alpha is the level of the interval of the slope.

    Returns:
        Columns `group`, `individuals`, `slope`, `slope_low`, `slope_high`, `intercept`, `r`; NaN where the individuals
        do not determine a number.

    Example:
        >>> people = pd.DataFrame({"group": "a", "accuracy_before": [0.8, 0.9], "accuracy_after": [0.5, 0.7]})
        >>> individual_fits(people)[["group", "individuals", "slope", "intercept"]].round(3)
          group  individuals  slope  intercept
        0     a            2    2.0       -1.1
    """
    rows = []
    for name, inside in people.groupby("group", sort=False):
        # Accuracies are ratios of counts: without rounding, equal ones could differ in the last bit and steer a line.
        before, after = inside["accuracy_before"].round(12), inside["accuracy_after"].round(12)
        fit = line(before, after, confidence=1 - alpha)
        rows.append((name, fit.n, fit.slope, fit.low, fit.high, fit.intercept, fit.r))
    return pd.DataFrame(rows, columns=["group", "individuals", "slope", "slope_low", "slope_high", "intercept", "r"])
