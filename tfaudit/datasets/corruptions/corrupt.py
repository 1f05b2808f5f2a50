"""`corrupt`: applies a corruption of ImageNet-C and CIFAR-C to a batch of images."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from pathlib import Path

import numpy as np

from tfaudit.datasets.corruptions.registry import CORRUPTIONS, SCALES, SEVERITIES, Constants
from tfaudit.errors import InputError, missing_extra, require, require_one_of

CIFAR_EDGE = 64
"""Images whose shorter side has at most this many pixels get CIFAR-C's constants by default."""
SMALLEST_EDGE = 8


def corrupt(
    images: np.ndarray,
    name: str,
    severity: int,
    *,
    seed: int = 0,
    first: int = 0,
    scale: str | None = None,
    textures: Sequence[str | Path] | None = None,
) -> np.ndarray:
    """Corrupt images as ImageNet-C and CIFAR-C do (Hendrycks & Dietterich, 2019), into a new array of the same shape.

    Every image has its own stream of random numbers, keyed by the seed and the image's number. The result therefore
    does not depend on the batches: `corrupt(images[a:b], ..., first=a)` equals `corrupt(images, ...)[a:b]`. The stream
    is the same for every severity. Results are rounded to the nearest level; ImageNet-C truncates them. A grey image is
    treated as a colour image with three equal channels, and the result is its luma.

    Args:
        images: uint8 `(N, H, W, C)`, at least 8 x 8 pixels, C is 1 or 3 (RGB).
        name: name of the corruption, one of `corruption_names()`.
        severity: severity, 1 to 5.
        seed: seed of the random numbers, 0 to 2**63 - 1; the same seed gives the same bits.
        first: number of the first image, 0 or more.
        scale: constants to use, `"imagenet"` or `"cifar"`; by default CIFAR-C's if the shorter side has at most 64
            pixels. Constants that are lengths are in pixels; those of CIFAR-C's elastic transform scale with the
            shorter side.
        textures: pictures of frost to draw from, for `frost` only. By default procedural panes with the colours and
            contrasts of ImageNet-C's photographs; for results comparable to published ones pass `frost1.png` to
            `frost5.jpg` of github.com/hendrycks/robustness.

    Raises:
        InputError: an argument is not as described.

    Example:
        >>> images = np.full((2, 8, 8, 1), 100, np.uint8)
        >>> corrupt(images, "brightness", 3)[0, 0, 0]
        array([138], dtype=uint8)
    """
    _check(images, name, severity, seed, first)
    edge = min(images.shape[1:3])
    if scale is None:
        scale = "cifar" if edge <= CIFAR_EDGE else "imagenet"
    require(scale in SCALES, "scale", scale, "'imagenet', 'cifar' or None")
    try:
        corruption = CORRUPTIONS[name]
    except ModuleNotFoundError as error:
        raise missing_extra(error, f"corrupt {name}") or error from None
    constants: Constants = getattr(corruption, scale)[severity - 1]
    if scale == "cifar" and corruption.cifar_edge:
        constants = tuple(value * edge / corruption.cifar_edge for value in constants)
    function = corruption.function
    if corruption.textures is not None:
        function = partial(function, textures=corruption.textures(textures))
    elif textures is not None:
        raise InputError("textures", f"textures for {name!r}", "none, as it takes no textures")
    corrupted = np.empty(images.shape, np.uint8)
    stream = np.random.Philox(key=np.array((seed, 0), np.uint64))
    rng = np.random.Generator(stream)
    start = stream.state
    for position, image in enumerate(images):
        start["state"]["key"][1] = (
            first + position
        )  # ten times as fast as a new generator for each image
        stream.state = start
        flat = np.ascontiguousarray(image[..., 0] if image.shape[2] == 1 else image)
        corrupted[position] = function(flat, rng, *constants).reshape(image.shape)
    return corrupted


def _check(images: np.ndarray, name: str, severity: int, seed: int, first: int) -> None:
    expected = "a uint8 array (N, H, W, C), C is 1 or 3"
    if not isinstance(images, np.ndarray):
        raise InputError("images", f"a {type(images).__name__}", expected)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3):
        raise InputError("images", f"{images.dtype} {images.shape}", expected)
    if min(images.shape[1:3]) < SMALLEST_EDGE:
        raise InputError(
            "images", f"{images.shape[1]} x {images.shape[2]} pixels", "at least 8 x 8"
        )
    require_one_of("name", name, CORRUPTIONS)
    require(
        isinstance(severity, Integral) and severity in SEVERITIES, "severity", severity, "1 to 5"
    )
    for argument, value in (("seed", seed), ("first", first)):
        valid = isinstance(value, Integral) and 0 <= value < 2**63
        require(valid, argument, value, "a whole number from 0 to 2**63 - 1")
