"""Brightness, contrast and saturation, looked up in tables over the 256 values of a pixel."""

from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator

from tfaudit.datasets.corruptions.registry import corruption, single
from tfaudit.extensions.corruptions.blur import rounded


# added to HSV's value
@corruption(single(0.1, 0.2, 0.3, 0.4, 0.5), single(0.05, 0.1, 0.15, 0.2, 0.3))
def brightness(image: np.ndarray, rng: Generator, added: float) -> np.ndarray:
    """Increase HSV's value; hue and saturation stay."""
    value = image if image.ndim == 2 else _extremes(image)[0][..., np.newaxis]
    return _brightened(added).take((value.astype(np.uint16) << 8) | image)


@lru_cache
def _brightened(added: float) -> np.ndarray:
    """Return the new channel by value and channel, uint8, flat."""
    value = np.arange(256)[:, np.newaxis]
    raised = np.minimum(value + added * 255, 255)
    # Black has no hue: all of its channels rise.
    channel = np.where(value == 0, raised, np.arange(256) * raised / np.maximum(value, 1))
    return np.rint(channel.clip(0, 255)).astype(np.uint8).ravel()


# factor
@corruption(single(0.4, 0.3, 0.2, 0.1, 0.05), single(0.75, 0.5, 0.4, 0.3, 0.15))
def contrast(image: np.ndarray, rng: Generator, factor: float) -> np.ndarray:
    """Pull every channel towards its mean."""
    means = np.array(cv2.mean(image)[: 1 if image.ndim == 2 else 3])
    table = np.rint((np.arange(256)[:, np.newaxis] - means) * factor + means).astype(np.uint8)
    return cv2.LUT(image, table[np.newaxis] if image.ndim == 3 else table)


# factor of HSV's saturation, added to it
@corruption(
    ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
)
def saturate(image: np.ndarray, rng: Generator, factor: float, added: float) -> np.ndarray:
    """Multiply HSV's saturation by a factor and add to it; a grey image has none and stays as it is.

    In a colour image a grey pixel counts as red, as in the reference.
    """
    if image.ndim == 2:
        return image
    value, least = _extremes(image)
    stretch = _stretched(factor, added).take((value.astype(np.uint16) << 8) | least)
    new = rounded(
        value[..., np.newaxis] - (value[..., np.newaxis] - image) * stretch[..., np.newaxis]
    )
    if added:
        grey = value == least
        new[grey, 1:] = np.rint(value[grey] * (1 - min(added, 1)))[:, np.newaxis]
    return new


@lru_cache
def _stretched(factor: float, added: float) -> np.ndarray:
    """Return the factor of the channels' distance from the value, by value and least channel, float32, flat."""
    value = np.arange(256.0)[:, np.newaxis]
    least = np.arange(256.0)
    spread = np.maximum(value - least, 1)
    saturation = (spread / np.maximum(value, 1) * factor + added).clip(0, 1)
    return (saturation * value / spread).astype(np.float32).ravel()


def _extremes(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    red, green, blue = cv2.split(image)
    return cv2.max(cv2.max(red, green), blue), cv2.min(cv2.min(red, green), blue)
