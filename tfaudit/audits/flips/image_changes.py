"""Changes by compression in every image: the majority prediction of the members, and how many of them are right."""

import numpy as np
import pandas as pd

from tfaudit.audits.prediction_counts.prediction_counts import PredictionCounts

UNCHANGED, NEWLY_WRONG, NEWLY_CORRECT = "unchanged", "newly wrong", "newly correct"
OTHER_WRONG = "other wrong"
"""Kinds of images, by their majority prediction before and after."""


def image_changes(before: PredictionCounts, after: PredictionCounts) -> pd.DataFrame:
    """Compare the predictions of two populations image by image, in the order of the images.

    Columns: `label`, `before` and `after` (majority predictions) as positions of classes; `before_share` and
    `after_share`, the shares of the members that predict them; `lost_share`, the share of right members before minus
    the share after; `decisiveness`, the probability that two members, one from each side, both predict their majority;
    and `kind`: unchanged, newly wrong, newly correct, or other wrong (wrong before and wrong in another way after). An
    image whose majority predictions tie is changed only if none of those before is among those after.

    Args:
        before: prediction counts of the baseline.
        after: prediction counts of a compressed variant, on the same images.

    Example:
        >>> from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
        >>> from tfaudit.predictions import Predictions
        >>> one, other = ([[0, 1, 1], [0, 1, 0]], [[0, 0, 0], [0, 0, 1]])
        >>> populations = (Predictions.from_top1([0, 1, 1], top1) for top1 in (one, other))
        >>> image_changes(*map(count_predictions, populations))[["before", "after", "lost_share", "kind"]]
           before  after  lost_share         kind
        0       0      0         0.0    unchanged
        1       1      0         1.0  newly wrong
        2       0      0         0.0    unchanged
    """
    labels = before.labels
    modes = (before.modal_classes(), after.modal_classes())
    shares = before.share(), after.share()
    changed = modes[0].agreement(modes[1]) == 0
    right = [mode.among_best(labels) > 0 for mode in modes]
    return pd.DataFrame(
        {
            "label": labels,
            "before": before.mode(),
            "after": after.mode(),
            "before_share": shares[0],
            "after_share": shares[1],
            "lost_share": before.right_share() - after.right_share(),
            "decisiveness": shares[0] * shares[1],
            "kind": np.select(
                [changed & right[0], changed & right[1], changed],
                [NEWLY_WRONG, NEWLY_CORRECT, OTHER_WRONG],
                UNCHANGED,
            ),
        }
    )
