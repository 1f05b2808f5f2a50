"""Noise: each value of each pixel is replaced by a random entry of a table of the distribution's quantiles."""

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from scipy.special import pdtr

from tfaudit.datasets.corruptions.registry import corruption, single
from tfaudit.extensions.corruptions import draws

QUANTILES = draws.TABLE_SIZE >> 2
"""Quantiles of shot noise for each of the 256 values: a table of 4 MB fits in a processor's cache."""


# standard deviation, as a share of the pixel range
@corruption(single(0.08, 0.12, 0.18, 0.26, 0.38), single(0.04, 0.06, 0.08, 0.09, 0.10))
def gaussian_noise(image: np.ndarray, rng: Generator, sigma: float) -> np.ndarray:
    """Add a normal draw of standard deviation `255 * sigma` to every value."""
    return _added(image, rng, _normal_steps(sigma))


# share of the values
@corruption(single(0.03, 0.06, 0.09, 0.17, 0.27), single(0.01, 0.02, 0.03, 0.05, 0.07))
def impulse_noise(image: np.ndarray, rng: Generator, share: float) -> np.ndarray:
    """Set a share of the values to 0 or 255, half of it each."""
    return _added(image, rng, _impulses(share))


# Standard deviation, as a share of the pixel's value
@corruption(single(0.15, 0.2, 0.35, 0.45, 0.6), single(0.06, 0.1, 0.12, 0.16, 0.2))
def speckle_noise(image: np.ndarray, rng: Generator, sigma: float) -> np.ndarray:
    """Multiply every value by `1 + sigma * z`, z standard normal."""
    return cv2.multiply(image, draws.normals(rng, image.shape, 1, sigma), dtype=cv2.CV_8U)


# photons at full brightness
@corruption(single(60, 25, 12, 5, 3), single(500, 250, 100, 75, 50))
def shot_noise(image: np.ndarray, rng: Generator, photons: float) -> np.ndarray:
    """Replace every value by a Poisson count with a mean of `photons` at full brightness."""
    place = image.astype(np.uint32) * QUANTILES + (draws.bits(rng, image.shape) >> 2)
    return _counts(photons).take(place)


def _added(image: np.ndarray, rng: Generator, steps: np.ndarray) -> np.ndarray:
    return cv2.add(image, steps.take(draws.bits(rng, image.shape)), dtype=cv2.CV_8U)


@lru_cache
def _normal_steps(sigma: float) -> np.ndarray:
    # Pixels are integers, so the addend can be rounded instead of the sum.
    return np.rint(draws.quantiles() * (255 * sigma)).astype(np.int16)


@lru_cache
def _impulses(share: float) -> np.ndarray:
    steps = np.zeros(draws.TABLE_SIZE, np.int16)
    half = round(share / 2 * draws.TABLE_SIZE)
    steps[:half] = -255
    steps[draws.TABLE_SIZE - half :] = 255
    return steps


@lru_cache(maxsize=5)
def _counts(photons: float) -> np.ndarray:
    """Return the quantiles of the noisy value for each of the 256 values, uint8, flat."""
    counts = np.arange(photons + 8 * np.sqrt(photons) + 8)  # the probability of more is negligible
    pixels = np.rint(np.minimum(counts / photons, 1) * 255).astype(np.uint8)
    shares = pdtr(counts, np.arange(256)[:, np.newaxis] / 255 * photons)
    ends = np.rint(shares * QUANTILES).astype(int)
    ends[:, -1] = QUANTILES
    return np.concatenate([np.repeat(pixels, np.diff(row, prepend=0)) for row in ends])
