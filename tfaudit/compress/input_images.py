"""Images as model inputs: in batches, of a checked shape, in the input's type."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tfaudit.errors import InputError, require

OPEN_SIDE = 64
"""Pixels that stand for an open side of a model's input."""


def as_input(images: np.ndarray, shape: tuple[int | None, ...], dtype: np.dtype) -> np.ndarray:
    """Return the images in the model's input type, C-contiguous.

    Images are `(N, H, W, C)`, or of another rank if the model's input has it. `shape` is that of the input without the
    batch; None for an open side. uint8 pixels become floats of the same value; floats never become integers.

    Raises:
        InputError: the shape does not fit, or the conversion would change values.
    """
    sides = zip(shape, images.shape[1:], strict=False)
    if images.ndim != len(shape) + 1 or any(side not in (None, size) for side, size in sides):
        want = ", ".join("any" if side is None else str(side) for side in shape)
        raise InputError("images", f"shape {images.shape}", f"(N, {want}), as the model takes them")
    if not np.can_cast(images.dtype, dtype, "same_kind"):
        raise InputError("images", f"type {images.dtype}", f"{dtype}, as the model takes them")
    return np.ascontiguousarray(images, dtype)


def image_batches(images: Any, batch_size: int) -> Iterator[np.ndarray]:
    """Yield images batch by batch.

    Args:
        images: an array `(N, ...)`, cut into batches of `batch_size`; an object with `batches(batch_size)`, such as a
            `tfaudit` data set; or an iterable of batches, such as a `tf.data.Dataset`, each the images alone or a
            tuple that starts with them. An iterable keeps its own batches.
        batch_size: at least 1.

    Raises:
        InputError: none of these.
    """
    require(batch_size >= 1, "batch_size", batch_size, "1 or more")
    if hasattr(images, "__array__"):
        array = _array(images)
        yield from (array[i : i + batch_size] for i in range(0, len(array), batch_size))
        return
    batches = images.batches(batch_size) if hasattr(images, "batches") else images
    if not isinstance(batches, Iterable) or isinstance(batches, str | bytes | dict):
        raise InputError("images", type(images).__name__, "an array, a data set or an iterable of batches")
    for batch in batches:
        yield _array(batch[0] if isinstance(batch, tuple) else batch)


def _array(batch: Any) -> np.ndarray:
    if not hasattr(batch, "__array__"):
        raise InputError("images", f"a batch of type {type(batch).__name__}", "arrays and tuples that start with one")
    array = np.asarray(batch)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        raise InputError("images", f"values of type {array.dtype}", "integers and floats")
    if array.ndim < 2:
        raise InputError("images", f"shape {array.shape}", "(N, H, W, C)")
    return array
