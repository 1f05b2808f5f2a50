"""Blur by lens, motion and zoom; each a linear filter in float32, rounded once."""

from functools import lru_cache

import cv2
import numpy as np

__all__ = ["defocus_blur", "gaussian_blur", "motion_blur", "rounded", "smoothed", "streaked", "zoom_blur", "zooming"]

NEGLIGIBLE = 1e-4
"""Taps of a smaller weight change no pixel."""


def rounded(pixels: np.ndarray) -> np.ndarray:
    """The nearest uint8 of pixels >= 0; what is above becomes 255."""
    return cv2.convertScaleAbs(pixels)


def smoothed(image: np.ndarray, sigma: float, *, truncate: float = 4) -> np.ndarray:
    """The image under a Gaussian as `skimage.filters.gaussian` has it, the edge repeated, float32."""
    radius = int(truncate * sigma + 0.5)
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2) if radius else np.ones(1)
    taps = (taps / taps.sum()).astype(np.float32)
    return cv2.sepFilter2D(image, cv2.CV_32F, taps, taps, borderType=cv2.BORDER_REPLICATE)


def gaussian_blur(image: np.ndarray, rng: np.random.Generator, sigma: float) -> np.ndarray:
    """A Gaussian blur."""
    return rounded(smoothed(image, sigma))


def defocus_blur(image: np.ndarray, rng: np.random.Generator, radius: float, alias_sigma: float) -> np.ndarray:
    """Every point becomes a disk with a softened rim."""
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


def motion_blur(image: np.ndarray, rng: np.random.Generator, radius: int, sigma: float) -> np.ndarray:
    """A streak that fades to one side, 45 degrees from the horizontal at most."""
    return rounded(streaked(image.astype(np.float32), radius, sigma, rng.uniform(-45, 45)))


def streaked(image: np.ndarray, radius: int, sigma: float, degrees: float) -> np.ndarray:
    """ImageMagick's motion blur, float32: half a Gaussian of `2 * radius + 1` taps along a line, the edge repeated."""
    steps = np.arange(2 * radius + 1)
    taps = np.exp(-(steps**2) / (2 * sigma**2))
    taps /= taps.sum()
    taps = taps[taps > NEGLIGIBLE]
    angle, steps = np.deg2rad(degrees), steps[: len(taps)]
    rows, columns = (np.ceil(steps * part(angle) - 0.5).astype(int) for part in (np.sin, np.cos))
    top, left = rows.min(), columns.min()
    kernel = np.zeros((rows.max() - top + 1, columns.max() - left + 1), np.float32)
    np.add.at(kernel, (rows - top, columns - left), taps / taps.sum())
    return cv2.filter2D(image, cv2.CV_32F, kernel, anchor=(int(-left), int(-top)), borderType=cv2.BORDER_REPLICATE)


def zoom_blur(image: np.ndarray, rng: np.random.Generator, factors: np.ndarray) -> np.ndarray:
    """The mean of the image and of the image zoomed in by each factor."""
    pixels = image.astype(np.float32)
    total = pixels.copy()
    for factor in factors:
        matrix = zooming(image.shape[0], image.shape[1], float(factor))
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        zoomed = cv2.warpAffine(pixels, matrix, image.shape[1::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE)
        cv2.accumulate(zoomed, total)
    return rounded(total / np.float32(len(factors) + 1))


@lru_cache(maxsize=256)
def zooming(height: int, width: int, factor: float) -> np.ndarray:
    """From a pixel of the zoomed image, its middle cut out, to the place in the image, float64 `(2, 3)`.

    The middle `ceil(size / factor)` pixels are spread from corner to corner over `round(middle * factor)`.
    """
    (x_scale, x_start), (y_scale, y_start) = (_spread(size, factor) for size in (width, height))
    return np.array([[x_scale, 0, x_start], [0, y_scale, y_start]])


def _spread(size: int, factor: float) -> tuple[float, float]:
    middle = int(np.ceil(size / factor))
    spread = round(middle * factor)
    scale = (middle - 1) / (spread - 1)
    return scale, (size - middle) // 2 + (spread - size) // 2 * scale
