"""Forecast from the dense model alone: compression first changes predictions that were close between two classes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions, require_predictions
from tfaudit.stats.ranking import surely_ranked
from tfaudit.stats.ties import BestClasses, Ties

FIRST = 100
"""Number of images to look at first."""

SEVERAL = "several"
"""Name of the second class where more classes tie than are stored."""


@dataclasses.dataclass(frozen=True)
class Forecast(Result):
    """Images in the order in which compression is expected to change their predictions.

    Attributes:
        images: one row per image, the most endangered first; see `frame`.
        notes: caveats for the reader, one sentence each.
    """

    images: pd.DataFrame
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per image, the smallest margin first.

        Columns: `index` (position), `example` (id), `class` (true), `prediction` (the members' majority, before
        compression), `second` (the other class that they find most probable) and `margin`, the probability of the
        predicted class minus that of the second best, the mean over members. Classes that tie are all named, such as
        "cat or dog"; those that tie for the prediction stand in both columns, and "several" for more than are stored.
        """
        return self.images.copy()

    def summary(self) -> dict[str, Any]:
        """Return how many images have small margins, and the largest margin among the first `FIRST`."""
        margin = self.images["margin"]
        return {
            "images": len(margin),
            "margins_below_0.1": int((margin < 0.1).sum()),
            "margins_below_0.5": int((margin < 0.5).sum()),
            "margin_of_first_100": float(margin.head(FIRST).max()),
        }

    def chart(self) -> Drawing:
        """Draw how many images have a margin of at most so much."""
        from tfaudit.extensions.forecast.chart import margins_chart

        return margins_chart(self.images)


def margins(predictions: Predictions, member: int) -> np.ndarray:
    """Return the probability of a member's best class minus that of the second best, `(N,)` floats in [0, 1].

    Raises:
        InputError: predictions without probabilities, or with the best class alone.
    """
    if not predictions.has_probabilities or predictions.ranked.shape[2] < 2:
        raise InputError(
            "predictions",
            "classes without the probabilities of the two best",
            "probabilities or logits, such as Predictions.from_scores(labels, scores)",
        )
    best = predictions.member_probabilities(member)[:, :2].astype(float)
    return best[:, 0] - best[:, 1]


def forecast(predictions: Predictions) -> Forecast:
    """Rank images by how likely compression is to change their predictions, before anything is compressed.

    The margin of the dense model tells which images change, not which classes lose: see the documentation for both.

    Args:
        predictions: predictions of the dense model or population, with the probabilities of the two best classes.

    Raises:
        InputError: no probabilities, or only the best class.

    Example:
        >>> dense = Predictions.from_scores([0, 1, 1], [[0.9, 0.1], [0.45, 0.55], [0.2, 0.8]])
        >>> forecast(dense).frame()
           index  example  class  prediction  second  margin
        0      1        1      1           1       0     0.1
        1      2        2      1           1       0     0.6
        2      0        0      0           0       1     0.8
    """
    require_predictions(predictions=predictions)
    members = range(predictions.num_members)
    margin = np.mean([margins(predictions, member) for member in members], axis=0).round(12)
    names = np.array(predictions.class_names)
    modes = predictions.modal_classes()
    order = np.argsort(margin, kind="stable")
    rows = {
        "index": np.arange(len(margin)),
        "example": predictions.example_ids,
        "class": names[predictions.labels],
        "prediction": modes.names(predictions.class_names),
        "second": _second(predictions, modes),
        "margin": margin,
    }
    images = pd.DataFrame({name: values[order] for name, values in rows.items()})
    return Forecast(images)


def _second(predictions: Predictions, modes: BestClasses) -> np.ndarray:
    """Return the class beside the majority prediction with the largest probability, summed over members: `(N,)` names.

    Each member counts its two best classes, and all that tie with the second.
    """
    images, count = predictions.num_examples, predictions.num_classes
    unclear = np.zeros(images, bool)
    keys, weights = [], []
    for member in map(predictions.member, range(predictions.num_members)):
        probabilities = np.asarray(member.probabilities, float)
        best = probabilities >= probabilities[:, 1:2]
        unclear |= (best & ~surely_ranked(member, count)).any(1)
        rows, ranks = np.nonzero(best)
        keys.append(rows * count + member.classes[rows, ranks])
        weights.append(probabilities[rows, ranks])
    key, place = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(place, np.concatenate(weights))
    total[key % count == modes.first[key // count]] = -1
    largest = np.zeros(images)
    np.maximum.at(largest, key // count, total)
    rows, classes = np.divmod(key[total >= largest[key // count] - 1e-9], count)
    first = np.zeros(images, int)
    first[rows[::-1]] = classes[::-1]
    tied = np.bincount(rows, minlength=images)[rows] > 1
    texts = BestClasses(first, Ties(rows[tied], classes[tied])).names(predictions.class_names)
    texts[unclear] = SEVERAL
    both = modes.ties.rows
    texts[both] = modes.names(predictions.class_names)[both]
    return texts
