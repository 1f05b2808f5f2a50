"""Clouds: a height map by the diamond-square algorithm."""

import numpy as np

__all__ = ["clouds"]


def clouds(rng: np.random.Generator, size: int, decay: float) -> np.ndarray:
    """A periodic fractal between 0 and 1.

    Args:
        rng: Where the heights come from.
        size: Of an edge, a power of two, in pixels.
        decay: How much smaller the roughness is at half the distance; the smaller, the rougher.

    Returns:
        float32 `(size, size)`.

    Example:
        >>> sky = clouds(np.random.default_rng(0), 32, 2)
        >>> sky.shape, float(sky.min()), float(sky.max())
        ((32, 32), 0.0, 1.0)
    """
    heights = np.zeros((1, 1), np.float32)
    roughness = 100.0

    def rough(sums: np.ndarray) -> np.ndarray:
        # The mean of four neighbours, plus a step whose size is the square of the roughness, as in the reference.
        return sums * np.float32(0.25) + (rng.random(sums.shape, np.float32) * 2 - 1) * np.float32(roughness**2)

    while len(heights) < size:
        right, below = np.roll(heights, -1, 1), np.roll(heights, -1, 0)
        middles = rough(heights + right + below + np.roll(right, -1, 0))
        finer = np.empty((2 * len(heights),) * 2, np.float32)
        finer[::2, ::2] = heights
        finer[1::2, 1::2] = middles
        finer[::2, 1::2] = rough(middles + np.roll(middles, 1, 0) + heights + right)
        finer[1::2, ::2] = rough(middles + np.roll(middles, 1, 1) + heights + below)
        heights = finer
        roughness /= decay
    heights -= heights.min()
    return heights / heights.max()
