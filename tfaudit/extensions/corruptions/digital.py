"""Digital processing: elastic transform, pixelation, JPEG."""

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from scipy.ndimage import gaussian_filter1d

from tfaudit.datasets.corruptions.registry import corruption, single


# strength, sigma, shift of the corners in pixels
@corruption(
    (
        (244 * 2, 244 * 0.7, 244 * 0.1),
        (244 * 2, 244 * 0.08, 244 * 0.2),
        (244 * 0.05, 244 * 0.01, 244 * 0.02),
        (244 * 0.07, 244 * 0.01, 244 * 0.02),
        (244 * 0.12, 244 * 0.01, 244 * 0.02),
    ),
    (
        (32 * 0, 32 * 0, 32 * 0.08),
        (32 * 0.05, 32 * 0.2, 32 * 0.07),
        (32 * 0.08, 32 * 0.06, 32 * 0.06),
        (32 * 0.1, 32 * 0.04, 32 * 0.05),
        (32 * 0.1, 32 * 0.03, 32 * 0.03),
    ),
    cifar_edge=32,
)
def elastic_transform(
    image: np.ndarray, rng: Generator, strength: float, sigma: float, shift: float
) -> np.ndarray:
    """Apply an affine map that moves three points a little, then displace every pixel smoothly at random."""
    height, width = image.shape[:2]
    centre = np.array((height // 2, width // 2), np.float32)
    square = min(height, width) // 3
    points = centre + np.array([(1, 1), (1, -1), (-1, -1)], np.float32) * square
    moved = points + rng.uniform(-shift, shift, (3, 2)).astype(np.float32)
    affine = cv2.getAffineTransform(points, moved)
    image = cv2.warpAffine(image, affine, (width, height), borderMode=cv2.BORDER_REFLECT_101)
    if not strength:
        return image
    noise = rng.random((2, height, width), np.float32) * 2 - 1
    # The Gaussian is a matrix here: it may have more taps than the image has pixels.
    right, down = (
        _smoothing(height, sigma) @ noise @ _smoothing(width, sigma).T * np.float32(strength)
    )
    right += np.arange(width, dtype=np.float32)
    down += np.arange(height, dtype=np.float32)[:, np.newaxis]
    return cv2.remap(image, right, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


@lru_cache
def _smoothing(size: int, sigma: float) -> np.ndarray:
    return gaussian_filter1d(np.eye(size), sigma, axis=0, mode="reflect", truncate=3).astype(
        np.float32
    )


# share of the edge that remains
@corruption(single(0.6, 0.5, 0.4, 0.3, 0.25), single(0.95, 0.9, 0.85, 0.75, 0.65))
def pixelate(image: np.ndarray, rng: Generator, share: float) -> np.ndarray:
    """Average the pixels in boxes, and repeat each mean over its box."""
    boxes = tuple(int(size * share) for size in image.shape[:2])
    (top, bottom), (left, right) = (
        _windows(size, count) for size, count in zip(image.shape, boxes, strict=False)
    )
    corners = cv2.integral(image)
    strips = corners.take(bottom, 0) - corners.take(top, 0)
    sums = strips.take(right, 1) - strips.take(left, 1)
    area = np.outer(bottom - top, right - left)
    # Halves are rounded up, as in Pillow, which rounds after each of the two axes.
    means = (sums / (area if image.ndim == 2 else area[..., np.newaxis]) + 0.5).astype(np.uint8)
    above, before = (
        _windows(count, size)[0] for size, count in zip(image.shape, boxes, strict=False)
    )
    return means.take(before, 1).take(above, 0)


@lru_cache
def _windows(size: int, new_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first pixel and the one after the last of each mean of Pillow's `BOX` filter, in its arithmetic."""
    scale = size / new_size
    stretch = max(scale, 1.0)
    centre = (np.arange(new_size) + 0.5) * scale
    first = (centre - 0.5 * stretch + 0.5).astype(int)
    end = np.minimum((centre + 0.5 * stretch + 0.5).astype(int), size)
    first += (first - centre + 0.5) * (1 / stretch) <= -0.5
    end -= (end - 1 - centre + 0.5) * (1 / stretch) > 0.5
    return first, end


# quality
@corruption(single(25, 18, 15, 10, 7), single(80, 65, 58, 50, 40))
def jpeg_compression(image: np.ndarray, rng: Generator, quality: int) -> np.ndarray:
    """Encode as a JPEG and decode."""
    grey = image.ndim == 2
    source = image if grey else cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    _, code = cv2.imencode(".jpg", source, (cv2.IMWRITE_JPEG_QUALITY, quality))
    return np.asarray(cv2.imdecode(code, cv2.IMREAD_GRAYSCALE if grey else cv2.IMREAD_COLOR_RGB))
