"""Properties of images: tilt, activation, distance from the class mean, entropy: [P] 3.1, 4.1 and C.

Every function takes images as one array `(N, H, W, C)` or `(N, H, W)`; most also take an iterable of images `(H, W, C)`
or `(H, W)`, whose sizes may differ. Values are uint8, or floats in [0, 1], which are scaled to 255. Images of another
type, range or shape raise `InputError`, and so do labels or means that do not match them.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tfaudit.errors import InputError, require
from tfaudit.stats.ratios import ratio

Images = np.ndarray | Iterable[ArrayLike]

_BATCH = (
    2**22
)  # values at once: keeps the float64 copies of a large data set to some tens of megabytes


def tilt(images: Images, *, threshold: float = 0.5) -> np.ndarray:
    """Compute the slope of the least-squares line through the pixels that are on, in columns per row: [P] appendix C.

    The slopes, `(N,)` float64, are 0 for a vertical stroke, positive for one that leans to the left and negative to the
    right, as in [P] figure 10; NaN if no pixel, every pixel, or only a single row is on. A pixel is on if the mean of
    its channels exceeds `threshold` times 255; [P] does not state its threshold.

    Args:
        images: N images, uint8 or floats in [0, 1].
        threshold: share of the full range, in [0, 1).

    Example:
        >>> stroke = np.eye(5)  # from the top left to the bottom right
        >>> tilt([stroke, np.fliplr(stroke), np.zeros((3, 3))])
        array([ 1., -1., nan])
    """
    require(0 <= threshold < 1, "threshold", threshold, "a share in [0, 1)")
    return _measured(images, lambda levels: _slopes(levels.mean(-1) > 255 * threshold))


def mean_activation(images: Images) -> np.ndarray:
    """Compute the mean pixel value over the image and its channels, `(N,)` float64 from 0 to 255: [P] 4.1, figure 9.

    Args:
        images: N images, uint8 or floats in [0, 1].

    Example:
        >>> mean_activation(np.array([[[0, 255], [0, 0]]], np.uint8))
        array([63.75])
    """
    return _measured(images, lambda levels: levels.mean((1, 2, 3)))


def class_means(images: np.ndarray, labels: ArrayLike, num_classes: int) -> np.ndarray:
    """Compute the mean image of each class, `(num_classes, H, W, C)` float64 from 0 to 255; NaN without images.

    Args:
        images: `(N, H, W, C)` or `(N, H, W)`.
        labels: `(N,)` integers in [0, num_classes).
        num_classes: number of classes.

    Example:
        >>> class_means(np.array([[[0]], [[200]], [[10]]], np.uint8), [0, 0, 1], 2).ravel()
        array([100.,  10.])
    """
    shape = _one_shape(images)
    classes = _labels(labels, len(images), num_classes)
    totals = np.zeros((num_classes, *shape))
    for start, levels in _batches(images):
        np.add.at(totals, classes[start : start + len(levels)], levels)
    return ratio(totals, np.bincount(classes, minlength=num_classes)[:, None, None, None])


def distance_to_class_mean(images: np.ndarray, labels: ArrayLike, means: np.ndarray) -> np.ndarray:
    """Compute the Euclidean distance of each image from the mean training image of its class: [P] C and figure 8.

    Distances are `(N,)` float64 in grey levels; NaN if the class has no mean.

    Args:
        images: `(N, H, W, C)` or `(N, H, W)`.
        labels: `(N,)` integers, the class of each image.
        means: `(C, H, W, channels)` from 0 to 255, as `class_means` returns them.

    Example:
        >>> distance_to_class_mean(np.array([[[3, 4]]], np.uint8), [0], np.zeros((1, 1, 2, 1)))
        array([5.])
    """
    means = np.asarray(means, np.float64)
    shape = _one_shape(images)
    if means.shape[1:] != shape:
        raise InputError(
            "means",
            f"shape {means.shape}",
            f"(classes, {', '.join(map(str, shape))}) as the images",
        )
    classes = _labels(labels, len(images), len(means))
    differences = (
        levels - means[classes[start : start + len(levels)]] for start, levels in _batches(images)
    )
    return np.concatenate(
        [np.sqrt(np.square(difference).sum((1, 2, 3))) for difference in differences]
    )


def pixel_entropy(images: Images) -> np.ndarray:
    """Compute the Shannon entropy of the histogram of 256 pixel values, all channels together: [P] 3.1, factor 4.

    Entropies are `(N,)` float64, bits in [0, 8].

    Args:
        images: N images, uint8 or floats in [0, 1]; a float counts as the nearest of the 256 values.

    Example:
        >>> pixel_entropy(np.array([[[0, 255], [7, 8]], [[5, 5], [5, 5]]], np.uint8))
        array([2., 0.])
    """

    def entropies(levels: np.ndarray) -> np.ndarray:
        values = np.rint(levels).astype(np.intp).reshape(len(levels), -1)
        values += 256 * np.arange(len(levels))[:, None]  # one histogram per image
        counts = np.bincount(values.ravel(), minlength=256 * len(levels)).reshape(-1, 256)
        return special.entr(counts / counts.sum(axis=1, keepdims=True)).sum(axis=1) / np.log(2)

    return _measured(images, entropies)


def _slopes(on: np.ndarray) -> np.ndarray:
    """Return the `(N,)` slopes of columns on rows through the true pixels of `(N, H, W)`."""
    rows, columns = (np.arange(size, dtype=np.float64) for size in on.shape[1:])
    per_row = on.sum(2)
    per_column = on.sum(1)
    count = on.sum((1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 is the documented NaN
        away = rows - (per_row @ rows / count)[:, None]
        middle = per_column @ columns / count
        above = (on @ columns - middle[:, None] * per_row) * away
        slope = above.sum(1) / (per_row * away**2).sum(1)
    full = count == on.shape[1] * on.shape[2]
    return np.where(full | (np.count_nonzero(per_row, axis=1) < 2), np.nan, slope)


def _measured(images: Images, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *(measure(levels) for _, levels in _batches(images))])


def _batches(images: Images) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the position of the first image and `(n, H, W, C)` float64 from 0 to 255, a slice or a single image."""
    if isinstance(images, np.ndarray) and images.dtype != object:
        if images.ndim not in (3, 4):
            raise InputError("images", f"shape {images.shape}", "(N, H, W, C) or (N, H, W)")
        size = max(1, _BATCH // max(1, int(np.prod(images.shape[1:]))))
        for start in range(0, len(images), size):
            yield start, _levels(images[start : start + size], start)
    else:
        for position, array in enumerate(map(np.asarray, images)):
            if array.ndim not in (2, 3):
                raise InputError(
                    "images", f"image {position} has shape {array.shape}", "(H, W, C) or (H, W)"
                )
            yield position, _levels(array[None], position)


def _levels(images: np.ndarray, start: int) -> np.ndarray:
    if images.size == 0:
        raise InputError("images", f"image {start} without pixels", "one pixel or more")
    if images.dtype == np.uint8:
        levels = images.astype(np.float64)
    elif images.dtype.kind == "f" and images.min() >= 0 and images.max() <= 1:  # NaN fails both
        levels = 255 * images.astype(np.float64)
    else:
        values = f"{images.dtype} from {images.min()} to {images.max()} near image {start}"
        raise InputError("images", values, "uint8, or floats in [0, 1]")
    return levels[..., None] if levels.ndim == 3 else levels


def _one_shape(images: np.ndarray) -> tuple[int, ...]:
    if not isinstance(images, np.ndarray) or images.ndim not in (3, 4):
        form = f"shape {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        raise InputError("images", form, "one array (N, H, W, C) or (N, H, W)")
    return images.shape[1:] if images.ndim == 4 else (*images.shape[1:], 1)


def _labels(labels: ArrayLike, count: int, num_classes: int) -> np.ndarray:
    classes = np.asarray(labels)
    if classes.shape != (count,) or classes.dtype.kind not in "iu":
        form = f"{classes.dtype} of shape {classes.shape}"
        raise InputError("labels", form, f"one integer for each of the {count} images")
    if count and not 0 <= classes.min() <= classes.max() < num_classes:
        raise InputError(
            "labels", f"from {classes.min()} to {classes.max()}", f"classes in [0, {num_classes})"
        )
    return classes
