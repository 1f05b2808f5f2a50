"""The slope of recall balances without the attenuation that finite test images cause, with its interval."""

import dataclasses

import numpy as np

from tfaudit.stats.change_intervals import Change
from tfaudit.stats.changes import sum_change
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.ratios import normalised_balance, ratio

LEAST_SIZE = 2.0
"""Number of standard errors by which the sum of squared balances must exceed 0 for a slope to be defined."""

IMAGES_AT_ONCE = 2**12
"""Images whose predictions by all members are multiplied at once, as floats."""


def corrected_slope(
    before: np.ndarray,
    after: np.ndarray,
    labels: np.ndarray,
    classes: int,
    *,
    paired: bool,
    clusters: np.ndarray | None = None,
) -> Change:
    """Compute the slope of normalised recall balances, after on before, free of errors of measurement: `(1,)`.

    A recall is measured on a finite number of images. Its error adds to the sum of squares in the denominator of the
    slope `alpha` of [R] 5, and only partly to the products in the numerator, which pulls the slope below 1 if nothing
    changes. Here products of an image, or of a cluster of images, with itself are removed: this is the slope
    instrumented by the other half of the test images, averaged over all ways to halve them. Members also differ by
    chance, which attenuates the slope in the same way; so do pairs, because fine-tuning changes at random which classes
    a member knows best. Each member is therefore instrumented by the others, and the slope is 1 if nothing changes. A
    single pair has no others.

    Sums over the members are divided, not slopes averaged, because a member's own sum may be within the errors of
    measurement. The standard error is that of the linear part of the quotient over images and members [C].

    Args:
        before: `(K0, N)` numbers in [0, 1], correct predictions of the models before compression.
        after: `(K1, N)` the same after compression; K1 = K0 if paired.
        labels: `(N,)` integers, true classes from 0 to C - 1.
        classes: C, the number of classes. Classes with fewer than two images do not count.
        paired: whether member k of `after` was made from member k of `before`; one model against one always counts as
            a pair, whose chance is part of its slope.
        clusters: `(N,)` integers from 0, the cluster of each image; None if the images are independent.

    Returns:
        The slope; NaN if the balances before cannot be told from 0, or only one side has a single member.

    Example:
        >>> right = np.array([[True] * 90 + [False] * 10 + [True] * 60 + [False] * 40])
        >>> slope = corrected_slope(right, right, np.repeat([0, 1], 100), 2, paired=True)
        >>> slope.value, [end.round(2).tolist() for end in slope.interval()]
        (array([1.]), [[0.9], [1.1]])
    """
    paired = paired or len(before) == len(after) == 1
    undefined = Change.without_error(np.array([np.nan]))
    if not paired and 1 in (len(before), len(after)):
        return undefined
    first, second = (_Side(side, labels, classes) for side in (before, after))
    own = _products(first, first, clusters)
    products = _products(first, second, clusters)
    members = len(before)
    # Balances meet the mean of those of the other members; a single pair has no others.
    meeting = ~np.eye(members, dtype=bool) / (members - 1) if members > 1 else np.ones((1, 1))
    met_squares = (own * meeting).sum(1)
    size = met_squares.mean()
    meets_before = meeting @ first.balances
    if paired:
        size_of_products = (products * meeting).sum(1).mean()
        # How members vary is told by their products with themselves: of two, each meets only the other.
        squares_of_members, products_of_members = np.diag(own), np.diag(products)[:, None]
        meets_after, met_by_after = meeting @ second.balances, meets_before
    else:
        size_of_products = products.mean()
        # A strong member meets weaker others, which hides part of how members differ; of two, all of it.
        scale = (members - 1) / (members - 2) if members > 2 else 1.0
        squares_of_members = size + (met_squares - size) * scale
        products_of_members = products
        meets_after, met_by_after = (side.balances.mean(0)[None] for side in (second, first))
    if not size > 1e-12:  # balances are ratios of counts: below this is rounding
        return undefined
    sides_of_square = 1 if paired else 2  # independent members are on either side of a product
    size_change = sum_change(
        [first.influence(2 * meets_before)],
        [sides_of_square * squares_of_members],
        labels,
        classes,
        clusters=clusters,
    )
    if not size > LEAST_SIZE * size_change.error[0]:
        return undefined
    slope = size_of_products / size
    influences = [
        first.influence((meets_after - 2 * slope * meets_before) / size),
        second.influence(met_by_after / size),
    ]
    totals = [
        (products_of_members.mean(1) - slope * sides_of_square * squares_of_members) / size,
        products_of_members.mean(0) / size,
    ]
    if paired:
        of_dense, of_pruned = influences
        influences = [Rows(len(before), lambda k: of_dense[k] + of_pruned[k])]
        totals = totals[:1]
    # As if one prediction of one member were lost and one won: a pair without any change is no proof.
    least = 2 * np.mean(second.weights(met_by_after / size) ** 2, axis=0) @ first.sizes
    least /= len(labels) * len(after) ** 2
    change = sum_change(
        influences,
        totals,
        labels,
        classes,
        value=slope,
        least=float(least),
        clusters=clusters,
    )
    # Independent members are instruments of each other, so they have fewer independent deviations than members.
    few = np.array([min(len(before), len(after)) - 1.0])
    return change if paired else dataclasses.replace(change, df_members=few)


class _Side:
    """Normalised recall balances of K members of one population.

    Attributes:
        right: `(K, N)` correct predictions.
        sizes: `(C,)` number of images of each class.
        recalls: `(K, C)` recalls.
        accuracies: `(K,)` accuracies.
        balances: `(K, C)` recall / accuracy - 1; 0 for classes with fewer than two images.
    """

    def __init__(self, right: np.ndarray, labels: np.ndarray, classes: int) -> None:
        self.right = right
        self.labels = labels
        self.sizes = np.bincount(labels, minlength=classes).astype(float)
        hits = np.stack([np.bincount(labels, row, classes) for row in right])
        self.recalls = hits / np.maximum(self.sizes, 1)
        self.accuracies = hits.sum(1) / self.sizes.sum()
        self.balances = np.where(
            self.sizes > 1, normalised_balance(self.recalls, self.accuracies), 0.0
        )

    def weights(self, met: np.ndarray) -> np.ndarray:
        """Return how much one more right prediction changes the product of own and `met` balances, `(K, C)`."""
        of_accuracy = ((self.balances + 1) * met).sum(1, keepdims=True) / self.sizes.sum()
        return ratio(met / np.maximum(self.sizes, 1) - of_accuracy, self.accuracies[:, None])

    def centred(self, member: int) -> np.ndarray:
        """Return the predictions of a member less its recalls, `(N,)`."""
        return self.right[member] - self.recalls[member][self.labels]

    def influence(self, met: np.ndarray) -> Rows:
        """Return the linear part of the product of own and `met` balances, `(K, N)`; its class means sum to it."""
        scale = self.weights(met) * self.sizes
        return Rows(len(self.right), lambda k: self.centred(k) * scale[k][self.labels])


def _products(first: _Side, second: _Side, clusters: np.ndarray | None) -> np.ndarray:
    """Return `(K0, K1)` sums over classes of products of normalised balances, with factors from different images."""
    same = (
        _same_images(first, second) if clusters is None else _same_clusters(first, second, clusters)
    )
    return first.balances @ second.balances.T - ratio(
        same, np.outer(first.accuracies, second.accuracies)
    )


def _same_images(first: _Side, second: _Side) -> np.ndarray:
    """Return the sums of products of each image with itself, `(K0, K1)`."""
    labels = first.labels
    sizes = first.sizes
    total = sizes.sum()
    known = sizes > 1
    # A balance is recall minus accuracy; this is its variance in units of the variance of one image of each class.
    weights = known / np.maximum(sizes, 1) - 2 * known / total + known.sum() * sizes / total**2
    weights = np.where(known, weights / np.maximum(sizes - 1, 1), 0.0)
    same = np.zeros((len(first.right), len(second.right)))
    for start in range(0, len(labels), IMAGES_AT_ONCE):
        block = slice(start, start + IMAGES_AT_ONCE)
        weighted = first.right[:, block] * weights[labels[block]]
        same += weighted @ second.right[:, block].T.astype(float)
    return same - (first.recalls * weights * sizes) @ second.recalls.T


def _same_clusters(first: _Side, second: _Side, clusters: np.ndarray) -> np.ndarray:
    """Return the sums of products of each cluster with itself, `(K0, K1)`; a cluster may have images of all classes."""
    labels = first.labels
    sizes = first.sizes
    cells, cell_of = np.unique(clusters * np.int64(len(sizes)) + labels, return_inverse=True)
    cluster_of, class_of = np.divmod(cells, len(sizes))
    squares = np.square(np.bincount(cell_of).astype(float))
    # Clusters of unequal sizes count as fewer equal ones, as in `sampling_units`.
    counts = ratio(sizes**2, np.bincount(class_of, squares, len(sizes)))
    scale = np.nan_to_num(np.sqrt(ratio(counts, counts - 1)) / np.maximum(sizes, 1))

    def parts(side: _Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return errors of recalls, `(K, cells)`, their sums over classes and those of accuracies, `(K, clusters)`."""
        members = range(len(side.right))
        errors = np.stack([np.bincount(cell_of, side.centred(k)) for k in members])
        errors *= scale[class_of]
        weights = (sizes / sizes.sum())[class_of]
        summed = np.stack([np.bincount(cluster_of, row) for row in errors])
        whole = np.stack([np.bincount(cluster_of, row * weights) for row in errors])
        return errors, summed, whole

    (own, summed, whole), (other, other_summed, other_whole) = parts(first), parts(second)
    known = (sizes > 1).sum()
    return (
        own @ other.T
        - summed @ other_whole.T
        - whole @ other_summed.T
        + known * (whole @ other_whole.T)
    )
