"""The images of [F]'s released code in NumPy: its scaling and central square, and TensorFlow 1's `resize_bicubic`."""

import numpy as np


def resized(image, height, width):
    """Return an image `(H, W, C)` interpolated by a cubic kernel, float64."""
    return _along(_along(image.astype(float), 1, width), 0, height)


def scaled(image, edge):
    """Return an image whose shorter side has `edge` pixels; the longer side is rounded down."""
    rows, columns, edge32 = np.float32(image.shape[0]), np.float32(image.shape[1]), np.float32(edge)
    if rows > columns:
        return resized(image, int(rows / columns * edge32), edge)
    return resized(image, edge, int(columns / rows * edge32))


def centre(image, edge):
    """Return the central square; an odd margin is rounded up."""
    top, left = ((side - edge + 1) // 2 for side in image.shape[:2])
    return image[top : top + edge, left : left + edge]


def as_tested(image, image_size, crop):
    """Return an image as the code tests it."""
    return centre(scaled(image, image_size), crop)


def _along(image, axis, size):
    """Interpolate along an axis at multiples of the scale, from the corner; offsets are rounded to 1/1024."""
    count = image.shape[axis]
    places = np.arange(size, dtype=np.float32) * np.float32(count / size)
    first = np.floor(places).astype(int)
    offsets = np.rint((places - first) * 1024) / 1024
    weights = [_cubic(np.abs(offsets - step)) for step in (-1, 0, 1, 2)]
    shape = np.where(np.arange(3) == axis, size, 1)
    neighbours = [image.take(np.clip(first + step, 0, count - 1), axis) for step in (-1, 0, 1, 2)]
    return sum(w.reshape(shape) * values for w, values in zip(weights, neighbours, strict=True))


def _cubic(distance, a=-0.75):
    """Return the piecewise cubic kernel of support 2."""
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)
