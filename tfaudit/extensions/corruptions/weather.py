"""Weather: fog, frost, snow, and spatter of water or mud."""

import cv2
import numpy as np
from numpy.random import Generator

from tfaudit.datasets.corruptions.registry import corruption
from tfaudit.extensions.corruptions import draws
from tfaudit.extensions.corruptions.blur import rounded, smoothed, streaked, zoom_matrix
from tfaudit.extensions.corruptions.textures import clouds, frosted

WATER = np.array((175, 238, 238), np.float32)
"""Pale turquoise, RGB."""
MUD = np.array((63, 42, 20), np.float32)
"""Brown, RGB."""


# density, decay of the fractal's roughness
@corruption(
    ((1.5, 2), (2.0, 2), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)),
    ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
)
def fog(image: np.ndarray, rng: Generator, density: float, decay: float) -> np.ndarray:
    """Add clouds, and scale the result so that the brightest pixel keeps its value."""
    height, width = image.shape[:2]
    brightest = int(image.max()) / 255
    sky = clouds(rng, 1 << (max(height, width) - 1).bit_length(), decay)[:height, :width]
    scale = brightest / (brightest + density)
    return rounded(
        image * np.float32(scale) + _like(image, sky * np.float32(255 * density * scale))
    )


# weights of the image and of the frost, scale of the texture
@corruption(
    ((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
    ((1, 0.2, 0.2), (1, 0.3, 0.2), (0.9, 0.4, 0.2), (0.85, 0.4, 0.2), (0.75, 0.45, 0.2)),
    textures=frosted,
)
def frost(
    image: np.ndarray,
    rng: Generator,
    image_weight: float,
    frost_weight: float,
    scale: float,
    *,
    textures: tuple[np.ndarray, ...],
) -> np.ndarray:
    """Add a random piece of a frosted pane to the image, each with its weight."""
    height, width = image.shape[:2]
    texture = textures[rng.integers(len(textures))]
    scale = max(scale, (height + 1) / texture.shape[0], (width + 1) / texture.shape[1])
    texture = texture if scale == 1 else cv2.resize(texture, None, fx=scale, fy=scale)
    top, left = (
        rng.integers(have - want + 1)
        for have, want in zip(texture.shape, (height, width), strict=False)
    )
    piece = texture[top : top + height, left : left + width]
    return cv2.addWeighted(
        image, image_weight, _luma(piece) if image.ndim == 2 else piece, frost_weight, 0
    )


# mean and deviation of the noise, zoom, threshold, radius and sigma of the streaks, weight of the image
@corruption(
    (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
    (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ),
)
def snow(
    image: np.ndarray,
    rng: Generator,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: int,
    sigma: float,
    image_weight: float,
) -> np.ndarray:
    """Whiten the image, and add slanting flakes and the same flakes turned by 180 degrees."""
    height, width = image.shape[:2]
    flakes = draws.normals(rng, (height, width), mean, deviation)
    if zoom != 1:
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        flakes = cv2.warpAffine(
            flakes, zoom_matrix(height, width, zoom), (width, height), flags=flags
        )
    flakes[flakes < threshold] = 0
    flakes = streaked(flakes.clip(0, 1) * 255, radius, sigma, rng.uniform(-135, -45))
    pixels = image.astype(np.float32)
    white = _luma(pixels) * np.float32(1.5) + np.float32(127.5)
    lit = np.maximum(pixels, _like(image, white))
    whitened = cv2.addWeighted(pixels, image_weight, lit, 1 - image_weight, 0)
    return rounded(whitened + _like(image, flakes + flakes[::-1, ::-1]))


# mean, deviation and sigma of the noise, threshold, strength of water or sigma of mud, 1 for mud
@corruption(
    (
        (0.65, 0.3, 4, 0.69, 0.6, 0),
        (0.65, 0.3, 3, 0.68, 0.6, 0),
        (0.65, 0.3, 2, 0.68, 0.5, 0),
        (0.65, 0.3, 1, 0.65, 1.5, 1),
        (0.67, 0.4, 1, 0.65, 1.5, 1),
    ),
    (
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    ),
)
def spatter(
    image: np.ndarray,
    rng: Generator,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    strength: float,
    mud: int,
) -> np.ndarray:
    """Add drops of water with a bright rim, or cover with blobs of mud, where smoothed noise exceeds a threshold.

    The noise has `mean` and `deviation` and is smoothed by `sigma` pixels. `strength` is the water's share of light, or
    the sigma of the mud's rim; `mud` is 1 for mud, 0 for water.
    """
    liquid = smoothed(draws.normals(rng, image.shape[:2], mean, deviation), sigma)
    if mud:
        share = smoothed((liquid > threshold).astype(np.float32), strength)
        share[share < 0.8] = 0
        return _blended(image, MUD, share, 1 - share)
    liquid[liquid < threshold] = 0
    drops = _with_rim(np.minimum(liquid * 255, 255).astype(np.uint8))
    if not drops.any():
        return image
    return _blended(image, WATER, drops * np.float32(strength / drops.max()), np.ones_like(drops))


def _with_rim(liquid: np.ndarray) -> np.ndarray:
    """Brighten the liquid by its rim and by light from one side, float32."""
    rim = cv2.distanceTransform(255 - cv2.Canny(liquid, 50, 150), cv2.DIST_L2, 5)
    rim = cv2.equalizeHist(cv2.blur(np.minimum(rim, 20), (3, 3)).astype(np.uint8))
    lit = cv2.filter2D(rim, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    return cv2.blur(lit, (3, 3)).astype(np.float32) * liquid


def _blended(
    image: np.ndarray, colour: np.ndarray, share: np.ndarray, image_share: np.ndarray
) -> np.ndarray:
    if image.ndim == 2:
        return rounded(image * image_share + share * _luma(colour[np.newaxis, np.newaxis]))
    return rounded(image * image_share[..., np.newaxis] + share[..., np.newaxis] * colour)


def _luma(image: np.ndarray) -> np.ndarray:
    """Return the luma of a colour image, `(H, W)` of its dtype; a grey image as it is."""
    return image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)


def _like(image: np.ndarray, layer: np.ndarray) -> np.ndarray:
    """Return a layer `(H, W)` with as many dimensions as the image."""
    return layer if image.ndim == 2 else layer[..., np.newaxis]
