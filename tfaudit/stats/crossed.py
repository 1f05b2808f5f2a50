"""Which source of chance moves an outcome: the split of the variance of a crossed design [Se]."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfaudit.errors import require

IMAGES, TOGETHER = "images", "together"


def variance_sources(
    outcomes: Sequence[np.ndarray], factors: Sequence[str], *, folds: int = 10
) -> pd.DataFrame:
    """Split the variance of a mean over images into what each factor, and the images, contribute alone.

    Every level of a factor is combined with every level of all others. Half the mean squared difference of two cells
    that share no level is the variance over all factors, on the same images. What two cells lack that share one level
    is the part of that factor alone. The part of the images is the mean covariance over images of two cells that share
    no level, divided by their number. All parts are unbiased, so small ones may be negative.

    Args:
        outcomes: per class, `(L1, ..., Lk, N)` numbers of each cell and image; variances are means over classes. N may
            differ between classes.
        factors: the k names of the axes, none of them "images" or "together".
        folds: parts of the images that are left out in turn for the standard error.

    Returns:
        A row per factor, for "images", and for "together", the remainder that only several factors explain. Columns:
        `variance`, the square of the outcomes' unit; `share` of their sum; `error`, the standard error of the share by
        leaving out each level of each factor, and each fold of the images, in turn.

    Raises:
        InputError: a factor has fewer than three levels, a fold fewer than two images, or axes and names do not match.

    Example:
        >>> start, order = np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0])
        >>> outcomes = np.broadcast_to((start[:, None] + order)[..., None], (3, 3, 20))
        >>> variance_sources([outcomes], ["start", "order"])["share"].round(2).to_dict()
        {'start': 0.8, 'order': 0.2, 'images': 0.0, 'together': 0.0}
    """
    outcomes = [np.asarray(each, float) for each in outcomes]
    for each in outcomes:
        require(
            each.ndim == len(factors) + 1
            and min(each.shape[:-1]) > 2
            and each.shape[-1] >= 2 * folds,
            "outcomes",
            each.shape,
            f"three levels or more of each of {', '.join(factors)}, and {2 * folds} images or more",
        )
    variances = _variances(outcomes)
    left_out = [
        [_variances([np.delete(each, level, axis) for each in outcomes]) for level in range(levels)]
        for axis, levels in enumerate(outcomes[0].shape[:-1])
    ]
    fold = [np.arange(each.shape[-1]) % folds for each in outcomes]
    left_out.append(
        [
            _variances([each[..., f != one] for each, f in zip(outcomes, fold, strict=True)])
            for one in range(folds)
        ]
    )
    return pd.DataFrame(
        {
            "variance": variances,
            "share": variances / variances.sum(),
            "error": np.sqrt(sum(_jackknife(np.array(each)) for each in left_out)),
        },
        index=pd.Index([*factors, IMAGES, TOGETHER], name="source"),
    )


def _variances(outcomes: Sequence[np.ndarray]) -> np.ndarray:
    """Return the variances of the factors, the images, and several factors together; means over classes."""
    shape = outcomes[0].shape[:-1]
    levels = np.indices(shape).reshape(len(shape), -1)
    same = levels[:, :, None] == levels[:, None]  # factor, cell, cell
    none = ~same.any(0)
    distance, covariance = np.zeros(none.shape), 0.0
    for each in outcomes:
        cells = each.reshape(none.shape[0], -1)
        means, images = cells.mean(1), cells.shape[1]
        distance += (means[:, None] - means) ** 2 / 2 / len(outcomes)
        spread = cells - means[:, None]
        products = spread @ spread.T
        covariance += products[none].mean() / (images - 1) / images / len(outcomes)
    total = distance[none].mean()
    alone = [total - distance[same[f] & (same.sum(0) == 1)].mean() for f in range(len(shape))]
    return np.array([*alone, covariance, total - sum(alone)])


def _jackknife(variances: np.ndarray) -> np.ndarray:
    """Return the jackknife variance of the shares, of variances `(L, parts)` with one level left out each."""
    shares = variances / variances.sum(1, keepdims=True)
    return (len(shares) - 1) * shares.var(0)
