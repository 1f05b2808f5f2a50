"""Frosted glass: neighbouring pixels take each other's place between two blurs."""

import numpy as np

from tfaudit.datasets.corruptions import draws
from tfaudit.datasets.corruptions.blur import rounded, smoothed

__all__ = ["followed", "glass_blur"]


def glass_blur(image: np.ndarray, rng: np.random.Generator, sigma: float, reach: int, rounds: int) -> np.ndarray:
    """Blurred, each pixel replaced by one at most `reach` away, some rounds of it, and blurred again."""
    height, width = image.shape[:2]
    # The reference cuts the fraction off; the little more is for constant images, whose sum may end just below.
    soft = (smoothed(image, sigma) + np.float32(1e-3)).astype(np.uint8)
    origin = np.arange(height * width)
    for _ in range(rounds):
        origin = origin[_shuffled(height, width, reach, rng)]
    moved = soft.reshape(height * width, -1).take(origin, axis=0).reshape(image.shape)
    return rounded(smoothed(moved, sigma))


def _shuffled(height: int, width: int, reach: int, rng: np.random.Generator) -> np.ndarray:
    rows, columns = (np.arange(reach + 1, size - reach + 1) for size in (height, width))
    shape = (2, len(rows), len(columns))
    # 2 * reach steps from -reach to reach - 1.
    down, right = (draws.bits(rng, shape) * np.int64(2 * reach) >> 16) - reach
    places = rows[:, np.newaxis] * width + columns
    return followed(height * width, places.ravel(), (places + down * width + right).ravel())


def followed(size: int, places: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Where each pixel comes from when, from the last place to the first, each takes what its source then holds.

    The reference means to swap two pixels, but its colour pixels are views, so that it copies. A source that came
    before (it lies behind) holds what it took itself: its chain is followed to the end by doubling the steps.

    Args:
        size: Number of pixels.
        places: int `(M,)`, ascending.
        sources: int `(M,)`.

    Returns:
        int `(size,)`.

    Example:
        >>> followed(4, np.array([0, 1, 2]), np.array([1, 2, 3]))
        array([3, 3, 3, 3])
    """
    origin = np.arange(size)
    origin[places] = sources
    waits = np.zeros(size, bool)
    waits[places] = True
    waits[places] = waits[sources] & (sources > places)
    open_ends = np.flatnonzero(waits)
    while open_ends.size:
        through = origin[open_ends]
        still = waits[through]
        origin[open_ends] = origin[through]
        waits[open_ends] = still
        open_ends = open_ends[still]
    return origin
