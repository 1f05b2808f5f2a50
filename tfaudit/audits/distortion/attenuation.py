"""Slopes of recall balances without the attenuation that finite test images cause."""

import numpy as np

from tfaudit.stats.ratios import normalised_balance, ratio


def corrected_slopes(
    before: np.ndarray, after: np.ndarray, labels: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute slopes of normalised recall balances, after on before, that finite test images do not attenuate.

    A recall is measured on a finite number of images. Its error adds to the sum of squares below the slope `alpha` of
    [R] 5 and only partly to the products above, which pulls the slope below 1 where nothing changes. Here the images
    that meet themselves in a product are taken off: this is the slope instrumented by the other half of the test
    images, averaged over all ways to halve them. Sums over the members are divided, not slopes averaged, because a
    member's own sum may be within the errors of measurement.

    Args:
        before: `(K, N)` booleans, correct predictions of the models before compression.
        after: `(K, N)` booleans, those after it.
        labels: `(N,)` integers, true classes from 0 to C - 1.
        classes: C. Classes with fewer than two images do not count.

    Returns:
        `(K,)` values of the members, whose mean is the slope and whose spread is its error; and the same of the slopes
        of all other models before on each, NaN for a single member. All are NaN where the balances before cannot be
        told from 0.

    Example:
        >>> right = np.array([[True] * 9 + [False] + [True] * 6 + [False] * 4])
        >>> corrected_slopes(right, right, np.repeat([0, 1], 10), 2)
        (array([1.]), array([nan]))
    """
    between = _products(before, before, labels, classes)
    squares = np.diag(between)
    members = len(before)
    others = ratio(between.sum(1) - squares, members - 1)
    own = np.diag(_products(before, after, labels, classes))
    return _values(own, squares), _values(others, squares)


def _products(
    first: np.ndarray, second: np.ndarray, labels: np.ndarray, classes: int
) -> np.ndarray:
    """Return `(K0, K1)` sums over classes of products of normalised balances, each factor from other images."""
    sizes = np.bincount(labels, minlength=classes).astype(float)
    total = sizes.sum()
    known = sizes > 1
    # A balance is recall less accuracy; this is its variance in units of the variance of one image of each class.
    weights = known / np.maximum(sizes, 1) - 2 * known / total + known.sum() * sizes / total**2
    weights = np.where(known, weights / np.maximum(sizes - 1, 1), 0.0)
    hits = [
        np.stack([np.bincount(labels, row, classes) for row in right]) for right in (first, second)
    ]
    recalls = [side / np.maximum(sizes, 1) for side in hits]
    accuracies = [side.sum(1) / total for side in hits]
    balances = [
        normalised_balance(*side)[:, known] for side in zip(recalls, accuracies, strict=True)
    ]
    same = (first * weights[labels]) @ second.T.astype(float) - (
        recalls[0] * weights * sizes
    ) @ recalls[1].T
    return balances[0] @ balances[1].T - ratio(same, np.outer(*accuracies))


def _values(products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the ratio of the means, and each member's deviation from it by linearisation."""
    mean = squares.mean()
    if not mean > 1e-12:  # balances are ratios of counts: below this is rounding
        return np.full(len(squares), np.nan)
    slope = products.mean() / mean
    return slope + (products - slope * squares) / mean
