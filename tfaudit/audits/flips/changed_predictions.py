"""Predictions that differ between two models: what compression changes, and what training again changes."""

from __future__ import annotations

import numpy as np

from tfaudit.audits.comparison import Comparison
from tfaudit.predictions import Predictions


def changed_predictions(
    baseline: Predictions, compressed: Predictions | None, paired: bool | None = None
) -> np.ndarray:
    """Count the examples for which two models predict different classes, `(P,)` floats over P pairs of models.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed one on the same examples; None to count over pairs of baseline members (no pairs for
            a single member).
        paired: whether members are compared only with those they were made from, not all with all; by default as
            `compressed.parents` says.

    Example:
        >>> before, after = (Predictions.from_top1([0, 1], [[x, 1], [x, 1]]) for x in (0, 1))
        >>> changed_predictions(before, after), changed_predictions(before, None)
        (array([1., 1., 1., 1.]), array([0.]))
    """
    if compressed is None:
        first, second = np.triu_indices(baseline.num_members, 1)
        return _differences(baseline, baseline, first, second)
    return _differences(baseline, compressed, *Comparison(baseline, compressed, paired).compared)


def _differences(
    one: Predictions, other: Predictions, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    changes = (one.best(i).differences(other.best(j)) for i, j in zip(first, second, strict=True))
    return np.fromiter(changes, float, len(first))
