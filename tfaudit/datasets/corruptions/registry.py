"""The table of corruptions: the function of each, and its constants at five severities. Imports nothing heavy."""

from dataclasses import dataclass

SEVERITIES = (1, 2, 3, 4, 5)
SCALES = ("imagenet", "cifar")

Constants = tuple[float, ...]


@dataclass(frozen=True)
class Corruption:
    """Entry of the table `CORRUPTIONS`; its function has the corruption's name, and `corrupt` imports it on first use.

    The function takes an image, uint8 `(H, W)` or `(H, W, 3)`, a random generator and the constants, and returns an
    image of the same shape and dtype.
    """

    module: str  # module of this folder that has the function
    imagenet: tuple[Constants, ...]  # constants of ImageNet-C at severities 1 to 5
    cifar: tuple[Constants, ...]  # constants of CIFAR-C at severities 1 to 5
    # edge in pixels for which CIFAR-C's constants are stated, if they scale with the edge
    cifar_edge: int | None = None
    textured: bool = False  # whether the function takes `textures`, pictures of frost


def _single(*values: float) -> tuple[Constants, ...]:
    """Return the levels of a corruption with one constant."""
    return tuple((value,) for value in values)


# fmt: off
CORRUPTIONS: dict[str, Corruption] = {
    # standard deviation, as a share of the pixel range
    "gaussian_noise": Corruption("noise", _single(0.08, 0.12, 0.18, 0.26, 0.38), _single(0.04, 0.06, 0.08, 0.09, 0.10)),
    # photons at full brightness
    "shot_noise": Corruption("noise", _single(60, 25, 12, 5, 3), _single(500, 250, 100, 75, 50)),
    # share of the values
    "impulse_noise": Corruption("noise", _single(0.03, 0.06, 0.09, 0.17, 0.27), _single(0.01, 0.02, 0.03, 0.05, 0.07)),
    "defocus_blur": Corruption("blur",  # radius, sigma of the antialiasing
        ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))),
    "glass_blur": Corruption("blur",  # sigma, largest displacement, rounds
        ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))),
    "motion_blur": Corruption("blur",  # radius, sigma
        ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)), ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))),
    "zoom_blur": Corruption("blur",  # zoom factors: upper bound, excluded, and step
        ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
        ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01))),
    # mean and deviation of the noise, zoom, threshold, radius and sigma of the streaks, weight of the image
    "snow": Corruption("weather",
        ((0.1, 0.3, 3, 0.5, 10, 4, 0.8), (0.2, 0.3, 2, 0.5, 12, 4, 0.7), (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
         (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65), (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55)),
        ((0.1, 0.2, 1, 0.6, 8, 3, 0.95), (0.1, 0.2, 1, 0.5, 10, 4, 0.9), (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
         (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85), (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8))),
    "frost": Corruption("weather",  # weights of the image and of the frost, scale of the texture
        ((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
        ((1, 0.2, 0.2), (1, 0.3, 0.2), (0.9, 0.4, 0.2), (0.85, 0.4, 0.2), (0.75, 0.45, 0.2)), textured=True),
    "fog": Corruption("weather",  # density, decay of the fractal's roughness
        ((1.5, 2), (2.0, 2), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4)),
        ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))),
    # added to HSV's value
    "brightness": Corruption("colour", _single(0.1, 0.2, 0.3, 0.4, 0.5), _single(0.05, 0.1, 0.15, 0.2, 0.3)),
    # factor
    "contrast": Corruption("colour", _single(0.4, 0.3, 0.2, 0.1, 0.05), _single(0.75, 0.5, 0.4, 0.3, 0.15)),
    "elastic_transform": Corruption("digital",  # strength, sigma, shift of the corners in pixels
        ((244 * 2, 244 * 0.7, 244 * 0.1), (244 * 2, 244 * 0.08, 244 * 0.2), (244 * 0.05, 244 * 0.01, 244 * 0.02),
         (244 * 0.07, 244 * 0.01, 244 * 0.02), (244 * 0.12, 244 * 0.01, 244 * 0.02)),
        ((32 * 0, 32 * 0, 32 * 0.08), (32 * 0.05, 32 * 0.2, 32 * 0.07), (32 * 0.08, 32 * 0.06, 32 * 0.06),
         (32 * 0.1, 32 * 0.04, 32 * 0.05), (32 * 0.1, 32 * 0.03, 32 * 0.03)), cifar_edge=32),
    # share of the edge that remains
    "pixelate": Corruption("digital", _single(0.6, 0.5, 0.4, 0.3, 0.25), _single(0.95, 0.9, 0.85, 0.75, 0.65)),
    # quality
    "jpeg_compression": Corruption("digital", _single(25, 18, 15, 10, 7), _single(80, 65, 58, 50, 40)),
    # The benchmark's four extra corruptions. Standard deviation, as a share of the pixel's value
    "speckle_noise": Corruption("noise", _single(0.15, 0.2, 0.35, 0.45, 0.6), _single(0.06, 0.1, 0.12, 0.16, 0.2)),
    # sigma
    "gaussian_blur": Corruption("blur", _single(1, 2, 3, 4, 6), _single(0.4, 0.6, 0.7, 0.8, 1)),
    # mean, deviation and sigma of the noise, threshold, strength of water or sigma of mud, 1 for mud
    "spatter": Corruption("weather",
        ((0.65, 0.3, 4, 0.69, 0.6, 0), (0.65, 0.3, 3, 0.68, 0.6, 0), (0.65, 0.3, 2, 0.68, 0.5, 0),
         (0.65, 0.3, 1, 0.65, 1.5, 1), (0.67, 0.4, 1, 0.65, 1.5, 1)),
        ((0.62, 0.1, 0.7, 0.7, 0.5, 0), (0.65, 0.1, 0.8, 0.7, 0.5, 0), (0.65, 0.3, 1, 0.69, 0.5, 0),
         (0.65, 0.1, 0.7, 0.69, 0.6, 1), (0.65, 0.1, 0.5, 0.68, 0.6, 1))),
    "saturate": Corruption("colour",  # factor of HSV's saturation, added to it
        ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)), ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))),
}
# fmt: on
"""Every corruption by its name: the benchmark's 15, then its 4 extra ones.

Constants: `make_imagenet_c.py` and `make_cifar_c.py` of github.com/hendrycks/robustness, of Hendrycks & Dietterich,
"Benchmarking Neural Network Robustness to Common Corruptions and Perturbations" (ICLR 2019).
"""


def corruption_names() -> tuple[str, ...]:
    """Return the names that `corrupt` takes: the benchmark's 15, then its 4 extra ones.

    Example:
        >>> corruption_names()[0], len(corruption_names())
        ('gaussian_noise', 19)
    """
    return tuple(CORRUPTIONS)


def corruption_title(name: str) -> str:
    """Return the name of a corruption, or of another set of images, in words.

    Example:
        >>> corruption_title("gaussian_noise"), corruption_title("imagenet_v2 3")
        ('gaussian noise', 'imagenet v2 3')
    """
    return name.replace("_", " ")
