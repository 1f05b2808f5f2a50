"""Rates of predictions that change, and of right ones that become wrong, over images and members."""

import itertools
from collections.abc import Sequence

import numpy as np

from tfaudit.stats.change_intervals import Change, GroupChanges
from tfaudit.stats.changes import differences
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.sampling_units import Units
from tfaudit.stats.ties import BestClasses
from tfaudit.stats.two_way_variance import changes_of_means


def flips(
    before: Sequence[BestClasses],
    after: Sequence[BestClasses],
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> Change:
    """Compute the share of predictions that change, whichever class is right: `(1,)`.

    It is the mean over the pairs of members; without pairs, over all combinations of a member before and one after,
    with the variance of the linear part over images and members [C]. Ties are settled alike as far as possible.

    Args:
        before: predictions of each member of the baseline for N images.
        after: the same for the compressed population; as many members if paired.
        paired: whether member k of `after` was made from member k of `before`.
        clusters: clusters of images, as in `group_changes`.

    Example:
        >>> from tfaudit.stats.ties import Ties
        >>> before, after = ([BestClasses(np.array(classes), Ties.none())] for classes in ([0, 1], [0, 2]))
        >>> flips(before, after, paired=True).value
        array([0.5])
    """
    images = len(before[0].first)
    units = Units(np.zeros(images, int), 1, clusters)
    if paired or len(before) == len(after) == 1:
        changed = Rows(len(before), lambda k: 1 - before[k].agreement(after[k]))
        return changes_of_means([changed], units).absolute
    tied = any(member.ties for member in (*before, *after))
    kind = np.float32 if tied else np.min_scalar_type(max(len(before), len(after)))
    counts = [np.zeros((len(side), images), kind) for side in (before, after)]
    for (i, one), (j, other) in itertools.product(enumerate(before), enumerate(after)):
        # Counting differences of integers takes a sixth of the time.
        changes = 1 - one.agreement(other) if tied else one.first != other.first
        counts[0][i] += changes
        counts[1][j] += changes
    sides = [
        Rows.of(counts[0]).map(lambda row: row / len(after)),
        Rows.of(counts[1]).map(lambda row: row / len(before)),
    ]
    return changes_of_means(sides, units, sides[0].mean()).absolute


def negative_flips(
    before: np.ndarray,
    after: np.ndarray,
    groups: np.ndarray,
    count: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> GroupChanges:
    """Compute the rate of negative flips of each group: images that were right before and are wrong after.

    The rate is the mean over the pairs of members; without pairs, over all combinations of a member before and one
    after, with the variance of the linear part over images and members [C]. Within a pair, ties are settled alike: only
    what is lost counts.

    Args:
        before: `(K0, N)` numbers in [0, 1], whether member k of the baseline is right on image i.
        after: `(K1, N)` the same for the compressed population; K1 = K0 if paired.
        groups: `(N,)` integers, the group of each image from 0 to G - 1.
        count: G, the number of groups.
        paired: whether member k of `after` was made from member k of `before`.
        clusters: clusters of images, as in `group_changes`.

    Returns:
        The rates, `absolute`, and how they differ from the rate over all images, `relative`.

    Example:
        >>> before, after = np.array([[True, True], [True, False]]), np.array([[False, True], [True, True]])
        >>> negative_flips(before, after, np.zeros(2, int), 1, paired=True).absolute.value
        array([0.25])
    """
    units = Units(groups, count, clusters)
    if paired or len(before) == len(after) == 1:
        (lost,) = differences(after, before, paired=True)
        return changes_of_means([lost.map(lambda row: np.maximum(row, 0))], units)
    right = before.mean(0)
    wrong = 1 - after.mean(0)
    sides = [
        Rows.of(before).map(lambda row: row * wrong),
        Rows.of(after).map(lambda row: right * (1.0 - row)),
    ]
    return changes_of_means(sides, units, right * wrong)


def excess_negative_flips(
    before: np.ndarray,
    after: np.ndarray,
    groups: np.ndarray,
    count: int,
    *,
    clusters: np.ndarray | None = None,
) -> Change:
    """Compute by how much negative flips exceed the flips between two members of the baseline, `(G,)`.

    It is meant for independent populations, as members that are trained alike disagree, too. The arguments are those of
    `negative_flips`; both populations have two members or more.

    Example:
        >>> before = np.array([[True, False], [False, True]])
        >>> excess_negative_flips(before, before, np.zeros(2, int), 1).value
        array([-0.25])
    """
    right = before.mean(0)
    wrong = 1 - after.mean(0)
    scale = len(before) / (len(before) - 1)
    images = right * wrong - flips_between_members(before)
    weight = wrong - scale * (1 - 2 * right)
    sides = [
        # the second term is the part that a member in a tie would lose to itself
        Rows.of(before).map(lambda row: row * weight + row * (1.0 - row) / (len(before) - 1)),
        Rows.of(after).map(lambda row: right * (1.0 - row)),
    ]
    return changes_of_means(sides, Units(groups, count, clusters), images).absolute


def flips_between_members(right: np.ndarray) -> np.ndarray:
    """Return the mean rate of negative flips between two different members of a population, `(N,)`; NaN for one.

    Args:
        right: `(K, N)` numbers in [0, 1], whether member k is right on image i.

    Example:
        >>> flips_between_members(np.array([[1, 1, 0.5], [0, 1, 0.5]]))
        array([0.5 , 0.  , 0.25])
    """
    members = len(right)
    share = right.mean(0)
    if members == 1:
        return np.full(right.shape[1], np.nan)
    own = Rows.of(right).map(lambda row: row * (1.0 - row)).mean()
    return (members * share * (1 - share) - own) / (members - 1)
