"""The one condition of every comparison: both populations answer the same questions."""

from __future__ import annotations

import numpy as np

from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

__all__ = ["require_same_examples"]


def require_same_examples(baseline: Predictions, compressed: Predictions) -> None:
    """Raises unless both hold the same examples, in the same order, with the same labels and class names.

    Raises:
        InputError: they differ; says where first.
    """
    if compressed.num_examples != baseline.num_examples:
        raise InputError(
            f"compressed: {compressed.num_examples} examples, the baseline has {baseline.num_examples}; "
            "both must answer the same examples"
        )
    if compressed.class_names != baseline.class_names:
        raise InputError(
            f"compressed: {compressed.num_classes} classes, the baseline has {baseline.num_classes}"
            if compressed.num_classes != baseline.num_classes
            else "compressed: class_names differ from the baseline's; both must name the same classes"
        )
    for name in ("example_ids", "labels"):
        differs = np.flatnonzero(getattr(compressed, name) != getattr(baseline, name))
        if len(differs):
            i = differs[0]
            raise InputError(
                f"compressed: {name} differ from the baseline's at {len(differs)} positions, first at {i} "
                f"({getattr(compressed, name)[i]} instead of {getattr(baseline, name)[i]})"
            )
