"""Spatter: drops of water, or mud."""

import cv2
import numpy as np

from tfaudit.datasets.corruptions import draws
from tfaudit.datasets.corruptions.blur import rounded, smoothed
from tfaudit.datasets.corruptions.weather import grey_of

__all__ = ["spatter"]

WATER = np.array((175, 238, 238), np.float32)
"""Pale turquoise, RGB."""
MUD = np.array((63, 42, 20), np.float32)
"""Brown, RGB."""


def spatter(
    image: np.ndarray,
    rng: np.random.Generator,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    strength: float,
    mud: int,
) -> np.ndarray:
    """Blobs of a smoothed noise above a threshold; water is added with a rim of light, mud covers.

    Args:
        image: uint8 `(H, W)` or `(H, W, 3)`.
        rng: Where the noise comes from.
        mean: Of the noise.
        deviation: Of the noise.
        sigma: Of its smoothing.
        threshold: Above it is liquid.
        strength: Of water its share of the light; of mud the sigma of its rim.
        mud: 1 for mud, 0 for water.
    """
    liquid = smoothed(draws.normals(rng, image.shape[:2], mean, deviation), sigma)
    if mud:
        share = smoothed((liquid > threshold).astype(np.float32), strength)
        share[share < 0.8] = 0
        return _laid(image, MUD, share, 1 - share)
    liquid[liquid < threshold] = 0
    drops = _with_rim(np.minimum(liquid * 255, 255).astype(np.uint8))
    brightest = drops.max()
    if brightest == 0:
        return image
    return _laid(image, WATER, drops * np.float32(strength / brightest), np.ones_like(drops))


def _with_rim(liquid: np.ndarray) -> np.ndarray:
    """The liquid, brighter by its rim and by light from one side, float32."""
    rim = cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5)
    rim = cv2.equalizeHist(cv2.blur(np.minimum(rim, 20), (3, 3)).astype(np.uint8))
    lit = cv2.filter2D(rim, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    return cv2.blur(lit, (3, 3)).astype(np.float32) * liquid


def _laid(image: np.ndarray, colour: np.ndarray, share: np.ndarray, kept: np.ndarray) -> np.ndarray:
    if image.ndim == 2:
        return rounded(image * kept + share * grey_of(colour[np.newaxis, np.newaxis]))
    return rounded(image * kept[..., np.newaxis] + share[..., np.newaxis] * colour)
