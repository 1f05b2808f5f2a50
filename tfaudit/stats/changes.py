"""Changes of accuracy and of other means over images and members: of groups, of all images, of sums and ratios."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from tfaudit.stats.change_intervals import Change, GroupChanges
from tfaudit.stats.group_codes import group_means
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.proportions import exact_interval
from tfaudit.stats.sampling_units import Units
from tfaudit.stats.two_way_variance import Sample, change_from_parts, changes_of_means


def group_changes(
    before: np.ndarray | Rows,
    after: np.ndarray | Rows,
    groups: np.ndarray,
    count: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
    continuous: bool = False,
) -> GroupChanges:
    """Compute the change of accuracy of each group of images, with standard errors over images and members.

    With one member on each side the images are the only sample; with one member on only one side the errors are
    unknown. Every variance is at least that of one more image lost by all members and another won [BP]: few images that
    all agree prove little, and no number of members makes up for that.

    Args:
        before: `(K0, N)` booleans, whether member k of the baseline is right on image i, or shares in [0, 1]. Each
            row of `Rows` is computed once, with clusters twice.
        after: `(K1, N)` the same for the compressed population; K1 = K0 if paired.
        groups: `(N,)` integers, the group of each image from 0 to G - 1, such as its class.
        count: G, the number of groups.
        paired: whether member k of `after` was made from member k of `before`.
        clusters: `(N,)` integers from 0, the cluster of each image; None if the images are independent.
        continuous: whether the values are measurements, which differ in every image: they need no least variance.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> before, after = rng.random((5, 400)) < 0.9, rng.random((5, 400)) < 0.7
        >>> change = group_changes(before, after, np.arange(400) % 2, 2, paired=False).absolute
        >>> change.value.round(2), [end.round(2).tolist() for end in change.interval(0.95)]
        (array([-0.18, -0.21]), [[-0.21, -0.26], [-0.14, -0.16]])
    """
    units = Units(groups, count, clusters)
    return changes_of_means(differences(before, after, paired), units, continuous=continuous)


def mean_change(
    before: np.ndarray | Rows,
    after: np.ndarray | Rows,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
    continuous: bool = False,
) -> Change:
    """Compute the change of a mean over all images, `(1,)`.

    The values are any numbers, such as losses, or the linear part of a statistic that is not a mean [C].

    Args:
        before: `(K0, N)` values or rows, one per member of the baseline and image.
        after: `(K1, N)` the same for the compressed population; K1 = K0 if paired.
        paired: whether member k of `after` was made from member k of `before`.
        clusters: clusters of images, as in `group_changes`.
        continuous: whether the values are measurements, as in `group_changes`.

    Example:
        >>> mean_change(np.array([[0.5, 0.7]]), np.array([[0.5, 0.9]]), paired=False).value.round(2)
        array([0.1])
    """
    everywhere = np.zeros(len(before[0]), int)
    return group_changes(
        before, after, everywhere, 1, paired=paired, clusters=clusters, continuous=continuous
    ).absolute


def accuracy_interval(
    correct: np.ndarray | Rows,
    groups: np.ndarray,
    count: int,
    *,
    confidence: float = 0.95,
    clusters: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of the interval of every group's accuracy over images and members, `(G,)` each in [0, 1].

    A single model on independent images has the exact interval of Clopper and Pearson [CP].

    Args:
        correct: `(K, N)` booleans or rows, whether member k is right on image i.
        groups: `(N,)` integers, the group of each image from 0 to G - 1.
        count: G, the number of groups.
        confidence: level of the intervals, in (0, 1).
        clusters: clusters of images, as in `group_changes`.

    Example:
        >>> right = np.array([[True] * 8 + [False] * 2] * 2)
        >>> [end.round(2).tolist() for end in accuracy_interval(right, np.zeros(10, int), 1)]
        [[0.44], [1.0]]
    """
    right = Rows.of(correct)
    if len(right) == 1 and clusters is None:
        return exact_interval(
            np.bincount(groups, right[0], count), np.bincount(groups, minlength=count), confidence
        )
    level = changes_of_means([right], Units(groups, count, clusters)).absolute
    return level.interval(confidence, least=0, most=1)


def total_change(
    before: np.ndarray | Rows,
    after: np.ndarray | Rows,
    groups: np.ndarray,
    count: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> Change:
    """Compute the change of the sum of the means of groups, such as sets of different images: `(1,)`.

    All groups have the same members but different images, of different clusters. The arguments are those of
    `group_changes`; every group has images.

    Example:
        >>> before, after = np.array([[1, 1, 1, 0], [1, 1, 1, 1]]), np.array([[0, 1, 1, 0], [0, 1, 0, 0]])
        >>> total_change(before, after, np.array([0, 0, 1, 1]), 2, paired=True).value
        array([-1.])
    """
    changes = group_changes(before, after, groups, count, paired=paired, clusters=clusters)
    parts = changes.absolute
    if count == 1:
        return parts
    sides = differences(before, after, paired)
    totals = [group_means(side, groups, count).sum(1) for side in sides]
    return _summed(
        float(parts.value.sum()), parts.of_images, parts.df_images, totals, parts.overlap.sum()
    )


def log_ratio(
    before: np.ndarray,
    after: np.ndarray,
    groups: np.ndarray,
    count: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> Change:
    """Compute the logarithm of a ratio, after over before, of two sums of the means of groups: `(1,)`.

    Both sums are estimated on the same images and members, so neither is known. The logarithm of `A / B` has the linear
    part `a[k, i] / A - b[k, i] / B`, whose variance over images and members [C] is the error. The exponentials of the
    ends of its interval are the ends of the interval of the ratio; taking B as known, 95 % intervals hold the ratio in
    64 to 78 % of simulated studies.

    The arguments are those of `total_change`, with values of 0 or more, in which 1 is one prediction. The logarithm and
    its error are NaN if a sum is 0.

    Example:
        >>> before, after = np.repeat([[1, 0]], 100, axis=1), np.repeat([[1, 1]], 100, axis=1)
        >>> change = log_ratio(before, after, np.zeros(200, int), 1, paired=True)
        >>> np.exp([change.value, *change.interval()]).ravel().round(2)
        array([2.  , 1.74, 2.3 ])
    """
    total_before, total_after = (
        group_means(side, groups, count).mean(0).sum() for side in (before, after)
    )
    if not min(total_before, total_after) > 1e-12:  # means of counts: below this is rounding
        return Change.without_error(np.array([np.nan]))
    scale = total_after / total_before
    scaled = Rows.of(before).map(lambda row: row * scale)
    change = total_change(scaled, after, groups, count, paired=paired, clusters=clusters)
    return dataclasses.replace(
        change,
        value=np.log([scale]),
        **{
            part: getattr(change, part) / total_after**2
            for part in ("of_images", "of_members", "overlap")
        },
    )


def sum_change(
    influences: Sequence[np.ndarray | Rows],
    totals: Sequence[np.ndarray],
    groups: np.ndarray,
    count: int,
    *,
    value: float = np.nan,
    least: float = 0.0,
    clusters: np.ndarray | None = None,
) -> Change:
    """Compute the variance of a statistic of the means of all groups from its linear parts [C]: `(1,)`.

    Args:
        influences: `(K, N)` values or rows per independent population: the effect of each prediction on the statistic,
            times the number of images of its group.
        totals: one array `(K,)` per independent population: how the statistic varies with the members.
        groups: `(N,)` integers, the group of each image from 0 to G - 1.
        count: G, the number of groups.
        value: value of the statistic, NaN by default.
        least: least variance due to images, 0 by default.
        clusters: clusters of images, as in `group_changes`.

    Example:
        >>> sum_change([np.array([[0.0, 1.0, 2.0, 4.0]])], [np.zeros(1)], np.array([0, 0, 1, 1]), 2).of_images
        array([1.25])
    """
    units = Units(groups, count)
    sides = [Rows.of(influence) for influence in influences]
    if clusters is not None:  # a cluster may have images in several groups, which become one
        sides = [side.map(functools.partial(_centred, units=units)) for side in sides]
        units = Units(np.zeros_like(groups), 1, clusters)
    samples = [Sample(side, units) for side in sides]
    images = np.sum([sample.images for sample in samples], axis=0)
    per_size = 1 / np.maximum(units.sizes, 1)
    variances = units.variances_of_values(images, units.group_sums(images) * per_size)
    of_images = variances * per_size * (units.counts > 1)
    if not of_images.sum() >= least:
        of_images = np.full(len(per_size), least / len(per_size))
    overlap = sum((sample.residual * per_size).sum() for sample in samples)
    change = _summed(value, of_images, units.freedom, totals, overlap)
    return dataclasses.replace(change, clusters=units.counts if units.clustered else None)


def _centred(row: np.ndarray, units: Units) -> np.ndarray:
    """Return a row less the means of its groups, with a mean over all images that is the sum of such means."""
    per_size = 1 / np.maximum(units.sizes, 1)
    return (
        len(row) * per_size[units.groups] * units.residuals(row, units.group_sums(row) * per_size)
    )


def _summed(
    value: float,
    of_images: np.ndarray,
    df_images: np.ndarray,
    totals: Sequence[np.ndarray],
    overlap: float,
) -> Change:
    """Return a sum over groups of different images and the same members, from `(K,)` totals of each."""
    images = np.array([of_images.sum()])
    squares = np.array([np.sum(of_images**2 / df_images)])
    members = [total[:, None] for total in totals]
    return change_from_parts(np.array([value]), images, squares, members, np.array([overlap]))


def differences(before: np.ndarray | Rows, after: np.ndarray | Rows, paired: bool) -> list[Rows]:
    """Return the samples that vary with the members: the differences of pairs, or both populations without pairs."""
    # Small integers take an eighth of the memory of floats.
    first, second = (
        Rows.of(side).map(lambda row: row.astype(np.int8) if row.dtype == bool else row)
        for side in (before, after)
    )
    if not paired:
        return [second, first]
    return [Rows(len(first), lambda position: second[position] - first[position])]
