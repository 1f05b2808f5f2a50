"""Digital processing: elastic warping, coarse pixels, JPEG."""

from functools import lru_cache

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter1d

__all__ = ["elastic_transform", "jpeg_compression", "pixelate"]


def elastic_transform(
    image: np.ndarray, rng: np.random.Generator, strength: float, sigma: float, shift: float
) -> np.ndarray:
    """An affine map that moves three points a little, then a smooth random displacement of every pixel."""
    height, width = image.shape[:2]
    centre, square = np.array((height // 2, width // 2), np.float32), min(height, width) // 3
    points = centre + np.array([(1, 1), (1, -1), (-1, -1)], np.float32) * square
    moved = points + rng.uniform(-shift, shift, (3, 2)).astype(np.float32)
    affine = cv2.getAffineTransform(points, moved)
    image = cv2.warpAffine(image, affine, (width, height), borderMode=cv2.BORDER_REFLECT_101)
    if not strength:
        return image
    noise = rng.random((2, height, width), np.float32) * 2 - 1
    # The Gaussian as a matrix: its taps may be more than the pixels.
    right, down = _smoothing(height, sigma) @ noise @ _smoothing(width, sigma).T * np.float32(strength)
    right += np.arange(width, dtype=np.float32)
    down += np.arange(height, dtype=np.float32)[:, np.newaxis]
    return cv2.remap(image, right, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


@lru_cache
def _smoothing(size: int, sigma: float) -> np.ndarray:
    return gaussian_filter1d(np.eye(size), sigma, axis=0, mode="reflect", truncate=3).astype(np.float32)


def pixelate(image: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """Means of boxes, spread over the pixels again."""
    height, width = image.shape[:2]
    rows, columns, area = _boxes(height, width, share)
    corners = cv2.integral(image).take(rows, 0).take(columns, 1)
    strips = corners[1:] - corners[:-1]
    sums = strips[:, 1:] - strips[:, :-1]
    # Halves go up, as in Pillow, which rounds after each of the two axes.
    means = (sums / (area if image.ndim == 2 else area[..., np.newaxis]) + 0.5).astype(np.uint8)
    return cv2.resize(means, (width, height), interpolation=cv2.INTER_NEAREST_EXACT)


@lru_cache
def _boxes(height: int, width: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where Pillow's `BOX` filter cuts rows and columns, and the pixels of each box."""
    rows, columns = (
        (np.arange(boxes + 1) * (size / boxes) + 0.5).astype(int)
        for size, boxes in ((height, int(height * share)), (width, int(width * share)))
    )
    return rows, columns, np.outer(np.diff(rows), np.diff(columns))


def jpeg_compression(image: np.ndarray, rng: np.random.Generator, quality: int) -> np.ndarray:
    """Written as a JPEG and read again."""
    grey = image.ndim == 2
    source = image if grey else cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    _, code = cv2.imencode(".jpg", source, (cv2.IMWRITE_JPEG_QUALITY, quality))
    return np.asarray(cv2.imdecode(code, cv2.IMREAD_GRAYSCALE if grey else cv2.IMREAD_COLOR_RGB))
