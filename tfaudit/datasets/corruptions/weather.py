"""Weather: fog, frost and snow."""

import cv2
import numpy as np

from tfaudit.datasets.corruptions import draws
from tfaudit.datasets.corruptions.blur import rounded, streaked, zooming
from tfaudit.datasets.corruptions.fractal import clouds

__all__ = ["fog", "frost", "grey_of", "snow"]


def fog(image: np.ndarray, rng: np.random.Generator, density: float, decay: float) -> np.ndarray:
    """Clouds added, and the brightest pixel brought back to what it was."""
    height, width = image.shape[:2]
    brightest = int(image.max()) / 255
    sky = clouds(rng, 1 << (max(height, width) - 1).bit_length(), decay)[:height, :width]
    kept = brightest / (brightest + density)
    return rounded(image * np.float32(kept) + _deep(sky * np.float32(255 * density * kept), image))


def frost(
    image: np.ndarray,
    rng: np.random.Generator,
    image_weight: float,
    frost_weight: float,
    scale: float,
    *,
    textures: tuple[np.ndarray, ...],
) -> np.ndarray:
    """A piece of a frosted pane laid over the image, all of it weighted."""
    height, width = image.shape[:2]
    texture = textures[rng.integers(len(textures))]
    scale = max(scale, (height + 1) / texture.shape[0], (width + 1) / texture.shape[1])
    texture = texture if scale == 1 else cv2.resize(texture, None, fx=scale, fy=scale)
    top, left = (rng.integers(have - want + 1) for have, want in zip(texture.shape, (height, width), strict=False))
    piece = texture[top : top + height, left : left + width]
    return cv2.addWeighted(image, image_weight, grey_of(piece) if image.ndim == 2 else piece, frost_weight, 0)


def snow(
    image: np.ndarray,
    rng: np.random.Generator,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: int,
    sigma: float,
    image_weight: float,
) -> np.ndarray:
    """A whitened image under flakes that fall aslant, and under the same flakes turned by 180 degrees."""
    height, width = image.shape[:2]
    flakes = draws.normals(rng, (height, width), mean, deviation)
    if zoom != 1:
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        flakes = cv2.warpAffine(flakes, zooming(height, width, zoom), (width, height), flags=flags)
    flakes[flakes < threshold] = 0
    flakes = streaked(flakes.clip(0, 1) * 255, radius, sigma, rng.uniform(-135, -45))
    pixels = image.astype(np.float32)
    white = grey_of(pixels) * np.float32(1.5) + np.float32(127.5)
    lit = np.maximum(pixels, _deep(white, image))
    whitened = cv2.addWeighted(pixels, image_weight, lit, 1 - image_weight, 0)
    return rounded(whitened + _deep(flakes + flakes[::-1, ::-1], image))


def grey_of(image: np.ndarray) -> np.ndarray:
    """Luma of a colour image, `(H, W)` of its type; a grey one as it is."""
    return image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)


def _deep(layer: np.ndarray, image: np.ndarray) -> np.ndarray:
    return layer if image.ndim == 2 else layer[..., np.newaxis]
