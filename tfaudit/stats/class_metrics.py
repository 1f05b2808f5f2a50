"""Precision, F1, area under the ROC curve and average precision: what a detector of a rare class loses first.

All have errors over images and members. With one positive image in a hundred, a specificity that falls from .995 to
.9885 moves no recall and no accuracy by a point, but one alarm in five more is false.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfaudit.stats.change_intervals import Change
from tfaudit.stats.changes import group_changes, sum_change
from tfaudit.stats.least_variance import least_variance
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.ratios import ratio
from tfaudit.stats.separation import separation
from tfaudit.stats.ties import BestClasses

Influences = Callable[[], tuple[float, np.ndarray]]
"""Function that returns a metric of one member, and the influence of each image on it times the images of its class."""


@dataclasses.dataclass(frozen=True)
class MetricChanges:
    """A metric of C classes before and after, and its change. Arrays are `(C,)`, or `(1,)` for one of all classes.

    Attributes:
        before, after: precision, the share of the predictions of a class that are right, over all members of a
            population together, NaN for a class that no member predicts; or the mean of another metric over members.
        change: `after` minus `before`, with its variance over images and members.
    """

    before: np.ndarray
    after: np.ndarray
    change: Change

    def of(self, classes: np.ndarray) -> MetricChanges:
        """Return the metric of some classes, `(C,)` booleans."""
        parts: dict[str, Any] = {
            name: None if part is None else part[classes]
            for name, part in vars(self.change).items()
        }
        return MetricChanges(self.before[classes], self.after[classes], Change(**parts))


def precision_changes(
    before: Sequence[BestClasses],
    after: Sequence[BestClasses],
    labels: np.ndarray,
    count: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> MetricChanges:
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
        of_images=change.of_images + 0 * value,
        df_images=np.maximum(
            units - 1 if clusters is None else np.fmin(units - 1, change.df_images), 1
        ),
        clusters=None if clusters is None else units,
    )
    return MetricChanges(rate_before, rate_after, known.at_least(least))


def metric_change(
    before: Sequence[Influences],
    after: Sequence[Influences],
    labels: np.ndarray,
    weights: np.ndarray,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> MetricChanges:
    """Compute the change of a metric of all images from the influence of each, with errors over images and members.

    The influences are the linear part of the metric, an infinitesimal jackknife over the images of each class [Ja]; for
    the area under the ROC curve that is DeLong's variance [De]. Their variance is the two-way one [C]. It is at least
    that of one more image of each class lost by all members and another won [BP].

    Args:
        before: functions that return the metric of a member of the baseline and its influences; see `macro_f1`.
        after: the same for the compressed population; as many members if paired.
        labels: `(N,)` integers, the true class of each image from 0 to C - 1.
        weights: `(C,)`, by how much the metric falls if all images of a class are lost.
        paired: whether member k of `after` was made from member k of `before`.
        clusters: `(N,)` integers from 0, the cluster of each image; None if the images are independent.

    Example:
        >>> import functools
        >>> labels = np.repeat([0, 1], [90, 10])
        >>> scores = [labels + (np.arange(100) % 7) / size for size in (5, 3)]
        >>> sides = [[functools.partial(roc_area, each, labels)] for each in scores]
        >>> area = metric_change(*sides, labels, np.ones(2), paired=False)
        >>> area.before.round(2), area.after.round(2), [end.round(2).tolist() for end in area.change.interval()]
        (array([0.95]), array([0.8]), [[-0.39], [0.09]])
    """
    totals = [np.array([member()[0] for member in side]) for side in (before, after)]
    rates = [total.mean(keepdims=True).round(12) for total in totals]
    first, second = (_influences(side) for side in (before, after))
    influences = [second, first.map(np.negative)]
    if paired:
        influences = [Rows(len(after), lambda k: second[k] - first[k])]
        totals = [totals[1] - totals[0]]
    units = _units_of(labels, len(weights), clusters)
    change = sum_change(
        influences,
        totals,
        labels,
        len(weights),
        value=float(rates[1][0] - rates[0][0]),
        least=float(np.square(weights) @ least_variance(units)),
        clusters=clusters,
    )
    return MetricChanges(rates[0], rates[1], change)


def _influences(side: Sequence[Influences]) -> Rows:
    """Return the influences of all images on the metric of each member."""
    return Rows(len(side), lambda k: side[k]()[1])


def _units_of(labels: np.ndarray, count: int, clusters: np.ndarray | None) -> np.ndarray:
    """Return the number of images of each class, or of clusters, `(C,)`; clusters of unequal sizes count as fewer."""
    sizes = np.bincount(labels, minlength=count)
    if clusters is None:
        return sizes
    return np.nan_to_num(ratio(sizes, _per_cluster(clusters, labels, sizes)))


def macro_f1(best: BestClasses, labels: np.ndarray, count: int) -> tuple[float, np.ndarray]:
    """Compute the mean F1 of the classes that have images, and the influence of each image on it.

    F1 of a class is `2 H / (P + S)`: right predictions, all predictions and images of the class. A class that is never
    predicted has 0.

    Args:
        best: predictions of a member for N images.
        labels: `(N,)` integers, the true class of each image from 0 to C - 1.
        count: C, the number of classes.

    Returns:
        The mean, and `(N,)` influences times the number of images of the same class.

    Example:
        >>> from tfaudit.stats.ties import Ties
        >>> value, influence = macro_f1(BestClasses(np.array([0, 1, 1]), Ties.none()), np.array([0, 0, 1]), 2)
        >>> round(value, 3), influence.round(2).tolist()
        (0.667, [0.22, -0.44, 0.11])
    """
    rows, classes, votes = best.votes()
    right = best.among_best(labels)
    support = np.bincount(labels, minlength=count)
    total = np.bincount(classes, votes, count) + support
    f1 = np.nan_to_num(ratio(2 * np.bincount(labels, right, count), total))
    weight = np.nan_to_num(ratio(support > 0, total)) / np.count_nonzero(support)
    taken = np.bincount(rows, votes * (weight * f1)[classes], len(labels))
    influence = weight[labels] * (2 * right - f1[labels]) - taken
    return float(f1[support > 0].mean()), support[labels] * influence


def roc_area(scores: np.ndarray, positive: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute the area under the ROC curve, and the influence of each image as `macro_f1` returns it.

    Args:
        scores: `(N,)` floats.
        positive: `(N,)` integers, 1 for a positive image and 0 for a negative one.
    """
    area, influence = separation(scores, positive)
    sizes = np.bincount(positive, minlength=2)
    # Both variances divide by one less than the number of images of a kind: once is enough.
    scale = sizes * np.sqrt(1 - 1 / np.maximum(sizes, 2)) / len(positive)
    return area, influence * scale[positive]


def average_precision(scores: np.ndarray, positive: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute the average precision, and the influence of each image as `macro_f1` returns it.

    It is the mean over positive images of the precision among the images that score as high or higher; equal scores
    count together, as in scikit-learn.

    Args:
        scores: `(N,)` floats.
        positive: `(N,)` integers, 1 for a positive image and 0 for a negative one.

    Example:
        >>> value, influence = average_precision(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
        >>> round(value, 3), influence.round(2).tolist()
        (0.833, [-0.0, -0.22, -0.06, 0.28])
    """
    distinct, rank = np.unique(scores, return_inverse=True)
    found, all_found = (np.bincount(rank, weights, len(distinct)) for weights in (positive, None))
    above, all_above = (np.cumsum(counts[::-1])[::-1] for counts in (found, all_found))
    precision = above / all_above
    positives = found.sum()
    if not positives:
        return float("nan"), np.zeros(len(scores))
    value = float(found @ precision / positives)
    # One more positive image raises the precision at all lower scores, and a negative one lowers it.
    raised, lowered = (np.cumsum(found * part / all_above) for part in (1 - precision, precision))
    of_positive = precision[rank] - value + raised[rank]
    of_negative = -lowered[rank] * (len(scores) - positives) / positives
    return value, np.where(positive == 1, of_positive, of_negative)


def _predicted_cells(members: Sequence[BestClasses], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the image and the class of every pair of which a member predicts the class for the image."""
    first = members[0].first
    own = np.arange(len(first), dtype=np.int64) * count + first
    others = []  # what other members predict for most images is among these
    for member in members:
        rows = np.flatnonzero(member.first != first)
        others.append(rows * count + member.first[rows])
        rows, classes = member.ties.rows, member.ties.classes
        others.append((rows * count + classes)[classes != first[rows]])
    cells = np.sort(np.concatenate(others))  # several times as fast as `np.unique`
    cells = cells[np.diff(cells, prepend=-1) > 0]
    images, classes = np.divmod(np.concatenate([own, cells]), count)
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
