"""Every corruption by its name, and the one function that applies them to a batch."""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path

import numpy as np

from tfaudit.datasets.corruptions.blur import defocus_blur, gaussian_blur, motion_blur, zoom_blur
from tfaudit.datasets.corruptions.colour import brightness, contrast, saturate
from tfaudit.datasets.corruptions.constants import LEVELS, SCALES
from tfaudit.datasets.corruptions.digital import elastic_transform, jpeg_compression, pixelate
from tfaudit.datasets.corruptions.glass import glass_blur
from tfaudit.datasets.corruptions.noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from tfaudit.datasets.corruptions.spatter import spatter
from tfaudit.datasets.corruptions.textures import frosted_panes, read_textures
from tfaudit.datasets.corruptions.weather import fog, frost, snow
from tfaudit.errors import InputError
from tfaudit.study.conditions import CORRUPTIONS, SEVERITIES

__all__ = ["corrupt", "corruption_names"]

SMALLEST = 8
CIFAR_EDGE = 64
"""Up to this shorter side images get CIFAR-C's constants."""

Corruption = Callable[..., np.ndarray]

FUNCTIONS: dict[str, Corruption] = {
    "gaussian_noise": gaussian_noise,
    "shot_noise": shot_noise,
    "impulse_noise": impulse_noise,
    "defocus_blur": defocus_blur,
    "glass_blur": glass_blur,
    "motion_blur": motion_blur,
    "zoom_blur": zoom_blur,
    "snow": snow,
    "frost": frost,
    "fog": fog,
    "brightness": brightness,
    "contrast": contrast,
    "elastic_transform": elastic_transform,
    "pixelate": pixelate,
    "jpeg_compression": jpeg_compression,
    "speckle_noise": speckle_noise,
    "gaussian_blur": gaussian_blur,
    "spatter": spatter,
    "saturate": saturate,
}
"""`(image, rng, *constants)`, uint8 `(H, W)` or `(H, W, 3)` in and out; the last four are the extra ones."""


def corruption_names() -> tuple[str, ...]:
    """The names that `corrupt` takes: the benchmark's 15, then its 4 extra ones.

    Example:
        >>> corruption_names()[0], len(corruption_names())
        ('gaussian_noise', 19)
    """
    return CORRUPTIONS


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
    """Corrupt images as ImageNet-C and CIFAR-C are corrupted (Hendrycks & Dietterich, 2019).

    Each image has its own stream of random numbers, keyed by the seed and its number, so that the result does not
    depend on how the images are batched: `corrupt(images[a:b], ..., first=a)` equals `corrupt(images, ...)[a:b]`. The
    stream is the same for every severity. Results are rounded to the nearest level, where ImageNet-C cut the fraction
    off. A grey image is taken for a colour image with equal channels and given back as its luma.

    Args:
        images: uint8 `(N, H, W, C)`, at least 8 x 8 pixels, C of 1 or 3 (RGB).
        name: One of `corruption_names()`.
        severity: 1 to 5.
        seed: 0 to 2**63 - 1; the same seed gives the same bits.
        first: Number of the first image, from 0.
        scale: Whose constants: `"imagenet"` or `"cifar"`; by default CIFAR-C's where the shorter side is at most 64.
            Those of lengths are in pixels, but for CIFAR-C's elastic transform, which goes by the shorter side.
        textures: For `frost` the picture files to draw from. By default procedural panes in the colours and contrasts
            of ImageNet-C's photographs; for results comparable to published ones name `frost1.png` to `frost5.jpg` of
            github.com/hendrycks/robustness.

    Returns:
        uint8, a new array of the shape of `images`.

    Raises:
        InputError: Any argument is not as described.

    Example:
        >>> images = np.full((2, 8, 8, 1), 100, np.uint8)
        >>> corrupt(images, "brightness", 3)[0, 0, 0]
        array([138], dtype=uint8)
    """
    _check(images, name, severity, seed, first)
    height, width = images.shape[1:3]
    if scale is None:
        scale = "cifar" if min(height, width) <= CIFAR_EDGE else "imagenet"
    if scale not in SCALES:
        raise InputError(f"scale is {scale!r}; allowed are {', '.join(map(repr, SCALES))}, or None to go by the size")
    constants = LEVELS[scale][name][severity - 1]
    function = FUNCTIONS[name]
    if name == "frost":
        function = partial(frost, textures=frosted_panes() if textures is None else read_textures(textures))
    elif textures is not None:
        raise InputError(f"textures are given for {name!r}; only 'frost' takes them")
    if name == "elastic_transform" and scale == "cifar":
        constants = tuple(value * min(height, width) / 32 for value in constants)
    corrupted = np.empty(images.shape, np.uint8)
    stream = np.random.Philox(key=np.array((seed, 0), np.uint64))
    rng, start = np.random.Generator(stream), stream.state
    for position, image in enumerate(images):
        start["state"]["key"][1] = first + position  # ten times as fast as a generator for each image
        stream.state = start
        flat = np.ascontiguousarray(image[..., 0] if image.shape[2] == 1 else image)
        corrupted[position] = function(flat, rng, *constants).reshape(image.shape)
    return corrupted


def _check(images: np.ndarray, name: str, severity: int, seed: int, first: int) -> None:
    if not isinstance(images, np.ndarray):
        raise InputError(
            f"images is a {type(images).__name__}; it must be one uint8 array (N, H, W, C), all images of one size"
        )
    if images.dtype != np.uint8:
        raise InputError(f"images are {images.dtype}; they must be uint8, 0 to 255")
    if images.ndim != 4 or images.shape[3] not in (1, 3):
        raise InputError(f"images have the shape {images.shape}; it must be (N, H, W, C) with C of 1 or 3")
    if min(images.shape[1:3]) < SMALLEST:
        raise InputError(f"images are {images.shape[1]} x {images.shape[2]} pixels; they must be at least 8 x 8")
    if name not in CORRUPTIONS:
        raise InputError(f"name is {name!r}; allowed are {', '.join(CORRUPTIONS)}")
    if not isinstance(severity, Integral) or severity not in SEVERITIES:
        raise InputError(f"severity is {severity!r}; allowed are 1 to 5")
    for argument, value in (("seed", seed), ("first", first)):
        if not isinstance(value, Integral) or not 0 <= value < 2**63:
            raise InputError(f"{argument} is {value}; it must be a whole number from 0 to 2**63 - 1")
