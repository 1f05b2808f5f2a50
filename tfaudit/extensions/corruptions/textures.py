"""Textures: fractal clouds, and frosted panes, procedural or read from files."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.random import Generator

from tfaudit.errors import InputError

PANES = (
    ((78, 149, 166), 18, 60),
    ((201, 205, 214), 22, 500),
    ((201, 205, 214), 22, 350),
    ((138, 153, 165), 29, 250),
    ((112, 123, 135), 43, 450),
)
"""Mean colour, standard deviation and number of ferns of each pane; colours and deviations of ImageNet-C's first five
photographs, which cannot be shipped."""
HEIGHT, WIDTH = 512, 768
FRACTION_BITS = 4
"""Fractional bits of OpenCV's fixed-point coordinates."""


def clouds(rng: Generator, size: int, decay: float) -> np.ndarray:
    """Return a periodic fractal height map between 0 and 1, float32 `(size, size)`, by the diamond-square algorithm.

    Args:
        rng: generator of the heights.
        size: edge in pixels, a power of two.
        decay: factor by which the roughness falls at half the distance; the smaller, the rougher.

    Example:
        >>> sky = clouds(np.random.default_rng(0), 32, 2)
        >>> sky.shape, float(sky.min()), float(sky.max())
        ((32, 32), 0.0, 1.0)
    """
    heights = np.zeros((1, 1), np.float32)
    roughness = 100.0

    def rough(sums: np.ndarray) -> np.ndarray:
        # The mean of four neighbours, plus a step whose size is the square of the roughness, as in the reference.
        return sums * np.float32(0.25) + (rng.random(sums.shape, np.float32) * 2 - 1) * np.float32(
            roughness**2
        )

    while len(heights) < size:
        right = np.roll(heights, -1, 1)
        below = np.roll(heights, -1, 0)
        centres = rough(heights + right + below + np.roll(right, -1, 0))
        finer = np.empty((2 * len(heights),) * 2, np.float32)
        finer[::2, ::2] = heights
        finer[1::2, 1::2] = centres
        finer[::2, 1::2] = rough(centres + np.roll(centres, 1, 0) + heights + right)
        finer[1::2, ::2] = rough(centres + np.roll(centres, 1, 1) + heights + below)
        heights = finer
        roughness /= decay
    heights -= heights.min()
    return heights / heights.max()


@lru_cache(maxsize=1)
def frosted_panes() -> tuple[np.ndarray, ...]:
    """Return five panes of ice ferns on a cloudy ground, always the same, uint8 `(512, 768, 3)`.

    Mean colour and contrast are those of the five photographs that ImageNet-C draws from; the crystals are procedural.

    Example:
        >>> frosted_panes()[0].mean((0, 1)).round()
        array([ 78., 149., 166.])
    """
    return tuple(_pane(np.random.default_rng(number), *pane) for number, pane in enumerate(PANES))


def _pane(rng: Generator, colour: tuple[int, int, int], deviation: float, ferns: int) -> np.ndarray:
    ground = cv2.resize(clouds(rng, 256, 1.8), (WIDTH, HEIGHT))
    ice = np.zeros((HEIGHT, WIDTH), np.float32)
    for _ in range(ferns):
        root = rng.random(2) * (WIDTH, HEIGHT)
        angle = rng.uniform(0, 2 * np.pi)
        reach = rng.gamma(4, 12)
        for stem in angle + rng.normal(0, 0.35, 6):
            _draw_fern(ice, rng, root, stem, reach * rng.uniform(0.4, 1.2))
    grain = cv2.GaussianBlur(rng.normal(0, 1, ice.shape).astype(np.float32), (0, 0), 0.8)
    relief = (
        1.2 * _standard(ground)
        + 0.8 * _standard(cv2.GaussianBlur(ice, (0, 0), 0.7))
        + 0.5 * _standard(grain)
    )
    light = _standard(relief)[..., np.newaxis] * deviation
    return np.rint(light - light.mean() + colour).clip(0, 255).astype(np.uint8)


def _draw_fern(
    ice: np.ndarray, rng: Generator, root: np.ndarray, angle: float, length: float
) -> None:
    """Draw a stem and its barbs, which leave it at 60 degrees, as ice crystals do, and shorten towards the tip."""
    along = np.arange(0, length, 4)[:, np.newaxis]
    joints = root + along * (np.cos(angle), np.sin(angle))
    bright = float(rng.normal(0.3, 1))
    cv2.polylines(ice, [_fixed_point(joints)], False, bright + 1, 1, shift=FRACTION_BITS)
    for side in (-np.pi / 3, np.pi / 3):
        barb = np.array((np.cos(angle + side), np.sin(angle + side)))
        tips = joints + (length - along) * rng.uniform(0.15, 0.45, along.shape) * barb
        cv2.polylines(
            ice,
            list(_fixed_point(np.stack([joints, tips], 1))),
            False,
            bright,
            1,
            shift=FRACTION_BITS,
        )


def _fixed_point(points: np.ndarray) -> np.ndarray:
    return np.rint(points * (1 << FRACTION_BITS)).astype(np.int32)


def _standard(field: np.ndarray) -> np.ndarray:
    return (field - field.mean()) / field.std()


def frosted(paths: Sequence[str | Path] | None) -> tuple[np.ndarray, ...]:
    """Return frosted panes: pictures in files, or procedural ones."""
    return frosted_panes() if paths is None else read_textures(paths)


def read_textures(paths: Sequence[str | Path]) -> tuple[np.ndarray, ...]:
    """Read pictures of frost, uint8 `(H, W, 3)` each, RGB; ImageNet-C draws from the first five of its six.

    Raises:
        InputError: no path, or a file that is not a picture.

    Example:
        >>> read_textures([])
        Traceback (most recent call last):
        tfaudit.errors.InputError: textures: got no file, expected at least one picture of frost
    """
    if not paths:
        raise InputError("textures", "no file", "at least one picture of frost")
    textures = []
    for path in paths:
        picture = cv2.imread(str(path), cv2.IMREAD_COLOR_RGB) if Path(path).is_file() else None
        if picture is None:
            raise InputError("textures", repr(str(path)), "a picture file")
        textures.append(picture)
    return tuple(textures)
