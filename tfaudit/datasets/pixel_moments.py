"""Mean and standard deviation of pixels, exactly, from counts of their 256 levels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["channel_moments"]


def channel_moments(batches: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every channel, float64 `(C,)` each.

    Args:
        batches: At least one, uint8 `(B, H, W, C)`.

    Example:
        >>> mean, std = channel_moments([np.array([[[[0, 10]]], [[[4, 10]]]], np.uint8)])
        >>> mean, std
        (array([ 2., 10.]), array([2., 0.]))
    """
    counts = np.sum([_histogram(batch) for batch in batches], axis=0)
    levels = np.arange(256)
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    return mean, np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1))


def _histogram(images: np.ndarray) -> np.ndarray:
    """How often each channel shows each level, int64 `(C, 256)`."""
    channels = images.reshape(-1, images.shape[-1]).T
    return np.stack([np.bincount(channel, minlength=256) for channel in channels])
