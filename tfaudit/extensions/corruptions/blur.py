"""Blurs: Gaussian, defocus, frosted glass, motion and zoom, in float32 and rounded once."""

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator

from tfaudit.datasets.corruptions.registry import corruption, single
from tfaudit.extensions.corruptions import draws

NEGLIGIBLE = 1e-4
"""Taps with a smaller weight change no pixel."""


def rounded(pixels: np.ndarray) -> np.ndarray:
    """Round non-negative pixels to the nearest uint8; values above 255 become 255."""
    return cv2.convertScaleAbs(pixels)


def smoothed(image: np.ndarray, sigma: float) -> np.ndarray:
    """Smooth an image as `skimage.filters.gaussian` does with repeated edges, float32."""
    radius = int(4 * sigma + 0.5)
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2) if radius else np.ones(1)
    taps = (taps / taps.sum()).astype(np.float32)
    return cv2.sepFilter2D(image, cv2.CV_32F, taps, taps, borderType=cv2.BORDER_REPLICATE)


# sigma
@corruption(single(1, 2, 3, 4, 6), single(0.4, 0.6, 0.7, 0.8, 1))
def gaussian_blur(image: np.ndarray, rng: Generator, sigma: float) -> np.ndarray:
    """Blur with a Gaussian."""
    return rounded(smoothed(image, sigma))


# radius, sigma of the antialiasing
@corruption(
    ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
)
def defocus_blur(
    image: np.ndarray, rng: Generator, radius: float, alias_sigma: float
) -> np.ndarray:
    """Blur with a disk that has a softened rim."""
    return rounded(cv2.filter2D(image.astype(np.float32), -1, _disk(radius, alias_sigma)))


@lru_cache
def _disk(radius: float, alias_sigma: float) -> np.ndarray:
    small = radius <= 8
    reach = np.arange(-8, 9) if small else np.arange(-radius, radius + 1)
    disk = (reach[:, np.newaxis] ** 2 + reach**2 <= radius**2).astype(np.float32)
    edge = 3 if small else 5
    disk = cv2.GaussianBlur(disk / disk.sum(), (edge, edge), sigmaX=alias_sigma)
    margin = int(np.flatnonzero(disk.any(0))[0])
    return disk[margin : len(disk) - margin, margin : len(disk) - margin]


# sigma, largest displacement, rounds
@corruption(
    ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
    ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
)
def glass_blur(
    image: np.ndarray, rng: Generator, sigma: float, reach: int, rounds: int
) -> np.ndarray:
    """Blur, replace every pixel by one at most `reach` away, in several rounds, and blur again."""
    height, width = image.shape[:2]
    # The reference truncates; the small addend is for constant images, whose sum may end just below the value.
    soft = (smoothed(image, sigma) + np.float32(1e-3)).astype(np.uint8)
    origin = np.arange(height * width)
    for _ in range(rounds):
        origin = origin[_shuffled(height, width, reach, rng)]
    moved = soft.reshape(height * width, -1).take(origin, axis=0).reshape(image.shape)
    return rounded(smoothed(moved, sigma))


def _shuffled(height: int, width: int, reach: int, rng: Generator) -> np.ndarray:
    rows, columns = (np.arange(reach + 1, size - reach + 1) for size in (height, width))
    shape = (2, len(rows), len(columns))
    # 2 * reach steps from -reach to reach - 1.
    down, right = (draws.bits(rng, shape) * np.int64(2 * reach) >> 16) - reach
    places = rows[:, np.newaxis] * width + columns
    return chained_sources(height * width, places.ravel(), (places + down * width + right).ravel())


def chained_sources(size: int, places: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return the pixel that each place holds, int `(size,)`, after copies from the last place to the first.

    The reference means to swap two pixels, but its colour pixels are views, so it copies. A source with a greater
    index was overwritten before it is copied: its chain of copies is followed to the end by doubling the steps.

    Args:
        size: number of pixels.
        places: places that copy a pixel, int `(M,)`, ascending.
        sources: pixel that each place copies, int `(M,)`.

    Example:
        >>> chained_sources(4, np.array([0, 1, 2]), np.array([1, 2, 3]))
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


# radius, sigma
@corruption(
    ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)), ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
)
def motion_blur(image: np.ndarray, rng: Generator, radius: int, sigma: float) -> np.ndarray:
    """Blur along a random line at most 45 degrees from the horizontal, fading to one side."""
    return rounded(streaked(image.astype(np.float32), radius, sigma, rng.uniform(-45, 45)))


def streaked(image: np.ndarray, radius: int, sigma: float, degrees: float) -> np.ndarray:
    """Blur as ImageMagick's motion blur does, float32: half a Gaussian of `2 * radius + 1` taps, repeated edges."""
    steps = np.arange(2 * radius + 1)
    taps = np.exp(-(steps**2) / (2 * sigma**2))
    taps /= taps.sum()
    taps = taps[taps > NEGLIGIBLE]
    angle = np.deg2rad(degrees)
    steps = steps[: len(taps)]
    rows, columns = (np.ceil(steps * part(angle) - 0.5).astype(int) for part in (np.sin, np.cos))
    top = rows.min()
    left = columns.min()
    kernel = np.zeros((rows.max() - top + 1, columns.max() - left + 1), np.float32)
    np.add.at(kernel, (rows - top, columns - left), taps / taps.sum())
    return cv2.filter2D(
        image, cv2.CV_32F, kernel, anchor=(int(-left), int(-top)), borderType=cv2.BORDER_REPLICATE
    )


# zoom factors: upper bound, excluded, and step
@corruption(
    ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01)),
)
def zoom_blur(image: np.ndarray, rng: Generator, bound: float, step: float) -> np.ndarray:
    """Average the image and its copies zoomed in by the factors from 1 to below `bound`."""
    factors = np.arange(1, bound, step)
    pixels = image.astype(np.float32)
    total = pixels.copy()
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    for factor in factors:
        matrix = zoom_matrix(*image.shape[:2], float(factor))
        zoomed = cv2.warpAffine(
            pixels, matrix, image.shape[1::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE
        )
        cv2.accumulate(zoomed, total)
    return rounded(total / np.float32(len(factors) + 1))


@lru_cache(maxsize=256)
def zoom_matrix(height: int, width: int, factor: float) -> np.ndarray:
    """Return the affine map from a pixel of the zoomed and cropped image to its place in the image, float64 `(2, 3)`.

    The central `ceil(size / factor)` pixels are stretched from corner to corner over `round(central * factor)`.
    """
    (x_scale, x_start), (y_scale, y_start) = (_stretch(size, factor) for size in (width, height))
    return np.array([[x_scale, 0, x_start], [0, y_scale, y_start]])


def _stretch(size: int, factor: float) -> tuple[float, float]:
    central = int(np.ceil(size / factor))
    stretched = round(central * factor)
    scale = (central - 1) / (stretched - 1)
    return scale, (size - central) // 2 + (stretched - size) // 2 * scale
