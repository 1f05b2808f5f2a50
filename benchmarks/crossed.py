"""What moves an outcome that chance moves: the variance of a crossed design by source [Se]."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfaudit.errors import require

__all__ = ["variance_sources"]

IMAGES = "images"


def variance_sources(
    outcomes: Sequence[np.ndarray], factors: Sequence[str], *, folds: int = 10
) -> pd.DataFrame:
    """Split the variance of a mean over images by what is drawn anew.

    Every level of a factor is combined with every level of all others. The total is that of two studies that share
    nothing: half the mean squared difference of two cells without a common level, which is on the same images, plus the
    mean covariance over images of two such cells, divided by the number of images.

    - The part *alone*: what the total loses if only this is shared. The parts do not add up to the total, because
      factors also act together: the same initial weights end elsewhere with another order of the data.
    - The part *again*: the variance if only this is drawn anew, and all else is shared.

    Both are unbiased, so small parts may be negative.

    Args:
        outcomes: per class, `(L1, ..., Lk, N)` numbers of each cell and image; variances are means over classes. N may
            differ between classes.
        factors: the k names of the axes, none of them "images".
        folds: parts of the images that are left out in turn for the standard error.

    Returns:
        A row per factor and one for "images", with the shares of the total `alone` and `again`, their standard errors
        `alone_error` and `again_error`, by leaving out each level of each factor, and each fold of the images, in turn,
        and `again_variance`, in the squared unit of the outcomes.

    Raises:
        InputError: a factor has fewer than three levels, a fold fewer than two images, or axes and names do not match.

    Example:
        >>> start, order = np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0])
        >>> outcomes = np.broadcast_to((start[:, None] + order)[..., None], (3, 3, 20))
        >>> variance_sources([outcomes], ["start", "order"])[["alone", "again"]].round(2).to_numpy().tolist()
        [[0.8, 0.8], [0.2, 0.2], [0.0, 0.0]]
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
    shares, total = _shares(outcomes)
    left_out = [
        [[np.delete(each, level, axis) for each in outcomes] for level in range(levels)]
        for axis, levels in enumerate(outcomes[0].shape[:-1])
    ]
    fold = [np.arange(each.shape[-1]) % folds for each in outcomes]
    left_out.append(
        [
            [each[..., f != one] for each, f in zip(outcomes, fold, strict=True)]
            for one in range(folds)
        ]
    )
    errors = np.sqrt(sum(_jackknife([_shares(each)[0] for each in some]) for some in left_out))
    columns = {"alone": shares[0], "alone_error": errors[0], "again": shares[1]}
    columns |= {"again_error": errors[1], "again_variance": total * shares[1]}
    return pd.DataFrame(columns, index=pd.Index([*factors, IMAGES], name="source"))


def _shares(outcomes: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
    """Return the shares alone and again `(2, k + 1)` of the total variance, and the total; means over classes."""
    shape = outcomes[0].shape[:-1]
    levels = np.indices(shape).reshape(len(shape), -1)
    same = levels[:, :, None] == levels[:, None]  # factor, cell, cell
    none, shared = ~same.any(0), same.sum(0)
    distance, covariance = np.zeros(none.shape), np.zeros(none.shape)
    for each in outcomes:
        cells = each.reshape(len(none), -1)
        means, images = cells.mean(1), cells.shape[1]
        distance += (means[:, None] - means) ** 2 / 2 / len(outcomes)
        spread = cells - means[:, None]
        covariance += spread @ spread.T / (images - 1) / images / len(outcomes)
    models, sampled = distance[none].mean(), covariance[none].mean()
    alone = [models - distance[one & (shared == 1)].mean() for one in same]
    again = [distance[~one & (shared == len(shape) - 1)].mean() for one in same]
    parts = np.array([[*alone, sampled], [*again, np.diag(covariance).mean()]])
    return parts / (models + sampled), float(models + sampled)


def _jackknife(shares: Sequence[np.ndarray]) -> np.ndarray:
    """Return the jackknife variance of shares, one level left out each."""
    return (len(shares) - 1) * np.var(shares, axis=0)
