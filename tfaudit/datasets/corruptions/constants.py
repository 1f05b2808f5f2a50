"""How strong each corruption is: the constants of ImageNet-C and of CIFAR-C, five severities each.

Sources: Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations"
(ICLR 2019), `make_imagenet_c.py` and `make_cifar_c.py` of github.com/hendrycks/robustness.
"""

import numpy as np

__all__ = ["LEVELS", "SCALES", "Level"]

Level = tuple[float | np.ndarray, ...]


def _single(*values: float | np.ndarray) -> tuple[Level, ...]:
    return tuple((value,) for value in values)


LEVELS: dict[str, dict[str, tuple[Level, ...]]] = {
    "imagenet": {
        # standard deviation, of the range of the pixels
        "gaussian_noise": _single(0.08, 0.12, 0.18, 0.26, 0.38),
        # photons at full brightness
        "shot_noise": _single(60, 25, 12, 5, 3),
        # share of the values
        "impulse_noise": _single(0.03, 0.06, 0.09, 0.17, 0.27),
        # radius, sigma of the antialiasing
        "defocus_blur": ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        # sigma, reach of a displacement, rounds
        "glass_blur": ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        # radius, sigma
        "motion_blur": ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        # factors
        "zoom_blur": _single(
            np.arange(1, 1.11, 0.01),
            np.arange(1, 1.16, 0.01),
            np.arange(1, 1.21, 0.02),
            np.arange(1, 1.26, 0.02),
            np.arange(1, 1.31, 0.03),
        ),
        # mean and deviation of the flakes' noise, zoom, threshold, radius and sigma of the fall, weight of the image
        "snow": (
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
            (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
            (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
            (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
        ),
        # weights of the image and of the frost, scale of the texture
        "frost": ((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
        # density, decay of the fractal's roughness
        "fog": ((1.5, 2), (2.0, 2), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)),
        # added to the value
        "brightness": _single(0.1, 0.2, 0.3, 0.4, 0.5),
        # factor
        "contrast": _single(0.4, 0.3, 0.2, 0.1, 0.05),
        # strength, sigma, shift of the corners in pixels
        "elastic_transform": (
            (244 * 2, 244 * 0.7, 244 * 0.1),
            (244 * 2, 244 * 0.08, 244 * 0.2),
            (244 * 0.05, 244 * 0.01, 244 * 0.02),
            (244 * 0.07, 244 * 0.01, 244 * 0.02),
            (244 * 0.12, 244 * 0.01, 244 * 0.02),
        ),
        # share of the edge that is left
        "pixelate": _single(0.6, 0.5, 0.4, 0.3, 0.25),
        # quality
        "jpeg_compression": _single(25, 18, 15, 10, 7),
        # standard deviation, of the pixel's value
        "speckle_noise": _single(0.15, 0.2, 0.35, 0.45, 0.6),
        # sigma
        "gaussian_blur": _single(1, 2, 3, 4, 6),
        # mean and deviation of the liquid's noise, its sigma, threshold, strength of water or sigma of mud, mud?
        "spatter": (
            (0.65, 0.3, 4, 0.69, 0.6, 0),
            (0.65, 0.3, 3, 0.68, 0.6, 0),
            (0.65, 0.3, 2, 0.68, 0.5, 0),
            (0.65, 0.3, 1, 0.65, 1.5, 1),
            (0.67, 0.4, 1, 0.65, 1.5, 1),
        ),
        # factor of the saturation, added to it
        "saturate": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    },
    "cifar": {
        "gaussian_noise": _single(0.04, 0.06, 0.08, 0.09, 0.10),
        "shot_noise": _single(500, 250, 100, 75, 50),
        "impulse_noise": _single(0.01, 0.02, 0.03, 0.05, 0.07),
        "defocus_blur": ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
        "glass_blur": ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
        "motion_blur": ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
        "zoom_blur": _single(
            np.arange(1, 1.06, 0.01),
            np.arange(1, 1.11, 0.01),
            np.arange(1, 1.16, 0.01),
            np.arange(1, 1.21, 0.01),
            np.arange(1, 1.26, 0.01),
        ),
        "snow": (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
        "frost": ((1, 0.2, 0.2), (1, 0.3, 0.2), (0.9, 0.4, 0.2), (0.85, 0.4, 0.2), (0.75, 0.45, 0.2)),
        "fog": ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
        "brightness": _single(0.05, 0.1, 0.15, 0.2, 0.3),
        "contrast": _single(0.75, 0.5, 0.4, 0.3, 0.15),
        "elastic_transform": (
            (32 * 0, 32 * 0, 32 * 0.08),
            (32 * 0.05, 32 * 0.2, 32 * 0.07),
            (32 * 0.08, 32 * 0.06, 32 * 0.06),
            (32 * 0.1, 32 * 0.04, 32 * 0.05),
            (32 * 0.1, 32 * 0.03, 32 * 0.03),
        ),
        "pixelate": _single(0.95, 0.9, 0.85, 0.75, 0.65),
        "jpeg_compression": _single(80, 65, 58, 50, 40),
        "speckle_noise": _single(0.06, 0.1, 0.12, 0.16, 0.2),
        "gaussian_blur": _single(0.4, 0.6, 0.7, 0.8, 1),
        "spatter": (
            (0.62, 0.1, 0.7, 0.7, 0.5, 0),
            (0.65, 0.1, 0.8, 0.7, 0.5, 0),
            (0.65, 0.3, 1, 0.69, 0.5, 0),
            (0.65, 0.1, 0.7, 0.69, 0.6, 1),
            (0.65, 0.1, 0.5, 0.68, 0.6, 1),
        ),
        "saturate": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    },
}
"""Per scale and corruption the constants of severities 1 to 5."""

SCALES = tuple(LEVELS)
