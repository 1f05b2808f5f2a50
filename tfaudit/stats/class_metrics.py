"""Precision of classes, with errors over images and members: what a detector of a rare class loses first.

With one positive image in a hundred, a specificity that falls from .995 to .9885 moves no recall and no accuracy by a
point, but one alarm in five more is false.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from tfaudit.stats.member_rows import Rows
from tfaudit.stats.ratios import ratio
from tfaudit.stats.ties import BestClasses
from tfaudit.stats.two_way import Change, group_changes, least_variance


@dataclasses.dataclass(frozen=True)
class PrecisionChanges:
    """Precision of C classes before and after, and its change. Arrays are `(C,)`.

    Attributes:
        before, after: share of the predictions of a class that are right, over all members of a population together;
            NaN for a class that no member predicts.
        change: `after` minus `before`, with its variance over images and members.
    """

    before: np.ndarray
    after: np.ndarray
    change: Change


def precision_changes(
    before: Sequence[BestClasses],
    after: Sequence[BestClasses],
    labels: np.ndarray,
    count: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> PrecisionChanges:
    """Compute the change of the precision of each class, with standard errors over images and members.

    Precision is the ratio of two random numbers, right predictions `H` of a class and all of them, `P`. By the delta
    method, a prediction of member k for image i moves it by `(h[k, i] - H / P) / P`. The variance of these parts is the
    two-way one of `group_changes` [C], over the images that any member takes for the class. It is at least that of one
    right and one wrong prediction [BP] of the population that predicts the class more rarely.

    Args:
        before: predictions of each member of the baseline for N images.
        after: the same for the compressed population; as many members if paired.
        labels: `(N,)` integers, the true class of each image from 0 to C - 1.
        count: C, the number of classes.
        paired: whether member k of `after` was made from member k of `before`.
        clusters: `(N,)` integers from 0, the cluster of each image; None if the images are independent.

    Example:
        >>> from tfaudit.stats.ties import Ties
        >>> sides = [[BestClasses(np.repeat([0, 1], sizes), Ties.none())] for sizes in ([80, 120], [60, 140])]
        >>> changes = precision_changes(*sides, np.repeat([0, 1], 100), 2, paired=False)
        >>> changes.after.round(2), [end.round(2).tolist() for end in changes.change.interval()]
        (array([1.  , 0.71]), [[-0.05, -0.17], [0.05, -0.07]])
    """
    images, classes = _predicted_cells([*before, *after], count)
    sizes = np.bincount(classes, minlength=count)
    right = labels[images] == classes
    (rate_before, fewest_before, rows_before), (rate_after, fewest_after, rows_after) = (
        _precision(Rows(len(side), _votes(side, images, classes)), right, classes, sizes)
        for side in (before, after)
    )
    change = group_changes(
        rows_before,
        rows_after,
        classes,
        count,
        paired=paired,
        clusters=None if clusters is None else clusters[images],
        continuous=True,
    ).absolute
    value = (rate_after - rate_before).round(12)
    fewest = np.minimum(fewest_before, fewest_after)
    units = fewest if clusters is None else fewest / _per_cluster(clusters[images], classes, sizes)
    least = np.asarray(least_variance(units))
    known = dataclasses.replace(
        change,
        value=value,
        error=change.error + 0 * value,
        df_images=np.maximum(
            units - 1 if clusters is None else np.fmin(units - 1, change.df_images), 1
        ),
        clusters=None if clusters is None else units,
    )
    return PrecisionChanges(rate_before, rate_after, known.at_least(least))


def _predicted_cells(members: Sequence[BestClasses], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the image and the class of every pair of which a member predicts the class for the image."""
    first = members[0].first
    images = np.arange(len(first), dtype=np.int64)
    cells = [images * count + first]
    for member in members:
        rows = np.flatnonzero(member.first != first)
        cells += [rows * count + member.first[rows], member.ties.rows * count + member.ties.classes]
    images, classes = np.divmod(np.unique(np.concatenate(cells)), count)
    return images, classes


def _per_cluster(clusters: np.ndarray, classes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the number of pairs of a class per cluster, `(C,)`; clusters of unequal sizes count as fewer [Ki]."""
    cells, squares = np.unique(clusters.astype(np.int64) * len(sizes) + classes, return_counts=True)
    return ratio(np.bincount(cells % len(sizes), squares**2.0, len(sizes)), sizes)


def _votes(
    members: Sequence[BestClasses], images: np.ndarray, classes: np.ndarray
) -> Callable[[int], np.ndarray]:
    """Return a function that returns whether a member predicts the class of each pair; a share if classes tie."""

    def votes(position: int) -> np.ndarray:
        best = members[position]
        if not best.ties:
            return best.first[images] == classes
        return BestClasses(best.first[images], best.ties.take(images)).among_best(classes)

    return votes


def _precision(
    votes: Rows, right: np.ndarray, classes: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Rows]:
    """Return the precisions, the numbers of predictions per member, and the linear parts of the precisions.

    Args:
        votes: `(K, S)`, whether member k predicts the class of a pair.
        right: `(S,)`, whether it is the true class of the image.
        classes: `(S,)`, the class.
        sizes: `(C,)` number of pairs of each class.
    """
    mean = votes.mean()
    predicted, hits = (
        np.bincount(classes, weights, len(sizes)) for weights in (mean, mean * right)
    )
    rate = ratio(hits, predicted).round(12)
    part = (right - rate[classes]) * ratio(sizes, predicted)[classes]
    part = np.nan_to_num(part)
    return rate, predicted, votes.map(lambda row: row * part)
