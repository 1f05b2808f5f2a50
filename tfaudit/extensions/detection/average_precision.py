"""Average precision as COCO defines it, and its delete-a-group jackknife over images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfaudit.extensions.detection.matching import Matches

RECALLS = np.linspace(0, 1, 101)
"""Recalls at which precision is averaged."""


def average_precision(hits: np.ndarray, counted: np.ndarray, boxes: int) -> np.ndarray:
    """Return the average precision of one class at each IoU, `(T,)`; NaN without true boxes.

    It is the mean over `RECALLS` of the best precision at that recall or above [Li].

    Args:
        hits: `(T, D)` booleans, whether each detection finds a true box, the best score first.
        counted: `(T, D)` booleans, whether it counts.
        boxes: number of true boxes.

    Example:
        >>> hits = np.array([[True, False, True]])
        >>> average_precision(hits, np.ones((1, 3), bool), 2).round(3)
        array([0.835])
    """
    if not boxes:
        return np.full(len(hits), np.nan)
    found = np.cumsum(hits & counted, axis=1, dtype=float)
    false = np.cumsum(~hits & counted, axis=1, dtype=float)
    precision = found / np.maximum(found + false, 1)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    padded = np.concatenate([best, np.zeros((len(hits), 1))], axis=1)
    return np.array(
        [
            row[np.searchsorted(recall, RECALLS)].mean()
            for row, recall in zip(padded, found / boxes, strict=True)
        ]
    )


def class_precisions(
    matches: Matches, boxes: np.ndarray, left_out: np.ndarray | None = None
) -> np.ndarray:
    """Return the average precision of every class at each IoU, `(C, T)`; NaN for a class without true boxes.

    Args:
        matches: the detections of a model.
        boxes: `(C,)` numbers of true boxes.
        left_out: `(D,)` booleans, detections of images that are left out; none by default.
    """
    counted = matches.counted if left_out is None else matches.counted & ~left_out
    starts = np.searchsorted(matches.category, np.arange(len(boxes) + 1))
    return np.array(
        [
            average_precision(matches.hits[:, own], counted[:, own], boxes[number])
            for number, own in enumerate(map(slice, starts[:-1], starts[1:]))
        ]
    )


GROUPS = 50
"""Groups of images of which the jackknife leaves out one at a time."""


def jackknifed(
    matches: Sequence[Matches], image: np.ndarray, category: np.ndarray, images: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the average precisions of members, and their pseudo-values by the delete-a-group jackknife.

    A class whose boxes all lie in the images left out keeps its value.

    Args:
        matches: the detections of each of K members.
        image: `(B,)` integers, the image of each true box that is judged.
        category: `(B,)` integers, its class.
        images: number of images.
        classes: number of classes.

    Returns:
        `(K, C, T)` values, NaN for a class without true boxes, and `(K, G, C, T)` pseudo-values of `GROUPS` groups, or
        of as many as there are images: their mean varies as the values do.
    """
    groups = min(GROUPS, images)
    group_of = np.random.default_rng(0).permutation(images) % groups
    boxes = np.zeros((groups, classes), int)
    np.add.at(boxes, (group_of[image], category), 1)
    total = boxes.sum(0)
    whole = np.array([class_precisions(member, total) for member in matches])
    others = np.array(
        [
            [
                class_precisions(member, total - boxes[group], group_of[member.image] == group)
                for group in range(groups)
            ]
            for member in matches
        ]
    )
    others = np.where(np.isnan(others), whole[:, None], others)
    return whole, groups * whole[:, None] - (groups - 1) * others
