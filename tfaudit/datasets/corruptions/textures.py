"""Frosted panes: made here, as ImageNet-C's photographs cannot be shipped, or read from files."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from tfaudit.datasets.corruptions.fractal import clouds
from tfaudit.errors import InputError

__all__ = ["frosted_panes", "read_textures"]

PANES = (
    ((78, 149, 166), 18, 1500),
    ((201, 205, 214), 22, 4000),
    ((201, 205, 214), 22, 3000),
    ((138, 153, 165), 29, 6000),
    ((112, 123, 135), 43, 6000),
)
"""Mean colour, standard deviation and needles of a pane: colours and deviations of ImageNet-C's first five."""
HEIGHT, WIDTH = 512, 768


@lru_cache(maxsize=1)
def frosted_panes() -> tuple[np.ndarray, ...]:
    """Five panes of ice needles on a cloudy ground, always the same, uint8 `(512, 768, 3)`.

    Mean colour and contrast are those of the five photographs that ImageNet-C draws from; the crystals are made up.

    Example:
        >>> frosted_panes()[0].mean((0, 1)).round()
        array([ 78., 149., 166.])
    """
    return tuple(_pane(np.random.default_rng(number), *pane) for number, pane in enumerate(PANES))


def _pane(rng: np.random.Generator, colour: tuple[int, int, int], deviation: float, needles: int) -> np.ndarray:
    ground = cv2.resize(clouds(rng, 256, 1.8), (WIDTH, HEIGHT))
    ice = np.zeros((HEIGHT, WIDTH), np.float32)
    # Needles of a bundle point nearly the same way, which a slowly changing field gives.
    direction = cv2.resize(clouds(rng, 16, 1.3), (WIDTH, HEIGHT)) * 4 * np.pi
    starts = (rng.random((needles, 2)) * (WIDTH, HEIGHT)).astype(int)
    lengths, shades = rng.gamma(2, 12, needles), rng.normal(0, 1, needles)
    for (x, y), length, shade in zip(starts, lengths, shades, strict=True):
        angle = direction[y, x] + rng.choice((-1, 0, 1)) * np.pi / 3
        end = (int(x + length * np.cos(angle)), int(y + length * np.sin(angle)))
        cv2.line(ice, (int(x), int(y)), end, float(shade), int(rng.integers(1, 3)))
    grain = cv2.GaussianBlur(rng.normal(0, 1, ice.shape).astype(np.float32), (0, 0), 0.8)
    relief = 1.2 * _standard(ground) + 0.8 * _standard(cv2.GaussianBlur(ice, (0, 0), 0.7)) + 0.5 * _standard(grain)
    light = _standard(relief)[..., np.newaxis] * deviation
    return np.rint(light - light.mean() + colour).clip(0, 255).astype(np.uint8)


def _standard(field: np.ndarray) -> np.ndarray:
    return (field - field.mean()) / field.std()


def read_textures(paths: Sequence[str | Path]) -> tuple[np.ndarray, ...]:
    """Pictures of frost, uint8 `(H, W, 3)` each, RGB; ImageNet-C draws from the first five of its six.

    Raises:
        InputError: No path, or one that holds no picture.

    Example:
        >>> read_textures([])
        Traceback (most recent call last):
        tfaudit.errors.InputError: textures is empty; it must name at least one picture of frost
    """
    if not paths:
        raise InputError("textures is empty; it must name at least one picture of frost")
    textures = []
    for path in paths:
        picture = cv2.imread(str(path), cv2.IMREAD_COLOR_RGB) if Path(path).is_file() else None
        if picture is None:
            raise InputError(f"textures names {str(path)!r}; it must be a picture that can be read")
        textures.append(picture)
    return tuple(textures)
