"""The probability that a gate of single models fails by chance, exactly: over all tables of lost and won images."""

from unittest import mock

import numpy as np
from scipy import stats

from tfaudit.stats import contingency

_LEFT_OUT = 1e-13


def tails(
    images: int, loss: float, won: float, confidence: float, limit: float | None = None
) -> tuple[float, float]:
    """Return the probabilities that the interval lies above and below a limit, by default the true loss.

    Args:
        images: number of images of the class.
        loss: true loss, a share.
        won: true share of images that are won; `loss` more are lost.
        confidence: level of the interval.
        limit: the limit, a share.
    """
    limit = loss if limit is None else limit
    most = (int(stats.binom.isf(_LEFT_OUT, images, share)) + 2 for share in (loss + won, won))
    lost, gained = np.mgrid[tuple(slice(min(end, images) + 1) for end in most)].reshape(2, -1)
    lost, gained = (side[lost + gained <= images] for side in (lost, gained))
    tables = np.stack([lost, gained, images - lost - gained], 1)
    probability = stats.multinomial.pmf(tables, images, [loss + won, won, 1 - loss - 2 * won])
    low, high = contingency.paired_interval(
        lost, gained, np.full(lost.shape, images), confidence=confidence
    )
    return float(probability[-high > limit].sum()), float(probability[-low < limit].sum())


def fails(
    classes: int,
    images: int,
    loss: float,
    won: float,
    *,
    limit: float | None = None,
    score_alone: bool = False,
) -> float:
    """Return the probability that a class fails among many, at alpha = .05.

    Args:
        classes: number of classes.
        images: as in `tails`, like `loss`, `won` and `limit`.
        score_alone: whether Tango's interval is taken at every level.
    """
    far = 0.0 if score_alone else contingency.FAR
    with mock.patch.object(contingency, "FAR", far):
        return tails(images, loss, won, 1 - 0.05 / classes, limit)[0]


def any_fails(classes: int, images: int, loss: float, won: float, **how: bool) -> float:
    """Return the probability that any of many classes fails that all lose exactly the limit, at alpha = .05."""
    return 1 - (1 - fails(classes, images, loss, won, **how)) ** classes
